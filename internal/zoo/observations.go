package zoo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"runtime/debug"
	"strings"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
)

// Subjects that hand a failure on to their model.
func observations() []Specimen {
	return []Specimen{
		{"calls-exhausted-final", "The attempts are used up, so the failure is handed on as final, and the model never tries later.",
			testingRetries, "observation-retryable", reporting(func(t *told, _ error) { t.Retryable = false })},
		{"calls-all-retryable", "Every failure is handed on as retryable, and the model repeats a call that was refused.",
			toolErrors, "observation-retryable", reporting(func(t *told, _ error) { t.Retryable = true })},
		{"flag-of-the-first-failure", "The flag is set at the first failure, and a refusal behind it is handed on as retryable.",
			testingRetries, "observation-retryable", firstFlag()},
		{"calls-lost-payment-retryable", "The reply of a payment without a key is lost, and the model is told to try again.",
			retrySafe, "observation-retryable", payTold(true)},
		{"http-body-in-the-observation", "The body of the answer is handed on, for the model to make sense of.",
			toolErrors, "observation-secret", reportingOnline(func(t *told, err error) {
				if e, ok := errors.AsType[*statusError](err); ok {
					t.Details = map[string]any{"response": e.body}
				}
			})},
		{"http-host-in-the-observation", "The error of the transport is handed on, and it has the URL of the service.",
			toolErrors, "observation-secret", reportingOnline(func(t *told, err error) {
				if e, ok := errors.AsType[*url.Error](err); ok {
					t.Message += " " + e.Error()
				}
			})},
		{"counts-retries", "The number that is handed on is that of the retries, and the first attempt is not among them.",
			testingRetries, "observation-attempts", reporting(func(t *told, _ error) { t.Attempts-- })},
		{"stack-in-the-observation", "The message is made by the handler of panics, with its stack.",
			toolErrors, "observation-stack", reporting(func(t *told, _ error) { t.Message += "\n" + stack() })},
		{"quotes-the-tool", "The words of the tool are put behind the message, and it names a host and a token.",
			toolErrors, "observation-secret", reporting(func(t *told, err error) { t.Message += ": " + err.Error() })},
		{"hides-it-in-a-field", "The message is clean, and a field of details has the cause for debugging.",
			toolErrors, "observation-secret", reporting(func(t *told, err error) { t.Details = map[string]any{"cause": fmt.Sprint(err)} })},
		{"bare-status", "The model is told \"error: 500\".",
			handling, "observation-telling", reporting(func(t *told, _ error) { t.Message = "ERROR: 500" })},
		{"long-observation", "The whole manual of the tool is handed on with each failure.",
			toolErrors, "observation-short", reporting(func(t *told, _ error) { t.Next = strings.Repeat("See the manual of the service. ", 40) })},
		{"no-way-on", "The field that says what can be done is left empty.",
			threeLayer, "observation-structured", reporting(func(t *told, _ error) { t.Next = "" })},
		{"text-for-a-structure", "The failure is formatted into a line of text.",
			threeLayer, "observation-structured", handing(func(t *told, _ error) any {
				return fmt.Sprintf("ERROR: %s after %d attempts", t.Message, t.Attempts)
			})},
		{"silent-on-timeouts", "A timeout has no entry in the table of observations, and the model is handed nothing.",
			threeLayer, "observation-structured", handing(func(t *told, err error) any {
				if errors.Is(err, context.DeadlineExceeded) {
					return nil
				}
				return t
			})},
	}
}

// told is what the model is told of a failure.
type told struct {
	Tool      string         `json:"tool"`
	Code      string         `json:"error"`
	Message   string         `json:"message"`
	Next      string         `json:"next"`
	Retryable bool           `json:"retryable"`
	Attempts  int            `json:"attempts"`
	Details   map[string]any `json:"details,omitempty"`
}

// observed is the contract of it.
func observed() *invariants.Observation {
	return &invariants.Observation{
		Tool: "tool", Code: "error", Message: "message", Next: "next", Retryable: "retryable", Attempts: "attempts", Limit: 600,
	}
}

// reporting plugs in the agent that tells of failures rightly but for the change.
func reporting(change func(*told, error)) faultsim.Adapter {
	return handing(func(t *told, err error) any { change(t, err); return t })
}

// handing plugs in an agent that hands on what is made of the right telling.
func handing(made func(*told, error) any) faultsim.Adapter {
	a := agents(policy(), throttling(), counted)
	a.Observation = observed()
	a.Observe = func(_ any, err error) any {
		if err == nil {
			return nil
		}
		return made(tell(err), err)
	}
	return a
}

