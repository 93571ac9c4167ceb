package matrix_test

import (
	"context"
	"errors"
	"testing"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/matrix"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

// The rows about schemas come with a policy that lets arguments be corrected, and
// take both who corrects and who ends.
func TestRowsOfDefinitions(t *testing.T) {
	type query struct{ Unit string }
	errUnit := errors.New("no such unit")
	for _, corrects := range []bool{true, false} {
		a := loop(read)
		a.Policy.Correct = invariants.Correct{Once: true}
		a.Subject = func(s *faultsim.Stage) faultsim.Action {
			look := s.Definitions("weather", "C", "celsius", "degrees").Aside("tools/list")
			tool := faultsim.Tool[query, int](s, "weather", nil, faultsim.Errors{trace.Transient: errs[trace.Transient], trace.Invalid: errUnit})
			return func(ctx context.Context) (any, error) {
				unit, corrected := "C", !corrects
				return try(ctx, read, func(ctx context.Context) (int, error) {
					for {
						out, err := tool(ctx, query{unit})
						if !errors.Is(err, errUnit) || corrected {
							return out, err
						}
						d, err := look(ctx)
						if err != nil {
							return 0, err
						}
						unit, corrected = d.Text, true
					}
				})
			}
		}
		calls := map[string]int{}
		for _, p := range played(t, a) {
			if p.Row.Group == matrix.Definitions {
				require.Empty(t, p.Complaint, "%s\n%s", p.Row.Name, p.Result.Trace.Timeline())
				require.NoError(t, p.Skipped, p.Row.Name)
				calls[p.Row.Name] = len(p.Result.Trace.Actions()[0].Attempts)
			}
		}
		want := map[string]int{"schema-changed": 1, "schema-changed-twice": 1, "schema-changed-then-failure": 1}
		if corrects {
			want = map[string]int{"schema-changed": 2, "schema-changed-twice": 2, "schema-changed-then-failure": 3}
		}
		require.Equal(t, want, calls)
	}
}
