package dispatcher_test

import (
	"context"
	"errors"
	"testing"

	"github.com/rehearse-go/rehearse/examples/dispatcher"
	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/stretchr/testify/require"
)

// Three ways in which a right dispatcher is used wrongly, and the rule that
// each breaks. No code of the dispatcher is changed for it.
var mistakes = []struct {
	name    string
	adapter faultsim.Adapter
	subject func(*faultsim.Stage) faultsim.Action
	breaks  string
}{
	// The breakers know nothing of the calls before.
	{"a dispatcher for each call", search, func(s *faultsim.Stage) faultsim.Action {
		tool := dispatcher.Tool{Do: double(s, "search"), Repeatable: true}
		return func(ctx context.Context) (any, error) {
			return dispatcher.New(map[string]dispatcher.Tool{"search": tool}).Call(ctx, "search", query)
		}
	}, "circuit-breaker"},

	// Somebody has read that mails are safe to repeat.
	{"a mail that is called repeatable", sendMail, func(s *faultsim.Stage) faultsim.Action {
		d := dispatcher.New(map[string]dispatcher.Tool{"send_mail": {Do: double(s, "send_mail"), Repeatable: true}})
		return func(ctx context.Context) (any, error) { return d.Call(ctx, "send_mail", mail) }
	}, "attempts-bounded"},

	// A loop around the dispatcher takes "retryable" for an order, and its
	// attempts multiply.
	{"retries on top of retries", search, func(s *faultsim.Stage) faultsim.Action {
		d := dispatcher.New(map[string]dispatcher.Tool{"search": {Do: double(s, "search"), Repeatable: true}})
		return func(ctx context.Context) (out any, err error) {
			for range 3 {
				if out, err = d.Call(ctx, "search", query); err == nil {
					break
				}
				if e, ok := errors.AsType[*dispatcher.Error](err); !ok || !e.Retryable {
					break
				}
			}
			return out, err
		}
	}, "attempts-bounded"},
}

func TestMistakesAreFound(t *testing.T) {
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) {
			m.adapter.Subject = m.subject

			found, err := faultsim.Explore(t, m.adapter)

			require.NoError(t, err)
			require.Equal(t, m.breaks, found.Invariant(), "%v\n%v", found.Findings, found.Schedule)
		})
	}
}
