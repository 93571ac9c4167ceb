package zoo

import (
	"context"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// Subjects whose policy says which wins, a cancel or a success behind it.
func winners() []Specimen {
	return []Specimen{
		{"late-success-taken", "The tool answers after the cancel, and its answer is returned because there is no error.",
			"F044", "declared-winner", contested(invariants.WinnerCancel, patient)},
		{"late-success-dropped", "The select on the caller's context leaves at the cancel, and a booking that is made in that moment is told as cancelled.",
			testingRetries, "declared-winner", contested(invariants.WinnerSuccess, patientWith(collects))},
		{"published-by-the-context", "What is published is read off the context, and what is returned off the error.",
			testingRetries, "declared-winner", publishesByContext(invariants.WinnerSuccess)},
	}
}

// contested plugs in an agent whose tool may ignore the cancel.
func contested(w invariants.Winner, agent ask) faultsim.Adapter {
	return agents(with(func(p *invariants.Policy) { p.Winner = w }), failures(), agent)
}

// cancelWins looks at its caller before it uses an answer.
func cancelWins(ctx context.Context, call tool) (forecast, error) {
	return patient(ctx, func(inner context.Context, q query) (forecast, error) {
		f, err := call(inner, q)
		if ctx.Err() == context.Canceled {
			return forecast{}, ctx.Err()
		}
		return f, err
	})
}

// publishesByContext publishes by the caller's context.
func publishesByContext(w invariants.Winner) faultsim.Adapter {
	a := publishing(func(ctx context.Context, call tool, tell publish) (forecast, error) {
		f, err := patient(ctx, call)
		switch {
		case ctx.Err() == context.Canceled:
			tell(ctx, trace.ReasonCancelled)
		default:
			tell(ctx, reason(ctx, err))
		}
		return f, err
	})
	a.Policy.Winner = w
	return a
}
