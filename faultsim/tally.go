package faultsim

// A tally counts what trials have met. Each worker has its own; the sum of them
// does not depend on who ran which trial.
type tally struct {
	trials int // that have passed
}

// note counts a trial that has passed. Neither its schedule nor its trace is
// there any more when it returns.
func (y *tally) note(_ *Schedule, _ *result) { y.trials++ }

// add counts what another tally has.
func (y *tally) add(z *tally) { y.trials += z.trials }
