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

// Waits in whole seconds and HTTP-dates fall on whole milliseconds; what the
// caller does must not, or chance decides which of the two comes first.
func TestDrawnCancelsAndDeadlinesMeetNoWholeMillisecond(t *testing.T) {
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
			assert.False(t, p.Deadline > 0 && p.Deadline%time.Millisecond == 0, "deadline %v", p.Deadline)
			for _, f := range p.Faults["api"] {
				assert.False(t, f.Cancel > 0 && f.Cancel%time.Millisecond == 0, "cancel %v", f.Cancel)
			}
		}
	}
}
