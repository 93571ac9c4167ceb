package faultsim

// A tally counts what trials have met. Each worker has its own; the sum of them
// does not depend on who ran which trial. It travels from machine to machine as
// JSON, so all that it counts is exported.
type tally struct {
	Trials int `json:"trials"` // that have passed
}

// note counts a trial that has passed. Neither its schedule nor its trace is
// there any more when it returns.
func (y *tally) note(_ *Schedule, _ *result) { y.Trials++ }

// add counts what another tally has.
func (y *tally) add(z *tally) { y.Trials += z.Trials }
