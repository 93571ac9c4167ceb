package faultsim

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// looped makes it the adapter of a loop, whose model may stream.
func looped(streams bool, l invariants.Loop) func(*Adapter) {
	return func(a *Adapter) {
		tools := a.Subject
		a.Loop = &l
		a.Subject = func(s *Stage) Action {
			tools(s)
			m := s.Model("model", Script{Streams: streams, Steps: []Step{Say("Hello.")}})
			return func(ctx context.Context) (any, error) { return m.Reply(ctx, trace.Prompt{}) }
		}
	}
}

func TestStreamsOfAModelAreBroken(t *testing.T) {
	kinds := func(streams bool, l invariants.Loop) map[string]int {
		seen := map[string]int{}
		for _, s := range drawn(t, 500, looped(streams, l)) {
			for _, p := range s.Actions {
				for _, f := range p.Faults["model"] {
					switch {
					case f.Body == 0:
					case f.Hang:
						seen["stops"]++
					default:
						seen[f.class().String()]++
					}
				}
			}
		}
		return seen
	}
	bounded := invariants.Loop{Model: invariants.Policy{MaxAttempts: 1, Attempt: 30 * time.Second}}
	require.Empty(t, kinds(false, bounded))
	seen := kinds(true, bounded)
	require.Greater(t, seen["ok"], 50)
	require.Greater(t, seen["reset"], 100)
	require.Greater(t, seen["stops"], 50)
	require.Zero(t, kinds(true, invariants.Loop{})["stops"], "nothing would end it")
}

func TestABreakerBelowALoopComesUnderStrain(t *testing.T) {
	long, models := 0, 0
	for _, s := range drawn(t, 500, func(a *Adapter) { looped(false, invariants.Loop{})(a); breaking(a) }) {
		if len(s.Actions) > 2 {
			long++
		}
		if len(s.Actions[0].Faults["model"]) > 0 {
			models++
		}
	}
	require.Greater(t, long, 150)
	require.Greater(t, models, 50)
}

func TestArgumentsChangeWhereLeaveIsNeeded(t *testing.T) {
	changed := func(l invariants.Loop) (n int) {
		for _, s := range drawn(t, 300, looped(false, l)) {
			for _, f := range s.Actions[0].Faults["model"] {
				if f.Move == MoveChange {
					n++
				}
			}
		}
		return n
	}
	require.Zero(t, changed(invariants.Loop{}))
	require.NotZero(t, changed(invariants.Loop{Approve: []string{"weather"}}))
}
