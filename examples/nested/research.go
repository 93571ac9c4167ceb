package nested

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/rehearse-go/rehearse/examples/agentloop"
)

const (
	tries = 3                      // of one lookup, whoever asks for it
	limit = 5 * time.Second        // of one attempt
	pause = 500 * time.Millisecond // before the second attempt; doubled before each further one
)

// The failures of the lookup. The first one passes.
var (
	ErrUnavailable = errors.New("service unavailable")
	ErrForbidden   = errors.New("no access")
)

// A Researcher looks flights up. It may be used by several goroutines at once.
type Researcher struct {
	Model   agentloop.Model
	Flights func(context.Context, Question) (string, error)
}

// Research runs the researcher's loop. Its error says how it ended, and is final: what
// could be tried has been.
func (r *Researcher) Research(ctx context.Context, q Question) (string, error) {
	var found string
	ended := ErrNothing
	looked := map[Question]error{}
	err := converse(ctx, r.Model, "Find a flight to "+q.To+".", func(ctx context.Context, c agentloop.Call) (string, error) {
		var q Question
		if err := decode(c, "flights", &q); err != nil {
			return "", err
		}
		if err := looked[q]; err != nil {
			return "", fmt.Errorf("not tried again: %w", err)
		} else if found != "" {
			return found, nil
		}
		answer, err := r.look(ctx, q)
		if err != nil {
			ended = err
		}
		looked[q], found = err, answer
		return answer, err
	})
	if found != "" || err != nil {
		return found, err
	}
	return "", ended
}

// look asks for the flight, and again where that may pass and the budget allows it.
func (r *Researcher) look(ctx context.Context, q Question) (string, error) {
	for n := 1; n <= tries && spend(ctx); n++ {
		if n > 1 {
			select {
			case <-time.After(pause << (n - 2)):
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}
		answer, err := r.once(ctx, q)
		switch {
		case err == nil:
			return answer, nil
		case ctx.Err() != nil:
			return "", ctx.Err()
		case !errors.Is(err, ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded):
			return "", ErrRefused
		}
	}
	return "", ErrExhausted
}

func (r *Researcher) once(ctx context.Context, q Question) (string, error) {
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	return r.Flights(ctx, q)
}

// decode reads the arguments of a call that must be for the tool.
func decode(c agentloop.Call, tool string, into any) error {
	if c.Tool != tool {
		return fmt.Errorf("there is no tool %q: there is %s", c.Tool, tool)
	}
	d := json.NewDecoder(bytes.NewReader([]byte(c.Args)))
	d.DisallowUnknownFields()
	if d.Decode(into) != nil || d.More() {
		return fmt.Errorf("not run: these are no arguments for %s", tool)
	}
	return nil
}
