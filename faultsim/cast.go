package faultsim

import "testing"

// A Cast is who stands on an adapter's stage, each by name.
type Cast struct {
	Tools     []string // the main one first
	Models    []string // see [Stage.Model]
	Approvers []string // see [Stage.Approver]

	// Can tells whether the double of that name can do what a fault plans; for a
	// name that nobody has it is false.
	Can func(name string, f Fault) bool
}

// CastOf builds the adapter's Subject once and tells who it puts on the stage.
func CastOf(t *testing.T, a Adapter) (Cast, error) {
	if err := a.validate(); err != nil {
		return Cast{}, err
	}
	tools, err := inspect(t, &a)
	if err != nil {
		return Cast{}, err
	}
	c := Cast{Tools: namesOf(tools), Can: func(string, Fault) bool { return false }}
	if len(tools) > 0 {
		s := tools[0].stage
		c.Models, c.Approvers = namesOf(s.models), namesOf(s.approvers)
		c.Can = func(name string, f Fault) bool {
			t := s.double(name)
			return t != nil && f.validate() == nil && t.can(&f)
		}
	}
	return c, nil
}

func namesOf(tools []*tool) (names []string) {
	for _, t := range tools {
		names = append(names, t.name)
	}
	return names
}
