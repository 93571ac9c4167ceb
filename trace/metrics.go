package trace

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Metrics are the operational numbers of a trace. They are counts and sums of
// what happened, no scores, and sums stop at the longest Duration. Ambiguous calls are left out of all of them, and so
// are calls of another role than [RoleAttempt].
type Metrics struct {
	Actions   int           // actions that began
	Attempts  int           // attempts of all actions
	Hits      int           // calls that were answered without being made; they are no attempts
	Exhausted int           // actions that gave up; see [ActionMetrics]
	Delay     time.Duration // sum of the gaps between an attempt's end and the next of its series
	Planned   time.Duration // sum of the waits asked of a recorded sleeper; 0 where none is

	// EffectsPrevented counts the attempts that repeated an idempotency key
	// whose effect had happened at that tool, and that were followed by no
	// second effect of theirs. EffectsRepeated counts those that were.
	EffectsPrevented int
	EffectsRepeated  int // see EffectsPrevented

	PerAction []ActionMetrics // in the order in which they began
	Retries   []RetryMetrics  // by tool, then class, in the order of the names and of [Classes]
}

// Amplification is how many attempts an action made on average: the physical
// attempts of all actions, divided by the actions. 1 is a program that never
// retried; 0 is none that did anything. Layers that each retry multiply it: three
// layers of four attempts each make 64 (Beyer et al., Site Reliability Engineering, 2016,
// chapter 22). [Trace.Recovery] has the same number before and after the faults
// stop.
func (m Metrics) Amplification() float64 { return amplification(m.Attempts, m.Actions) }

// amplification is the one definition of it.
func amplification(attempts, actions int) float64 {
	if actions == 0 {
		return 0
	}
	return float64(attempts) / float64(actions)
}

// ActionMetrics are the numbers of one action.
type ActionMetrics struct {
	Action   string // its name in the trace
	Attempts int    // at all tools

	// Exhausted tells that it gave up: the program said [ReasonExhausted], or
	// gave no reason and, without a cancel, returned an error right after a
	// retry that failed with the class that it had been retrying.
	Exhausted bool

	Delay   time.Duration // sum of the gaps between its attempts
	Planned time.Duration // sum of the waits asked of a recorded sleeper
}

// RetryMetrics tell of the retries that followed a failure of one class at one
// tool.
type RetryMetrics struct {
	Tool      string
	Class     Class // of the failure before the retry; zero: it had not been answered
	Retries   int   // attempts that followed
	Succeeded int   // of these, those that ended in [OK] or [Declined]: a "no" is an answer
}

// Metrics computes the numbers of the trace, in time linear in its events.
func (t *Trace) Metrics() Metrics {
	var m Metrics
	retries := map[retryKey]*RetryMetrics{}
	for i := range t.Actions() {
		a := &t.actions[i]
		am := ActionMetrics{Action: a.Name, Attempts: len(a.Attempts), Exhausted: a.exhausted()}
		for n := range a.Attempts {
			am.Delay = plus(am.Delay, a.Attempts[n].Gap)
		}
		for _, w := range a.Waits {
			am.Planned = plus(am.Planned, t.Events[w].Wait)
		}
		countRetries(a, retries)
		m.add(am)
		m.Hits += len(a.Hits)
	}
	for _, r := range retries {
		m.Retries = append(m.Retries, *r)
	}
	slices.SortFunc(m.Retries, func(a, b RetryMetrics) int {
		return cmp.Or(cmp.Compare(a.Tool, b.Tool), cmp.Compare(a.Class, b.Class))
	})
	m.EffectsPrevented, m.EffectsRepeated = repeatedEffects(t.Events)
	return m
}

func (m *Metrics) add(am ActionMetrics) {
	m.Actions++
	m.Attempts += am.Attempts
	m.Delay = plus(m.Delay, am.Delay)
	m.Planned = plus(m.Planned, am.Planned)
	if am.Exhausted {
		m.Exhausted++
	}
	m.PerAction = append(m.PerAction, am)
}

