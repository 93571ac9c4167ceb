package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// The errors by which tools say how they failed. Any other is not retried:
// what nobody has thought of should fail loudly.
var (
	ErrUnavailable = errors.New("unavailable")   // it may pass
	ErrInvalid     = errors.New("invalid")       // the model's arguments are wrong
	ErrNotFound    = errors.New("not found")     // what they name is not there
	ErrForbidden   = errors.New("not permitted") // final
)

// Busy is a tool that did nothing because it has too much to do.
type Busy struct {
	After time.Duration // the wait that it asks for; 0: it does not say
}

func (b *Busy) Error() string { return fmt.Sprintf("too many requests, ask again after %v", b.After) }

var (
	errOpen   = errors.New("the circuit breaker is open")
	errNoTool = errors.New("no such tool")
)

// passing reports whether another attempt can mend the failure.
func passing(err error) bool {
	_, busy := errors.AsType[*Busy](err)
	return busy || errors.Is(err, ErrUnavailable) || errors.Is(err, context.DeadlineExceeded)
}

// asked is the wait that the tool asks for; 0: none.
func asked(err error) time.Duration {
	if busy, ok := errors.AsType[*Busy](err); ok {
		return busy.After
	}
	return 0
}

// A Code is a failure in one word that the model knows from its instructions.
type Code string

// The codes.
const (
	NoSuchTool       Code = "no_such_tool"
	InvalidArguments Code = "invalid_arguments"
	NotFound         Code = "not_found"
	Forbidden        Code = "forbidden"
	Throttled        Code = "throttled"
	Unavailable      Code = "unavailable"
	TimedOut         Code = "timed_out"
	BreakerOpen      Code = "temporarily_unavailable" // refused without an attempt, or before the next one
	OutcomeUnknown   Code = "outcome_unknown"         // it may have been done
	Cancelled        Code = "cancelled"
	Failed           Code = "failed"
)

// An Error is a failed call as the model is told of it. It marshals to the
// observation for the model's context. Err stays out of it: it may hold hosts,
// keys and stack traces, and is for the log.
type Error struct {
	Tool      string `json:"tool"`
	Code      Code   `json:"error"`
	Retryable bool   `json:"retryable"` // the same call may work at another time
	Next      string `json:"next"`      // what the model can do now
	Attempts  int    `json:"attempts"`  // executions of the tool for this call
	Err       error  `json:"-"`
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s: %s after %d attempts: %v", e.Tool, e.Code, e.Attempts, e.Err)
}

// Unwrap is the error of the last attempt, or of the breaker.
func (e *Error) Unwrap() error { return e.Err }

func failure(name string, t *Tool, err error, attempts int) *Error {
	e := &Error{Tool: name, Code: codeOf(err, t.Repeatable || attempts == 0), Attempts: attempts, Err: err}
	e.Retryable, e.Next = e.Code.advice(t.Instead)
	return e
}

// codeOf reads an error. After an attempt that is not repeatable, only an
// error that proves that nothing was done may say anything but OutcomeUnknown.
func codeOf(err error, repeatable bool) Code {
	_, busy := errors.AsType[*Busy](err)
	switch {
	case errors.Is(err, errNoTool):
		return NoSuchTool
	case errors.Is(err, errOpen):
		return BreakerOpen
	case errors.Is(err, ErrInvalid):
		return InvalidArguments
	case errors.Is(err, ErrNotFound):
		return NotFound
	case errors.Is(err, ErrForbidden):
		return Forbidden
	case busy:
		return Throttled
	case !repeatable:
		return OutcomeUnknown
	case errors.Is(err, ErrUnavailable):
		return Unavailable
	case errors.Is(err, context.DeadlineExceeded):
		return TimedOut
	case errors.Is(err, context.Canceled):
		return Cancelled
	}
	return Failed
}

// advice says whether the same call may work at another time, and what the
// model can do until then.
func (c Code) advice(instead string) (retryable bool, next string) {
	switch c {
	case NoSuchTool:
		return false, "Use a tool from the list."
	case InvalidArguments:
		return false, "Correct the arguments and call again."
	case NotFound:
		return false, "Ask the user for the right name or id."
	case Forbidden:
		return false, "Tell the user that this is not permitted."
	case OutcomeUnknown:
		return false, "Do not call again: it may have been done. Check, or tell the user."
	case Cancelled:
		return false, "Tell the user that the call was cancelled."
	case Failed:
		return false, "Tell the user that the tool failed."
	}
	if instead == "" {
		instead = "Go on without it, and tell the user what is missing."
	}
	return true, "Do not call again for now. " + instead
}
