package dispatcher_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/rehearse-go/rehearse/examples/dispatcher"
	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

// Ways in which a right dispatcher is used wrongly, with faults that show
// them and the rule that each breaks. Check finds such faults by itself; written
// down, they say what the mistake costs.
var mistakes = []struct {
	name    string
	adapter faultsim.Adapter
	faults  string
	subject func(*faultsim.Stage) faultsim.Action
	breaks  string
}{
	// The breakers know nothing of the calls before.
	{"a dispatcher for each call", search, "rehearse schedule 1\n" + strings.Repeat(down, 4), func(s *faultsim.Stage) faultsim.Action {
		tool := dispatcher.Tool{Do: double(s, "search"), Repeatable: true}
		return func(ctx context.Context) (any, error) {
			return dispatcher.New(map[string]dispatcher.Tool{"search": tool}).Call(ctx, "search", query)
		}
	}, "circuit-breaker"},

	// Somebody has read that mails are safe to repeat.
	{"a mail that is called repeatable", sendMail, "rehearse schedule 1\naction\n  send_mail 1 transient\n", func(s *faultsim.Stage) faultsim.Action {
		d := dispatcher.New(map[string]dispatcher.Tool{"send_mail": {Do: double(s, "send_mail"), Repeatable: true}})
		return func(ctx context.Context) (any, error) { return d.Call(ctx, "send_mail", mail) }
	}, "attempts-bounded"},

	// A loop around the dispatcher takes "retryable" for an order, and its
	// attempts multiply.
	{"retries on top of retries", search, "rehearse schedule 1\n" + down, func(s *faultsim.Stage) faultsim.Action {
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

	// So that the model has something to go by, it is told the tool's own words,
	// and with them whatever they hold.
	{"the words of the tool handed on", search, leaks, func(s *faultsim.Stage) faultsim.Action {
		d := dispatcher.New(map[string]dispatcher.Tool{"search": {Do: double(s, "search"), Repeatable: true}})
		return func(ctx context.Context) (any, error) {
			out, err := d.Call(ctx, "search", query)
			if e, ok := errors.AsType[*dispatcher.Error](err); ok {
				e.Next += " The tool said: " + e.Err.Error()
			}
			return out, err
		}
	}, "observation-secret"},

	// Every failure is called passing, and the model asks for what is forbidden
	// again and again.
	{"retryable whatever it was", search, leaks, func(s *faultsim.Stage) faultsim.Action {
		d := dispatcher.New(map[string]dispatcher.Tool{"search": {Do: double(s, "search"), Repeatable: true}})
		return func(ctx context.Context) (any, error) {
			out, err := d.Call(ctx, "search", query)
			if e, ok := errors.AsType[*dispatcher.Error](err); ok {
				e.Retryable = true
			}
			return out, err
		}
	}, "observation-retryable"},
}

// leaks is a refusal in words that hold a credential.
var leaks = faultsim.One(faultsim.Fault{Class: trace.Forbidden, Say: faultsim.CanaryWords}).String()

// down is an action during an outage.
const down = "action\n  search 1 transient\n  search 2 transient\n  search 3 transient\n"

func TestMistakesAreFound(t *testing.T) {
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) {
			s, err := faultsim.Parse(m.faults)
			require.NoError(t, err)

			r := faultsim.Trial(t, m.adapter, s)
			require.NoError(t, r.Err)
			require.Empty(t, r.Findings, "used rightly")

			m.adapter.Subject = m.subject
			r = faultsim.Trial(t, m.adapter, s)
			require.NoError(t, r.Err)
			require.NotEmpty(t, r.Findings)
			require.Equal(t, m.breaks, r.Findings[0].Invariant)
		})
	}
}