// counted is the right loop with an error that knows its attempts.
func counted(ctx context.Context, call tool) (forecast, error) {
	n := 0
	f, err := patient(ctx, func(ctx context.Context, q query) (forecast, error) {
		n++
		return call(ctx, q)
	})
	if err != nil {
		return forecast{}, &countedError{n, err}
	}
	return f, nil
}

// tell words a failure for the model: by its kind, in words of our own.
func tell(err error) *told {
	t := &told{Tool: "weather", Retryable: retryable(err)}
	if e, ok := errors.AsType[*countedError](err); ok {
		t.Attempts = e.attempts
	}
	switch {
	case errors.Is(err, errInvalid):
		t.Code, t.Message, t.Next = "invalid_input", "The weather service knows no such city.", "Ask the user for another spelling."
	case errors.Is(err, errForbidden):
		t.Code, t.Message, t.Next = "forbidden", "The weather service refuses this account.", "Go on without the forecast, and tell the user."
	case errors.Is(err, context.Canceled):
		t.Code, t.Message, t.Next = "cancelled", "The user has cancelled the question.", "Stop here."
	case t.Retryable:
		t.Code, t.Message, t.Next = "unavailable", "The weather service does not answer at the moment.", "Go on without the forecast, or ask again later."
	default:
		t.Code, t.Message, t.Next = "unknown", "The weather service failed in a way that is not known.", "Go on without the forecast, and tell the user."
	}
	return t
}

func stack() string {
	frames := string(debug.Stack())
	return frames[:min(len(frames), 200)]
}

// reportingOnline is the same for the agent that asks over HTTP. The host of
// the service is nobody's business.
func reportingOnline(change func(*told, error)) faultsim.Adapter {
	a := online(webPolicy(), func(a *webAgent) { a.quotes = true })
	a.Observation = &invariants.Observation{Code: "error", Message: "message", Retryable: "retryable", Limit: 600, Never: []string{"weather.example"}}
	a.Observe = func(_ any, err error) any {
		if err == nil {
			return nil
		}
		t := &told{Code: "refused", Message: "The weather service refused the question.", Retryable: again(err)}
		if t.Retryable {
			t.Code, t.Message = "unavailable", "The weather service does not answer at the moment."
		}
		change(t, err)
		return t
	}
	return a
}

// A flaggedError remembers what its agent thought of the first failure.
type flaggedError struct {
	err       error
	retryable bool
}

func (e *flaggedError) Error() string { return e.err.Error() }
func (e *flaggedError) Unwrap() error { return e.err }

// firstFlag plugs in the agent whose flag is that of its first failure.
func firstFlag() faultsim.Adapter {
	a := reporting(func(t *told, err error) {
		if e, ok := errors.AsType[*flaggedError](err); ok {
			t.Retryable = e.retryable
		}
	})
	a.Subject = agents(policy(), throttling(), flagsFirst).Subject
	return a
}

func flagsFirst(ctx context.Context, call tool) (forecast, error) {
	var first error
	f, err := counted(ctx, func(ctx context.Context, q query) (forecast, error) {
		f, err := call(ctx, q)
		if first == nil {
			first = err
		}
		return f, err
	})
	if err != nil {
		return forecast{}, &flaggedError{err, retryable(first)}
	}
	return f, nil
}

// payTold plugs in a payment without a key, which tells whether it may be
// repeated; hopeful: also when nobody knows what became of it.
func payTold(hopeful bool) faultsim.Adapter {
	a := unkeyed(repeatsOnlyUndone)
	a.Observation = &invariants.Observation{Code: "error", Message: "message", Retryable: "retryable"}
	a.Observe = func(_ any, err error) any {
		switch {
		case err == nil:
			return nil
		case errors.Is(err, errBankBusy):
			return told{Code: "busy", Message: "The bank is busy, and has done nothing.", Retryable: true}
		case errors.Is(err, errBankInvalid):
			return told{Code: "invalid_input", Message: "The bank knows no such invoice."}
		}
		return told{Code: "outcome_unknown", Message: "The bank has not confirmed: look the payment up.", Retryable: hopeful}
	}
	return a
}

// asText plugs in an agent whose failure is no Go error: like a tool of a model,
// it returns a text, and in it the failure as JSON.
func asText() faultsim.Adapter {
	a := built(policy(), throttling(), func(*faultsim.Stage) ask { return counted })
	subject := a.Subject
	a.Subject = func(s *faultsim.Stage) faultsim.Action {
		action := subject(s)
		return func(ctx context.Context) (any, error) {
			f, err := action(ctx)
			if err == nil {
				return f, nil
			}
			text, err := json.Marshal(tell(err))
			return string(text), err
		}
	}
	a.Observation = observed()
	a.Observe = func(result any, _ error) any {
		if text, ok := result.(string); ok {
			return text
		}
		return nil
	}
	return a
}
