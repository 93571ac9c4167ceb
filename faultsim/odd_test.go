package faultsim

import (
	"context"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Answers and attempts fall on tens of nanoseconds, and each action begins a
// little later than the one before; what the caller does must never meet them, or
// chance decides which of the two comes first.
func TestDrawnCancelsAndDeadlinesMeetNoAnswer(t *testing.T) {
	a := Adapter{
		Name: "get",
		Policy: invariants.Policy{ID: "get/v1", MaxAttempts: 3, Attempt: 5 * time.Second, Repeatable: true,
			Retry: []trace.Class{trace.Transient, trace.Throttled}, Backoff: invariants.Backoff{Base: time.Second}},
		Subject: func(s *Stage) Action {
			client := s.Client(Route{Tool: "api"})
			return func(context.Context) (any, error) { return client.Get("http://api.test/") }
		},
	}
	tools, err := inspect(t, &a)
	require.NoError(t, err)
	gen := newDrawer(&a, tools).schedules()
	for n := range 2000 {
		s := gen.Example(int(trialSeed(1, n)))
		for _, p := range s.Actions {
			assert.False(t, p.Deadline > 0 && met(p.Deadline), "deadline %v", p.Deadline)
			for _, f := range p.Faults["api"] {
				assert.False(t, f.Cancel > 0 && met(f.Cancel), "cancel %v", f.Cancel)
				assert.Zero(t, f.Latency%10, "latency %v", f.Latency)
			}
		}
	}
}

// met reports whether an instant of one of three actions can be that of an answer.
func met(at time.Duration) bool {
	for i := range time.Duration(3) {
		if (at+i*apart)%10 == 0 {
			return true
		}
	}
	return false
}

// The first action ends a nanosecond beside its answers, and the second is to
// begin among them again.
func TestActionsInTurnBeginOnTensOfNanoseconds(t *testing.T) {
	a := Adapter{
		Name:   "get",
		Policy: invariants.Policy{ID: "get/v1", MaxAttempts: 1, Late: invariants.LateWait, Repeatable: true},
		Subject: func(s *Stage) Action {
			tool := Tool[int, int](s, "api", nil, nil)
			return func(ctx context.Context) (any, error) { return tool(ctx, 1) }
		},
	}
	hang := Plan{Faults: map[string][]Fault{Main: {{Hang: true}}}, Deadline: time.Second - 1}
	r := Trial(t, a, Schedule{Actions: []Plan{hang, hang, {}}})
	require.NoError(t, r.Err)
	for i, want := range []time.Duration{0, time.Second, 2 * time.Second} {
		assert.Equal(t, want, r.Trace.Actions()[i].Begin)
	}
}
