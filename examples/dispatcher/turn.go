package dispatcher

import (
	"context"
	"encoding/json"
	"fmt"
)

// patience is how many calls in a row may fail in one turn.
const patience = 3

// A Turn is what a model does between two messages of its user. It is not safe
// for use by several goroutines.
type Turn struct {
	Dispatcher *Dispatcher
	failed     int // calls in a row
	last       error
}

// Call calls a tool. The third failure in a row, and every call behind it, is
// an [*Escalation]: the loop around the model ends there, and a person takes
// over. No tool is called any more.
func (t *Turn) Call(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error) {
	if t.failed >= patience {
		return nil, &Escalation{t.last}
	}
	out, err := t.Dispatcher.Call(ctx, name, args)
	if err == nil {
		t.failed = 0
		return out, nil
	}
	t.failed++
	t.last = err
	if t.failed >= patience {
		return nil, &Escalation{err}
	}
	return nil, err
}

// An Escalation ends a turn.
type Escalation struct {
	Err error // of the last call
}

func (e *Escalation) Error() string {
	return fmt.Sprintf("%d tool calls in a row have failed, the last with: %v", patience, e.Err)
}

// Unwrap is the error of the last call.
func (e *Escalation) Unwrap() error { return e.Err }
