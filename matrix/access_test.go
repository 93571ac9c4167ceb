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

var errToken = errors.New("the token is not valid")

// The rows about credentials come with a policy that refreshes them, and each
// wants two calls.
func TestRowsOfCredentials(t *testing.T) {
	type ticket struct{ City, Token string }
	for _, shared := range []bool{true, false} {
		a := loop(read)
		a.Policy.Refresh = invariants.Refresh{Once: true, Credential: "Token", Extra: true, Shared: shared}
		a.Subject = func(s *faultsim.Stage) faultsim.Action {
			fetch := s.Issuer().Aside("auth")
			tool := faultsim.Tool[ticket, int](s, "weather", nil, faultsim.Errors{trace.Transient: errors.New("busy"), trace.Unauthenticated: errToken})
			held := ""
			return func(ctx context.Context) (any, error) {
				refreshed := false
				return try(ctx, read, func(ctx context.Context) (int, error) {
					for {
						token := held
						if token == "" {
							var err error
							if token, err = fetch(ctx); err != nil {
								return 0, err
							}
							held = token
						}
						out, err := tool(ctx, ticket{"Pune", token})
						if !errors.Is(err, errToken) || refreshed {
							return out, err
						}
						if refreshed = true; held == token {
							held = ""
						}
					}
				})
			}
		}
		played, err := matrix.Play(t, a)
		require.NoError(t, err)
		rows := map[string]bool{}
		for _, p := range played {
			if p.Row.Group != matrix.Access {
				continue
			}
			require.Empty(t, p.Complaint, p.Row.Name)
			if p.Skipped == nil {
				rows[p.Row.Name] = true
				require.Len(t, p.Result.Trace.Actions()[0].Attempts, 2, p.Row.Name)
			}
		}
		require.Equal(t, map[string]bool{"credential-expired": true, "credential-expired-twice": true}, without(rows, "credential-expired-at-once"))
		require.Equal(t, shared, rows["credential-expired-at-once"])
	}
}

func without(rows map[string]bool, name string) map[string]bool {
	rest := map[string]bool{}
	for r := range rows {
		if r != name {
			rest[r] = true
		}
	}
	return rest
}
