package faultsim

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// patientAdapter honours hints up to ten seconds and stops at longer ones.
func patientAdapter() Adapter {
	p := homePolicy()
	p.MaxAttempts, p.Retry = 6, append(p.Retry, trace.Throttled)
	p.Hint = invariants.Hint{Limit: 10 * time.Second}
	return Adapter{Name: "forecast", Policy: p, Subject: func(s *Stage) Action {
		tool := Tool(s, "weather", func(context.Context, string) (int, error) { return 19, nil }, Errors{
			trace.Transient: errBusy, trace.Forbidden: errForbidden,
			trace.Throttled: Hinted(func(hint time.Duration) error { return &waitError{hint} }),
		})
		return func(ctx context.Context) (any, error) { return patiently(ctx, tool, p) }
	}}
}

type waitError struct{ hint time.Duration }

func (e *waitError) Error() string { return "too many requests" }
func (e *waitError) Outcome() trace.Outcome {
	return trace.Outcome{Class: trace.Throttled, Hint: e.hint}
}

func patiently(ctx context.Context, tool trace.Func[string, int], p invariants.Policy) (int, error) {
	begin := time.Now()
	var deadline time.Duration
	if at, ok := ctx.Deadline(); ok {
		deadline = at.Sub(begin)
	}
	for s := p.Start(0, deadline); ; {
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		s.Began(time.Since(begin))
		actx, cancel := context.WithTimeout(ctx, p.Attempt)
		out, err := tool(actx, "Pune")
		cancel()
		if err == nil || ctx.Err() != nil {
			return out, err
		}
		o := trace.Classify(err)
		switch err {
		case errBusy:
			o.Class = trace.Transient
		case errForbidden:
			o.Class = trace.Forbidden
		}
		d := s.Next(o, time.Since(begin))
		if d.Do == invariants.Stop {
			return 0, err
		}
		if wait := pause(ctx, d.Lo); wait != nil {
			return 0, wait
		}
	}
}

// The table has a line for every label.
func TestLabelsAreInTheTable(t *testing.T) {
	for _, name := range labelNames {
		group, _ := groupOf(name)
		require.Contains(t, groups, group, name)
	}
}

