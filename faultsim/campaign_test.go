package faultsim

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// campaignAdapter is what the campaigns below run.
func campaignAdapter() Adapter {
	switch scenario {
	case "hidden":
		return hidden()
	case "two-of-one-rule":
		return twoOfOneRule()
	case "state-first":
		return stateFirst()
	case "late-label":
		return lateLabel()
	case "freezes-again":
		return freezesAgain()
	}
	return childAdapter()
}

func TestChildCampaign(t *testing.T) {
	childOnly(t)
	Check(t, campaignAdapter())
}

// attemptsBreak is a rule that breaks where an action has so many attempts, or more.
func attemptsBreak(name string, n int) invariants.Invariant {
	return invariants.Invariant{Name: name, Rule: name, Check: func(tr *trace.Trace) (v invariants.Verdict) {
		v.Applied = 1
		if len(tr.Actions()[0].Attempts) >= n {
			v.Findings = []invariants.Finding{{Text: "broken"}}
		}
		return v
	}}
}

// hidden breaks one rule in each trial, and behind that another one.
func hidden() Adapter {
	a := homeAdapter()
	a.Invariants = []invariants.Invariant{attemptsBreak("always", 0), attemptsBreak("with-always", 0), attemptsBreak("after-three", 3)}
	return a
}

func TestCampaignReportsWhatHidesBehindAnotherRule(t *testing.T) {
	folder := t.TempDir()
	c := scaleChild(t, "hidden", folder)
	out, passed := c.run(t, "^TestChildCampaign$", "-rehearse.for=500x")
	require.False(t, passed)
	require.Contains(t, out, "broken: always, after-three.", "the third has the same smallest schedule as the first")
	require.NotContains(t, out, "vacuous", "trials that fail count for what they meet")
	require.Equal(t, 500, readResultsOf(t, folder)[0].Met.Trials)
	require.Len(t, readResultsOf(t, folder)[0].Failures, 2)
}

var errUnreached = errors.New("no connection")

// twoOfOneRule retries what may be done already, and gives up one attempt too early.
// Both show as code that does not conform; made small, the first has a rule of its own.
func twoOfOneRule() Adapter {
	a := homeAdapter()
	a.Policy.Repeatable, a.Policy.Retry = false, []trace.Class{trace.NotConnected}
	a.Subject = func(s *Stage) Action {
		tool := Tool(s, "weather", func(context.Context, string) (int, error) { return 19, nil },
			Errors{trace.Transient: errBusy, trace.NotConnected: errUnreached, trace.Forbidden: errForbidden})
		return func(ctx context.Context) (any, error) {
			for n := 1; ; n++ {
				if ctx.Err() != nil {
					return 0, ctx.Err()
				}
				limited, cancel := context.WithTimeout(ctx, 5*time.Second)
				out, err := tool(limited, "Pune")
				cancel()
				switch ambiguous := errors.Is(err, errBusy) || errors.Is(err, context.DeadlineExceeded); {
				case err == nil:
					return out, nil
				case ctx.Err() != nil:
					return 0, ctx.Err()
				case n == 3, errors.Is(err, errForbidden), !ambiguous && n == 2:
					return 0, err
				}
				if err := pause(ctx, 100*time.Millisecond<<(n-1)); err != nil {
					return 0, err
				}
			}
		}
	}
	return a
}

func TestCampaignFindsBothBugsOfOneRule(t *testing.T) {
	c := scaleChild(t, "two-of-one-rule", "")
	out, passed := c.run(t, "^TestChildCampaign$", "-rehearse.for=5000x", "-rehearse.seed=5")
	require.False(t, passed)
	require.Regexp(t, `broken: [^\n]*one-effect`, out)
	require.Regexp(t, `saved as \S+/conforms-\w+\.case`, out)
}

// stateFirst makes one attempt too many once, at an early success, and always at a third
// attempt. Its trials go in turn, so that the early one is the first.
func stateFirst() Adapter {
	var early atomic.Int64
	a := subjectAdapter(func(ctx context.Context, _ *Stage, tool trace.Func[string, int]) (any, error) {
		n := 0
		l := loop{attempts: 3, tool: func(ctx context.Context, in string) (int, error) { n++; return tool(ctx, in) }}
		out, err := l.run(ctx, "Pune")
		if err == nil && (n == 3 || early.Add(1) == 1) {
			_, _ = tool(ctx, "Pune")
		}
		return out, err
	})
	a.Serial = true
	return a
}

func TestStateBetweenTrialsHidesNoBug(t *testing.T) {
	c := scaleChild(t, "state-first", "")
	out, passed := c.run(t, "^TestChildCampaign$", "-rehearse.for=2000x")
	require.False(t, passed)
	require.Contains(t, out, "state-between-trials: ")
	require.Contains(t, out, "breaks stop-after-success; no case of it is saved")
	require.Regexp(t, `breaks stop-after-success; saved as `, out)
}

// lateLabel does not come back from its hundredth trace.
func lateLabel() Adapter {
	frozenAfter = 200 * time.Millisecond
	a := homeAdapter()
	var n atomic.Int64
	a.Label = func(*trace.Trace) []string {
		if n.Add(1) == 100 {
			select {}
		}
		return nil
	}
	return a
}

func TestALabelThatDoesNotReturnFails(t *testing.T) {
	out, passed := scaleChild(t, "late-label", "").run(t, "^TestChildCampaign$")
	require.False(t, passed)
	require.Contains(t, out, "late-judgement: forecast: a trial is over, and for 200ms of real time Label or a rule of Invariants has looked at its trace")
	require.Contains(t, out, "trial ")
}

// freezesAgain makes one attempt too many once, and stands still wherever it would do so
// again.
func freezesAgain() Adapter {
	frozenAfter = 200 * time.Millisecond
	var seen atomic.Bool
	a := subjectAdapter(func(ctx context.Context, _ *Stage, tool trace.Func[string, int]) (any, error) {
		l := loop{tool: tool, attempts: 3}
		out, err := l.run(ctx, "Pune")
		if !errors.Is(err, errBusy) || ctx.Err() != nil {
			return out, err
		}
		if !seen.Swap(true) {
			return tool(ctx, "Pune")
		}
		var mu sync.Mutex
		mu.Lock()
		mu.Lock()
		return out, err
	})
	a.Serial = true
	return a
}

// Each run whose clock stands still takes ten seconds; a hundred of them would take the
// time that go test gives, and end without a report.
func TestTheSecondFrozenRunIsTheLast(t *testing.T) {
	begun := time.Now()
	out, passed := scaleChild(t, "freezes-again", "").run(t, "^TestChildCampaign$")
	require.False(t, passed)
	require.Contains(t, out, "frozen-clock: forecast: virtual time has stood still for 200ms of real time")
	require.Contains(t, out, "a failing trial, as it was run again")
	require.Less(t, time.Since(begun), time.Minute, "a hundred times 200 ms, and more")
}

// TestChildBehindACampaign waits to be interrupted.
func TestChildBehindACampaign(t *testing.T) {
	childOnly(t)
	t.Run("campaign", func(t *testing.T) { Check(t, homeAdapter()) })
	fmt.Println("the campaign is over")
	select {
	case <-time.After(time.Minute):
	case <-t.Context().Done():
	}
}

// An interrupt that comes when no campaign runs ends the process as ever.
func TestNoInterruptIsSwallowedBehindACampaign(t *testing.T) {
	c := scaleChild(t, "repaired", "")
	out, err := interruptAt(t, c, "the campaign is over", "-test.run=^TestChildBehindACampaign$", "-rehearse.for=10x")
	require.ErrorContains(t, err, "interrupt", out)
}
