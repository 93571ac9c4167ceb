package zoo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/rehearse-go/rehearse/faultsim"
)

func endings() []Specimen {
	return []Specimen{
		{"nil-after-exhaustion", "The error is declared anew inside the loop, and the one behind it is nil.",
			"F003", "honest-ending", weather(shadowsError)},
		{"invented-forecast", "When nothing works the agent answers with the usual weather.",
			testingRetries, "honest-ending", weather(invents)},
		{"error-becomes-the-answer", "The text of the failure is stored where the answer goes, and is passed on as one.",
			"F070", "honest-ending", weather(storesError)},
		{"error-replaced", "The error is replaced by a friendly text, and nobody can tell what failed.",
			handling, "honest-ending", weather(replacesError)},
		{"error-in-words-only", "The error is formatted with %v, and whoever asks errors.Is for the failure is told no.",
			handling, "honest-ending", wrapping(quotesError)},
		{"first-error-kept", "The first error is returned, whatever the last one was.",
			testingRetries, "honest-ending", weather(keepsFirst)},
		{"retries-reported-as-attempts", "The error tells of the retries where it says attempts.",
			"F002", "honest-ending", telling(miscounts)},
		{"words-decide", "The word error in the payload of a success makes it a failure.",
			"F024", "honest-ending", weather(readsPayload)},
		{"failed-log-hides-the-success", "The log entry fails after the tool has answered, and the action fails with it.",
			"F083", "honest-ending", weather(failsWithLog)},
		{"result-altered", "The answer is converted twice on its way out.",
			testingRetries, "honest-ending", weather(converts)},
		{"deadline-shown-as-success", "What was there when the attempt timed out is returned as an answer.",
			testingRetries, "honest-ending", weather(returnsPartial)},
	}
}

func shadowsError(ctx context.Context, call tool) (forecast, error) {
	var err error
	wait := base
	for n := range attempts {
		if n > 0 {
			if err := sleep(ctx, wait); err != nil {
				return forecast{}, err
			}
			wait *= 2
		}
		if err := ctx.Err(); err != nil {
			return forecast{}, err
		}
		f, err := once(ctx, call, pune)
		if err == nil || final(ctx, err) {
			return f, err
		}
	}
	return forecast{}, err
}

func invents(ctx context.Context, call tool) (forecast, error) {
	f, err := patient(ctx, call)
	if err != nil && ctx.Err() == nil {
		return forecast{Celsius: 24, Note: "mostly sunny"}, nil
	}
	return f, err
}

func storesError(ctx context.Context, call tool) (forecast, error) {
	f, err := patient(ctx, call)
	if err != nil && ctx.Err() == nil {
		return forecast{Note: "[Error] " + err.Error()}, nil
	}
	return f, err
}

func replacesError(ctx context.Context, call tool) (forecast, error) {
	f, err := patient(ctx, call)
	if err != nil {
		return forecast{}, errors.New("sorry, there is no forecast at the moment")
	}
	return f, nil
}

func keepsFirst(ctx context.Context, call tool) (forecast, error) {
	var first error
	f, err := patient(ctx, func(ctx context.Context, q query) (forecast, error) {
		f, err := call(ctx, q)
		if err != nil && first == nil {
			first = err
		}
		return f, err
	})
	if err != nil {
		return forecast{}, first
	}
	return f, nil
}

// countedError is an error that tells of its attempts.
type countedError struct {
	attempts int
	err      error
}

func (e *countedError) Error() string {
	return fmt.Sprintf("no forecast after %d attempts: %v", e.attempts, e.err)
}
func (e *countedError) Unwrap() error { return e.err }

func telling(agent ask) faultsim.Adapter {
	a := weather(agent)
	a.Attempts = func(err error) int {
		if e, ok := errors.AsType[*countedError](err); ok {
			return e.attempts
		}
		return 0
	}
	return a
}

func miscounts(ctx context.Context, call tool) (forecast, error) {
	retries := -1
	f, err := patient(ctx, func(ctx context.Context, q query) (forecast, error) {
		retries++
		return call(ctx, q)
	})
	if err != nil {
		return forecast{}, &countedError{retries, err}
	}
	return f, nil
}

func readsPayload(ctx context.Context, call tool) (forecast, error) {
	f, err := patient(ctx, call)
	if err != nil {
		return forecast{}, err
	}
	if raw, _ := json.Marshal(f); strings.Contains(string(raw), "error") {
		return forecast{}, fmt.Errorf("the tool reported an error: %s", raw)
	}
	return f, nil
}

func failsWithLog(ctx context.Context, call tool) (forecast, error) {
	f, err := patient(ctx, call)
	if err != nil {
		return forecast{}, err
	}
	if err := auditLog(f); err != nil {
		return forecast{}, fmt.Errorf("forecast: %w", err)
	}
	return f, nil
}

func converts(ctx context.Context, call tool) (forecast, error) {
	f, err := patient(ctx, call)
	if err != nil {
		return forecast{}, err
	}
	f.Celsius = (f.Celsius - 32) * 5 / 9
	return f, nil
}

func returnsPartial(ctx context.Context, call tool) (forecast, error) {
	f, err := patient(ctx, call)
	if errors.Is(err, context.DeadlineExceeded) {
		return f, nil
	}
	return f, err
}