// Each label has a schedule that meets it, and what is not in the list is not met.
func TestLabelsOfATrial(t *testing.T) {
	fail := "action\n  weather 1 transient\n"
	for name, c := range map[string]struct {
		schedule string
		labels   []string
	}{
		"well":                     {"action\n", []string{"end success"}},
		"one failure":              {fail, []string{"streak 1", "end success"}},
		"two in a row":             {fail + "  weather 2 transient\n", []string{"streak 1", "streak 2", "end success"}},
		"refused":                  {"action\n  weather 1 forbidden\n", []string{"streak 1", "end refused"}},
		"cancelled early":          {"action cancel=before\n", []string{"cancel before the first call", "end cancelled"}},
		"cancelled in flight":      {"action\n  weather 1 ok after=1s cancel=500.000005ms\n", []string{"streak 1", "cancel in flight", "end cancelled"}},
		"cancelled just behind":    {"action\n  weather 1 transient after=1s cancel=1.000000001s\n", []string{"streak 1", "cancel in backoff", "cancel beside an answer", "end cancelled"}},
		"cancelled just before":    {"action\n  weather 1 ok after=1s cancel=999.999999ms\n", []string{"streak 1", "cancel in flight", "cancel beside an answer", "end cancelled"}},
		"cancelled in the backoff": {"action\n  weather 1 transient cancel=50.000005ms\n", []string{"streak 1", "cancel in backoff", "end cancelled"}},
		"cancelled too late":       {"action cancel=1h\n", []string{"end success"}},
		"late in flight":           {"action deadline=1.000000005s\n  weather 1 ok after=2s\n", []string{"streak 1", "deadline in flight", "end deadline"}},
		"late in the backoff":      {"action deadline=50.000005ms\n  weather 1 transient\n", []string{"streak 1", "deadline in backoff", "end deadline"}},
		"time enough":              {"action deadline=1h\n" + "  weather 1 transient\n", []string{"streak 1", "end success"}},
		"timeout":                  {"action\n  weather 1 hang\n", []string{"streak 1", "attempt timeout", "end success"}},
		"lost":                     {"action\n  weather 1 hang done\n", []string{"streak 1", "attempt timeout", "attempt whose reply is lost", "end success"}},
		"hint above the backoff":   {"action\n  weather 1 throttled hint=2s\n", []string{"streak 1", "hint above the backoff", "end success"}},
		"hint below the backoff":   {"action\n  weather 1 transient\n  weather 2 transient\n  weather 3 transient\n  weather 4 transient\n  weather 5 throttled hint=1s\n", []string{"streak 1", "streak 2", "streak 3", "streak 4", "streak 5", "hint below the backoff", "end success"}},
		"hint above the limit":     {"action\n  weather 1 throttled hint=11s\n", []string{"streak 1", "hint above the backoff", "hint above the limit", "end hint-too-long"}},
		"hint beyond the deadline": {"action deadline=1.000000005s\n  weather 1 throttled hint=2s\n", []string{"streak 1", "hint above the backoff", "hint beyond the deadline", "deadline in backoff", "end deadline"}},
		"in turn":                  {"action\naction\n", []string{"actions in turn", "end success"}},
		"at once":                  {"action\naction\nat-once\n", []string{"actions at once", "end success"}},
		"outage":                   {"action\noutage weather to=50ms transient\n", []string{"streak 1", "outage met", "end success"}},
		"outage elsewhen":          {"action\noutage weather from=1s to=2s transient\n", []string{"end success"}},
		"bucket":                   {"action\naction\nbucket weather 1 every=2s\n", []string{"streak 1", "actions in turn", "bucket used up", "hint above the backoff", "end success"}},
		"quota":                    {"action\naction\nquota weather 1 per=2s\n", []string{"streak 1", "actions in turn", "quota used up", "hint above the backoff", "end success"}},
		"quota that is enough":     {"action\nquota weather 1 per=2s\n", []string{"end success"}},
		"exhausted": {"action\n  weather 1 transient\n  weather 2 transient\n  weather 3 transient\n  weather 4 transient\n  weather 5 transient\n  weather 6 transient\n",
			[]string{"streak 1", "streak 2", "streak 3", "streak 4", "streak 5", "streak 6", "end exhausted"}},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Parse(scheduleHeader + "\n" + c.schedule)
			require.NoError(t, err)
			a := patientAdapter()
			x := newTrial(&a, &s, a.content(), nil)
			tr, err := x.run(t)
			require.NoError(t, err)
			found, _ := a.judge(tr)
			require.Empty(t, found)
			var labels []string
			for label := range x.labelsOf(tr).each {
				labels = append(labels, labelNames[label])
			}
			require.ElementsMatch(t, c.labels, labels, "%s", tr.Timeline())
		})
	}
}

// What the life of a process adds.
func TestLabelsOfLives(t *testing.T) {
	require.Less(t, allLabels, 64) // they are bits
	seen := map[string]bool{}
	for _, name := range labelNames {
		require.NotEmpty(t, name)
		require.False(t, seen[name], name)
		seen[name] = true
	}
	r := reading{a: &Adapter{}}
	r.action(&trace.Trace{}, &trace.Action{CancelAt: -1, Again: 1, Hits: []int{1}, Drains: []trace.Drain{{}}, Restarts: []trace.Restart{{HandedBack: true}, {}}})
	var labels []string
	for label := range r.met.each {
		labels = append(labels, labelNames[label])
	}
	require.ElementsMatch(t, []string{"actions again", "actions served from a cache", "process crash", "process drain", "process handback"}, labels)
}

// A trace is read-only once it has been handed out, so that who has seen one may keep it.
func TestTracesThatUsersHaveSeenStayAsTheyAre(t *testing.T) {
	var mu sync.Mutex
	var kept []*trace.Trace
	var told []string
	keep := func(tr *trace.Trace) {
		mu.Lock()
		defer mu.Unlock()
		kept, told = append(kept, tr), append(told, tr.Timeline())
	}
	for name, edit := range map[string]func(*Adapter){
		"label": func(a *Adapter) { a.Label = func(tr *trace.Trace) []string { keep(tr); return nil } },
		"rule": func(a *Adapter) {
			a.Invariants = []invariants.Invariant{{Name: "kept", Rule: "it is kept", Check: func(tr *trace.Trace) invariants.Verdict {
				keep(tr)
				return invariants.Verdict{Applied: 1}
			}}}
		},
	} {
		a := homeAdapter()
		a.Trials, kept, told = 100, nil, nil
		edit(&a)
		o, err := Explore(t, a)
		require.NoError(t, err)
		require.Zero(t, o.Trial)
		require.GreaterOrEqual(t, len(kept), 100, name)
		for i := range kept {
			require.Equal(t, told[i], kept[i].Timeline(), name)
		}
		_, err = Fit(kept...)
		require.NoError(t, err)
	}
}
