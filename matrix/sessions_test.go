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

// The rows about sessions come with the contract, and fail code that goes on with
// a session that is lost.
func TestRowsOfSessions(t *testing.T) {
	errRefused, errLost := errors.New("refused"), errors.New("reset")
	for _, drops := range []bool{true, false} {
		a := loop(read)
		a.Policy.Retry = append([]trace.Class{trace.NotConnected, trace.Reset}, read.Retry...)
		a.Session = &invariants.Session{}
		a.Subject = func(s *faultsim.Stage) faultsim.Action {
			tool := faultsim.Tool[int, int](s, "weather", nil, faultsim.Errors{
				trace.Transient: errs[trace.Transient], trace.Forbidden: errors.New("no"), trace.NotConnected: errRefused, trace.Reset: errLost,
			})
			dial := s.Sessions("weather").Dial
			return func(ctx context.Context) (any, error) {
				var held *faultsim.Session
				return try(ctx, a.Policy, func(ctx context.Context) (out int, err error) {
					if held == nil {
						if held, err = dial(ctx); err != nil {
							return 0, errors.Join(err, errs[trace.Transient])
						}
					}
					out, err = tool(held.Over(ctx), 0)
					if errors.Is(err, errRefused) || errors.Is(err, errLost) {
						if drops {
							held = nil
						}
						return 0, errors.Join(err, errs[trace.Transient]) // which the loop tries again
					}
					return out, err
				})
			}
		}
		failed := map[string]bool{}
		n := 0
		for _, p := range played(t, a) {
			if p.Row.Group == matrix.Sessions {
				require.NoError(t, p.Skipped, p.Row.Name)
				n++
				failed[p.Row.Name] = p.Complaint != ""
				if drops {
					require.Empty(t, p.Complaint, "%s\n%s", p.Row.Name, p.Result.Trace.Timeline())
				}
			}
		}
		require.Equal(t, 5, n)
		if !drops {
			require.True(t, failed["session-lost"] && failed["session-lost-with-the-reply"])
		}
	}
}
