package matrix_test

import (
	"context"
	"testing"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/matrix"
	"github.com/stretchr/testify/require"
)

// forecasting has two tools that do the same; switches says whether it goes to
// the other one when the first has failed for good.
func forecasting(switches bool) faultsim.Adapter {
	a := loop(read)
	a.Allowed = []string{"approved"}
	a.Subject = func(s *faultsim.Stage) faultsim.Action {
		answer := func(context.Context, args) (int, error) { return 19, nil }
		approved, forbidden := faultsim.Tool(s, "approved", answer, errs), faultsim.Tool(s, "forbidden", answer, errs)
		return func(ctx context.Context) (any, error) {
			out, err := try(ctx, read, func(ctx context.Context) (int, error) { return approved(ctx, args{City: "Pune"}) })
			if err != nil && ctx.Err() == nil && switches {
				return forbidden(ctx, args{City: "Pune"})
			}
			return out, err
		}
	}
	return a
}

// While the approved tool is down the code must not go to one that it has no
// leave for. The rule says so in every row.
func TestASwitchToAToolThatIsNotApprovedIsFound(t *testing.T) {
	broken := func(switches bool) (rows []string) {
		played, err := matrix.Play(t, forecasting(switches))
		require.NoError(t, err)
		for _, p := range played {
			for _, f := range p.Result.Findings {
				if f.Invariant == "allowed-tools" {
					rows = append(rows, p.Row.Name)
				}
			}
		}
		return rows
	}
	require.Empty(t, broken(false))
	require.Subset(t, broken(true), []string{"transient-until-exhausted", "permission-denied", "approved-down"})
	matrix.Run(t, forecasting(false))
}
