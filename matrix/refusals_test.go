package matrix_test

import (
	"context"
	"fmt"
	"maps"
	"testing"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/matrix"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

// refusals are the classes that no retry mends, with the status that an HTTP
// tool gives them.
var refusals = map[trace.Class]int{
	trace.Invalid: 400, trace.Unauthenticated: 401, trace.Forbidden: 403, trace.NotFound: 404, trace.Conflict: 409,
}

// refusing is the read loop on a tool that can refuse in every way. Where it is
// stubborn, each of its failures counts as a passing one.
func refusing(stubborn bool) faultsim.Adapter {
	all := maps.Clone(errs)
	for c, status := range refusals {
		all[c] = fmt.Errorf("status %d", status)
	}
	a := loop(read)
	a.Subject = func(s *faultsim.Stage) faultsim.Action {
		tool := faultsim.Tool(s, "tool", func(context.Context, args) (int, error) { return 19, nil }, all)
		return func(ctx context.Context) (any, error) {
			return try(ctx, read, func(ctx context.Context) (int, error) {
				out, err := tool(ctx, args{City: "Pune"})
				if err != nil && stubborn {
					err = fmt.Errorf("%w: %w", errs[trace.Transient], err)
				}
				return out, err
			})
		}
	}
	return a
}

// Each kind of refusal ends the action after one call. The usual rows have some
// of them; rows of one's own have them all.
func TestEveryKindOfRefusalIsOneCall(t *testing.T) {
	var rows []matrix.Row
	for c, status := range refusals {
		require.Equal(t, c, trace.ClassifyStatus(status))
		rows = append(rows, matrix.Row{Name: fmt.Sprintf("status-%d", status), Schedule: matrix.Fixed(faultsim.One(faultsim.Fail(c)))})
	}
	for _, stubborn := range []bool{false, true} {
		played, err := matrix.Play(t, refusing(stubborn), rows...)
		require.NoError(t, err)
		for _, p := range played[len(matrix.Rows()):] {
			require.NoError(t, p.Skipped, p.Row.Name)
			if stubborn {
				require.Equal(t, "2 calls, the policy calls for 1", p.Complaint, p.Row.Name)
				require.Equal(t, "no-retry-after-refusal", p.Result.Findings[0].Invariant, p.Row.Name)
				continue
			}
			require.Empty(t, p.Complaint, p.Row.Name)
			require.Len(t, p.Result.Trace.Actions()[0].Attempts, 1, p.Row.Name)
		}
	}
}
