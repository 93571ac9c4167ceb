package scripted

import (
	"errors"
	"fmt"

	"github.com/rehearse-go/rehearse/trace"
)

// What a double says when it has no answer. Test with errors.Is; the error
// itself is an [*Error].
var (
	ErrExtraCall = errors.New("the script is used up")                    // there is no step for the call
	ErrUnmatched = errors.New("no route matches")                         // there is no tool for the request
	ErrArguments = errors.New("the arguments do not fit the tool's type") // of Tool.CallJSON only
	// ErrConversation is of Model only.
	ErrConversation = errors.New("a provider would refuse the conversation")
)

// An Error is the answer of a double that has none. The same text has been
// reported to the test, once.
type Error struct {
	Tool string // name of the tool or route; of an unmatched request, its method, host and path
	Call int    // number of the call at that tool, from 1; 0: there is no such tool, or none that counts it
	Text string // the first line of the report
	Err  error  // [ErrExtraCall], [ErrUnmatched], [ErrArguments] or [ErrConversation]
}

// Error is one line.
func (e *Error) Error() string { return e.Text }

// Unwrap returns which of them it is.
func (e *Error) Unwrap() error { return e.Err }

// Retryable says no: another attempt would meet the same end of the script.
func (e *Error) Retryable() bool { return false }

// Outcome lets [trace.Classify] read the error.
func (e *Error) Outcome() trace.Outcome {
	class := trace.Unknown
	if e.Err == ErrArguments || e.Err == ErrConversation {
		class = trace.Invalid
	}
	return trace.Outcome{Class: class, Advice: trace.AdviceStop}
}

// A Conflict is the answer of a [Ledger] to a key that cannot be used again:
// it came with other arguments, or its first call is still at work. A real
// server answers 409 or 422.
type Conflict struct {
	Tool string // its name in the trace
	Key  string // the idempotency key, in clear
	Busy bool   // the first call with the key is still at work; else the arguments differ
}

// Error is one line, with the key.
func (c *Conflict) Error() string {
	if c.Busy {
		return fmt.Sprintf("%s: a call with key %q is still at work", c.Tool, c.Key)
	}
	return fmt.Sprintf("%s: key %q was used with other arguments", c.Tool, c.Key)
}

// Outcome lets [trace.Classify] read the error: [trace.Conflict].
func (c *Conflict) Outcome() trace.Outcome { return trace.Outcome{Class: trace.Conflict} }
