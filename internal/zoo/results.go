package zoo

import (
	"context"
	"errors"
	"fmt"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/trace"
)

// Subjects of a tool that answers in an envelope, as tools of the Model Context
// Protocol do: the call can succeed where the work has failed.
func results() []Specimen {
	return []Specimen{
		{"error-flag-ignored", "The envelope says that it is an error, and its text is passed on as the answer.",
			"F026", "honest-ending", enveloped(readStateOnly)},
		{"finished-taken-for-done", "The job has finished, and nobody looks at how: its payload says that it failed.",
			"F025", "honest-ending", enveloped(readFlagOnly)},
		{"tool-error-taken-for-the-transports", "An error of the tool's own is handled like a broken connection, and the call is made again.",
			"F027", "no-retry-after-refusal", enveloped(readAsTransport)},
	}
}

// The registrar answers with an envelope.
type (
	booking  struct{ Room, Day string }
	envelope struct {
		IsError bool
		Text    string
		State   string // of the job: finished, whether or not it worked
		Failed  bool   // what the job's payload says
	}
	registrar = func(context.Context, booking) (envelope, error)
)

var errRegistrarDown = errors.New("registrar: connection lost")

func enveloped(read func(envelope) error) faultsim.Adapter {
	return faultsim.Adapter{
		Name: "book", Policy: policy(),
		Subject: func(s *faultsim.Stage) faultsim.Action {
			ask := faultsim.Tool(s, "registrar", func(context.Context, booking) (envelope, error) {
				return envelope{Text: "room 4 is yours", State: "finished"}, nil
			}, faultsim.Errors{
				trace.Transient: errRegistrarDown,
				trace.NotFound:  faultsim.Value(envelope{IsError: true, Text: "no such room"}),
				trace.Forbidden: faultsim.Value(envelope{Text: "not yours to book", State: "finished", Failed: true}),
			})
			return func(ctx context.Context) (any, error) { return book(ctx, ask, read) }
		},
	}
}

// book is the right loop around a reading of the envelope.
func book(ctx context.Context, ask registrar, read func(envelope) error) (envelope, error) {
	wait := base
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return envelope{}, err
		}
		got, err := bookOnce(ctx, ask)
		if err == nil {
			err = read(got)
		}
		if err == nil {
			return got, nil
		}
		if n == attempts || ctx.Err() != nil || !errors.Is(err, errRegistrarDown) && !errors.Is(err, context.DeadlineExceeded) {
			return envelope{}, err
		}
		if err := sleep(ctx, wait); err != nil {
			return envelope{}, err
		}
		wait *= 2
	}
}

func bookOnce(ctx context.Context, ask registrar) (envelope, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return ask(ctx, booking{Room: "4", Day: "2026-03-14"})
}

// readEnvelope goes by the flag and by what the payload says.
func readEnvelope(e envelope) error {
	if e.IsError || e.Failed || e.State != "finished" {
		return fmt.Errorf("registrar: %s", e.Text)
	}
	return nil
}

func readStateOnly(e envelope) error {
	e.IsError, e.State = false, "finished"
	return readEnvelope(e)
}

func readFlagOnly(e envelope) error {
	e.Failed = false
	return readEnvelope(e)
}

func readAsTransport(e envelope) error {
	if err := readEnvelope(e); err != nil {
		return fmt.Errorf("%w: %w", errRegistrarDown, err)
	}
	return nil
}