// plus adds a wait to a sum of waits. A wait that is no more than 0 is none,
// and a sum that is too large for a Duration is the longest one: a program that
// means to sleep for ever asks for just that.
func plus(sum, wait time.Duration) time.Duration {
	wait = max(wait, 0)
	if sum > math.MaxInt64-wait {
		return math.MaxInt64
	}
	return sum + wait
}

// until is the time from an instant of a trace, which is never negative, to a
// deadline, which may lie as far back as the zero time.Time.
func until(deadline, at time.Duration) time.Duration {
	if deadline < math.MinInt64+at {
		return math.MinInt64
	}
	return deadline - at
}

type retryKey struct {
	tool  string
	class Class
}

func countRetries(a *Action, retries map[retryKey]*RetryMetrics) {
	for _, s := range a.Series {
		for n := 1; n < len(s.Attempts); n++ {
			before, at := &s.Attempts[n-1], &s.Attempts[n]
			if before.Seen && !before.Outcome.Failed() {
				continue // a needless call, not a retry
			}
			k := retryKey{s.Tool, before.Outcome.Class}
			r := retries[k]
			if r == nil {
				r = &RetryMetrics{Tool: k.tool, Class: k.class}
				retries[k] = r
			}
			r.Retries++
			if at.Seen && !at.Outcome.Failed() {
				r.Succeeded++
			}
		}
	}
}

// exhausted reports whether the action gave up; see [ActionMetrics].
func (a *Action) exhausted() bool {
	if a.Reason != 0 {
		return a.Reason == ReasonExhausted
	}
	if !a.Ended || a.Error == "" || a.Cancelled() || len(a.Attempts) == 0 {
		return false
	}
	last := &a.Attempts[len(a.Attempts)-1]
	for _, s := range a.Series {
		if n := len(s.Attempts); n > 1 && s.Attempts[n-1].Call == last.Call {
			return last.Outcome.Failed() && s.Attempts[n-2].Outcome.Class == last.Outcome.Class
		}
	}
	return false
}

// repeatedEffects reads the ledger: which attempts repeated a key after its
// effect, and whether the tool did it again.
func repeatedEffects(events []Event) (prevented, repeated int) {
	type once struct{ tool, key string }
	done := map[once]bool{}
	again := map[int]bool{} // call that repeats a done key → it had an effect of its own
	for i := range events {
		e := &events[i]
		k := once{e.Tool, e.Key}
		switch {
		case e.Key == "" || e.Ambiguous:
		case e.Kind == KindCall && e.Role == RoleAttempt && done[k]:
			again[e.Call] = false
		case e.Kind == KindEffect:
			if _, is := again[e.Call]; is {
				again[e.Call] = true
			}
			done[k] = true
		}
	}
	for _, effect := range again {
		if effect {
			repeated++
		} else {
			prevented++
		}
	}
	return prevented, repeated
}

// String is a table for a person. It is the same for the same metrics.
func (m Metrics) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s, %d exhausted, %s of delay", plural(m.Actions, "action"), plural(m.Attempts, "attempt"), m.Exhausted, span(m.Delay))
	if m.Planned != 0 {
		fmt.Fprintf(&b, " (%s planned)", span(m.Planned))
	}
	if m.Hits != 0 {
		fmt.Fprintf(&b, "\n%s instead of calls", plural(m.Hits, "hit"))
	}
	fmt.Fprintf(&b, "\n%s prevented, %d not\n", plural(m.EffectsPrevented, "repeated effect"), m.EffectsRepeated)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	if len(m.PerAction) > 0 {
		fmt.Fprint(w, "\naction\tattempts\tdelay\tplanned\texhausted\n")
	}
	for _, a := range m.PerAction {
		exhausted := "no"
		if a.Exhausted {
			exhausted = "yes"
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\n", orElse(plainName(a.Action), "-"), a.Attempts, span(a.Delay), span(a.Planned), exhausted)
	}
	_ = w.Flush() // a strings.Builder does not fail
	if len(m.Retries) > 0 {
		fmt.Fprint(w, "\ntool\tafter\tretries\tsucceeded\n")
	}
	for _, r := range m.Retries {
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\n", plainName(r.Tool), orElse(r.Class.String(), "no answer"), r.Retries, r.Succeeded)
	}
	_ = w.Flush()
	return b.String()
}
