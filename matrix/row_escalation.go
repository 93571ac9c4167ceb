package matrix

import (
	"slices"

	"github.com/rehearse-go/rehearse/faultsim"
)

// escalationRows let actions fail in a row, up to the number at which the turn is
// handed on.
func escalationRows() []Row {
	return []Row{
		{Name: "failures-in-a-row", Proves: "When so many actions in a row have failed as the adapter says, the next one calls nothing and is handed on.", Schedule: failuresInARow},
		{Name: "success-between-failures", Proves: "A success between failed actions begins their count anew, and the next one is made.", Schedule: successBetween},
	}
}

func failuresInARow(s Setting) (faultsim.Schedule, error) {
	lost, err := s.losing()
	return faultsim.Schedule{Actions: append(slices.Repeat([]faultsim.Plan{lost}, s.escalates), faultsim.Plan{})}, err
}

func successBetween(s Setting) (faultsim.Schedule, error) {
	if s.escalates == 1 {
		return faultsim.Schedule{}, NotFor("one failure is enough")
	}
	lost, err := s.losing()
	some := append(slices.Repeat([]faultsim.Plan{lost}, s.escalates-1), faultsim.Plan{})
	return faultsim.Schedule{Actions: slices.Concat(some, some)}, err
}

// losing is an action that fails until its attempts are used up.
func (s Setting) losing() (faultsim.Plan, error) {
	f, err := s.Retried()
	if err != nil {
		return faultsim.Plan{}, err
	}
	sched, err := s.throughout(f)
	if err != nil {
		return faultsim.Plan{}, err
	}
	return sched.Actions[0], nil
}
