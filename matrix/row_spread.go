package matrix

import (
	"slices"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
)

// spreadRows let callers fail together, whom jitter must part.
func spreadRows() []Row {
	return []Row{
		{Name: "callers-together", Proves: "Callers that fail together do not come back together, up to the cap.", Schedule: callersTogether},
		{Name: "callers-told-together", Proves: "Callers that are all asked to wait for the same time do not come back together at its end.", Schedule: callersToldTogether},
	}
}

func callersTogether(s Setting) (faultsim.Schedule, error) {
	f, err := s.Retried()
	return s.wave(f), err
}

func callersToldTogether(s Setting) (faultsim.Schedule, error) {
	if s.Policy.Hint.Jitter == 0 {
		return faultsim.Schedule{}, NotFor("the policy adds no jitter to a hint")
	}
	wait := 10 * time.Second
	if limit := s.Policy.Hint.Limit.Truncate(time.Second); limit > 0 {
		wait = min(wait, limit)
	}
	f, err := s.hinting(wait)
	return s.wave(f), err
}

// wave is callers at once that meet the fault at each attempt.
func (s Setting) wave(f faultsim.Fault) faultsim.Schedule {
	sched := faultsim.Schedule{AtOnce: true}
	for range faultsim.Together {
		faults := slices.Repeat([]faultsim.Fault{f}, max(1, min(s.Policy.Most(), 16)))
		sched.Actions = append(sched.Actions, faultsim.One(faults...).Actions[0])
	}
	return sched
}
