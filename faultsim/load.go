package faultsim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// A Load is what a [Fleet] was to its service. Attempts, and all that is computed
// from them, are those that reached the tool behind which the service stands,
// whatever became of them.
type Load struct {
	Agents   int
	Actions  int // that were begun
	Attempts int
	Retries  int           // attempts that repeat an earlier one
	Took     time.Duration // from the begin of the first action to the end of the last one that ended

	// Ends counts the actions by how they ended: as the adapter's Reason says, or
	// else as the attempts amount to under the policy. 0: it cannot be told, or the
	// action hangs.
	Ends map[trace.Reason]int

	Service ServiceLoad // what the service did

	// Broken are the agents that broke a rule of their policy, in order.
	Broken []Broken

	// Trace is what happened, of all agents together.
	Trace *trace.Trace

	needed  int             // attempts that would have done, had each been answered
	calls   []time.Duration // when attempts began, in order
	retries []time.Duration // when retries did, in order
}

// A ServiceLoad is what a [Service] did.
type ServiceLoad struct {
	Answered  int           // calls that a worker got to and finished
	Refused   int           // for want of a place in the line
	Throttled int           // by the quota
	Down      int           // in an outage
	Left      int           // whose callers gave up before they were answered
	Wasted    int           // of those that were left, the ones that a worker got to all the same, or will
	Wait      time.Duration // in line, on average over the calls that a worker got to
	Busy      float64       // share of the workers' time in which they worked, up to the last answer; 0 where there is any number of them
}

// Broken is an agent that broke a rule.
type Broken struct {
	Agent    int          // from 1; 0: all of them together
	Trace    *trace.Trace // of this agent alone
	Findings []invariants.Finding
}

// Amplification is the attempts that the service got for each that would have done,
// had all been answered: for each action one, or the adapter's Pages. 1: nothing was
// repeated. Retries at one level multiply it by the attempts of the policy, and at
// several by their product (Google, "Site Reliability Engineering", chapter 22); a
// breaker or a budget keeps it near 1, or takes it below (chapter 21). 0: there was no action.
func (l *Load) Amplification() float64 {
	if l.needed == 0 {
		return 0
	}
	return float64(l.Attempts) / float64(l.needed)
}

// Peak is the most attempts that begin within any span of time so long. A window
// of 0 or less holds none.
func (l *Load) Peak(window time.Duration) int {
	most, first := 0, 0
	if window <= 0 {
		return 0
	}
	for i, at := range l.calls {
		for at-l.calls[first] >= window {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

// Over is how many attempts begin in each window, one behind the other from the
// begin of the first action. A window of 0 or less gives none, and so does one so
// short that there are more than a million.
func (l *Load) Over(window time.Duration) []int {
	const most = 1_000_000
	if window <= 0 || len(l.calls) == 0 || l.calls[len(l.calls)-1]/window >= most {
		return nil
	}
	counts := make([]int, l.calls[len(l.calls)-1]/window+1)
	for _, at := range l.calls {
		counts[at/window]++
	}
	return counts
}

// neighbourhood is how many windows make the surroundings of a retry.
const neighbourhood = 10

// Synchrony says how bunched the retries are: how many more of them lie within a
// window of each other than would if those within ten windows of each other were
// spread over them evenly. 1: they come independently of each other; 10, the
// most: whatever comes within ten windows comes within one, as the waves of callers
// without jitter do. 0: no two retries are so near.
//
// It counts pairs, so that it does not depend on how many agents there are, and
// compares what is near with what is a little further, so that a load which swells
// and falls slowly is no bunch. It is the ratio of Ripley's function K at the two
// distances, for points in time; see Ripley, "The second-order analysis of
// stationary point processes", J. Appl. Probab. 13 (1976). Choose a window of a
// tenth of the policy's shortest wait, or less: at half of it ten windows hold five
// waves, so that these look like an even load, and Synchrony is 1.1.
func (l *Load) Synchrony(window time.Duration) float64 {
	if window <= 0 || window > longestTime {
		return 0
	}
	near, around := pairsWithin(l.retries, window), pairsWithin(l.retries, neighbourhood*window)
	if around == 0 {
		return 0
	}
	return neighbourhood * near / around
}

// pairsWithin counts the pairs of instants, which are in order, that are nearer to
// each other than d.
func pairsWithin(at []time.Duration, d time.Duration) float64 {
	pairs, first := 0.0, 0
	for i := range at {
		for at[i]-at[first] >= d {
			first++
		}
		pairs += float64(i - first)
	}
	return pairs
}

// String is the load in a few lines.
func (l *Load) String() string {
	return fmt.Sprintf("%s, %s, %s in %v: %.2f for each that was needed, %d in the busiest second\nends: %s\nservice: %s\n",
		countOf(l.Agents, "agent"), countOf(l.Actions, "action"), countOf(l.Attempts, "attempt"), l.Took.Round(time.Millisecond),
		l.Amplification(), l.Peak(time.Second), l.ends(), &l.Service)
}

// countOf is a number of things in words.
func countOf(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// ends says how many actions ended how.
func (l *Load) ends() string {
	var list []string
	for _, r := range slices.Sorted(maps.Keys(l.Ends)) {
		name := r.String()
		if r == 0 {
			name = "not known"
		}
		list = append(list, fmt.Sprintf("%d %s", l.Ends[r], name))
	}
	return strings.Join(list, ", ")
}

// String is what the service did, without what it did not do.
func (s *ServiceLoad) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d answered", s.Answered)
	for _, part := range []struct {
		n    int
		what string
	}{
		{s.Refused, "refused as full"}, {s.Throttled, "throttled"}, {s.Down, "down"},
		{s.Left, "left by their callers"}, {s.Wasted, "worked on for nobody"},
	} {
		if part.n > 0 {
			fmt.Fprintf(&b, ", %d %s", part.n, part.what)
		}
	}
	if s.Busy > 0 {
		fmt.Fprintf(&b, "; busy %.0f %%, a wait of %v on average", 100*s.Busy, s.Wait.Round(time.Microsecond))
	}
	return b.String()
}
