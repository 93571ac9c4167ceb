package faultsim

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"time"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// endingSins are those of the end of an action, and of what it leaves behind.
func endingSins() []*sin {
	succeeded := func(e *exit) bool { return e.err == nil && e.st.done && e.st.ctx.Err() == nil }
	failed := func(e *exit) bool { return e.err != nil && !e.st.done && e.st.calls > 0 }
	always := func(*exit) bool { return true }
	return []*sin{
		{
			acting: true,
			name:   "result-dropped", does: "returned nothing, and no error, after a success",
			needs: "a success with a result that is not the zero one", eye: "Adapter.Want",
			leaving: func(e *exit) bool { return succeeded(e) && e.out != nil && !reflect.ValueOf(e.out).IsZero() },
			leave:   func(e *exit) { e.out = zeroOf(e.out) },
		},
		{
			acting: true,
			name:   "result-altered", does: "returned a result with one value changed",
			needs: "a success with a result in which something can be changed", eye: "Adapter.Want",
			leaving: func(e *exit) bool { _, ok := changedValue(e.out, argument, ""); return ok && succeeded(e) },
			leave:   func(e *exit) { e.out, _ = changedValue(e.out, argument, "") },
		},
		{
			acting: true,
			name:   "success-told-as-failure", does: "returned an error after a success",
			needs: "a success", eye: "a judge that looks at the end of the action, as HonestEnding does",
			leaving: succeeded,
			leave:   func(e *exit) { e.out, e.err = zeroOf(e.out), errors.New("it could not be done") },
		},
		{
			acting: true,
			name:   "success-invented", does: "returned a made-up answer, and no error, after a failure",
			needs: "a failed action, and a result to make up", eye: "a judge that looks at the end of the action, as HonestEnding does",
			leaving: func(e *exit) bool { return failed(e) && e.v.sample != nil },
			leave:   func(e *exit) { e.out, e.err = e.v.sample, nil },
		},
		{
			acting: true,
			name:   "failure-swallowed", does: "returned neither an answer nor an error after a failure",
			needs: "a failed action", eye: "a judge that looks at the end of the action, as HonestEnding does",
			leaving: failed,
			leave:   func(e *exit) { e.out, e.err = zeroOf(e.v.sample), nil },
		},
		{
			acting: true,
			name:   "error-replaced", does: "returned an error in which the last failure is not to be found",
			needs: "a failure of a function tool or a connection, whose words are in the error", eye: "a judge that looks at the error, as HonestEnding does",
			leaving: func(e *exit) bool {
				return failed(e) && e.st.ctx.Err() == nil && e.said() && !ownEnd(e.st.reply.err) && e.reason() != trace.ReasonBudget && e.st.latest.lane.d.Reason != trace.ReasonBudget
			},
			leave: func(e *exit) { e.err = errors.New("something went wrong") },
		},
		{
			acting: true,
			name:   "ends-late", does: "waited before it told of a failure",
			needs: "a failure that ends the action at once", eye: "a judge that looks at the instant of the end, as NoLastDelay does",
			leaving: func(e *exit) bool {
				return failed(e) && e.st.stops() && e.st.room(2*time.Second) && !e.s.policy.Reconcile // which may take its time
			},
			leave: func(e *exit) { time.Sleep(time.Second) },
		},
		{
			name: "retries-behind-the-back", does: "returned, and called the tool once more later on",
			needs: "an action that has called a tool", eye: "a judge that looks at attempts behind the end, as NoAttemptAfterEnd does",
			leaving: func(e *exit) bool {
				return e.st.latest != nil && e.st.busy == 0 && e.st.ctx.Err() == nil && e.st.latest.plain(0)
			},
			leave: func(e *exit) {
				go func() {
					time.Sleep(moment)
					e.st.latest.detached()
				}()
			},
		},
		{
			name: "goroutine-left", does: "left a goroutine behind that never ends",
			needs: "an action that ends", eye: "a judge that looks for leaks, as NothingLeft does",
			leaving: always,
			leave:   func(*exit) { go func() { select {} }() },
		},
		{
			name: "never-returns", does: "never returned",
			needs: "an action that ends", eye: "a judge that looks for hangs, as Returns does",
			leaving: always,
			leave:   func(*exit) { select {} },
		},
		{
			name: "panics", does: "panicked at its end",
			needs: "an action that ends", eye: "a judge that looks for panics, as NoPanic does",
			leaving: always,
			leave:   func(*exit) { panic("sabotage: the code panics here") },
		},
	}
}

// ownEnd reports whether the error is that of a context that the code made, of which
// it may tell in its own words.
func ownEnd(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// stops reports whether the policy ends the action with the latest answer, at its
// very instant.
func (st *stint) stops() bool {
	if st.latest == nil || st.murky || st.ctx.Err() != nil {
		return false
	}
	l := st.latest.lane
	return l.d.Do == invariants.Stop && l.d.EndHi == l.at && now() == l.at && !st.latest.mends()
}

// tellingSins are those of what else the code tells.
func tellingSins() []*sin {
	return []*sin{
		{
			name: "second-terminal", does: "published a second terminal for the action",
			needs: "code that publishes with Stage.Publish", eye: "a judge that counts terminals, as OneTerminal does",
			publish: func(s *Stage, ctx context.Context, reason trace.Reason) bool {
				s.rec.Publish(ctx, reason)
				return true
			},
		},
		{
			// That code publishes at all shows by what it has published.
			name: "terminal-withheld", does: "published no terminal for the action",
			needs: "code that publishes with Stage.Publish, and has done so for another action", eye: "a judge that counts terminals, as OneTerminal does",
			second:  true,
			publish: func(*Stage, context.Context, trace.Reason) bool { return false },
		},
		{
			name: "secret-handed-on", does: "handed on what the tool said of its secrets",
			needs: "an action that hands on a failure that is a JSON object, with an Observation", eye: "Adapter.Observation",
			observe: func(_ *Adapter, seen any) (any, bool) {
				return observed(seen, func(o map[string]any) bool { o["details"] = CanaryWords; return true })
			},
		},
		{
			name: "flag-inverted", does: "told the model to retry what is final, or not to retry what passes",
			needs: "an action that hands on a failure with a retryable flag, and an Observation that names it", eye: "Adapter.Observation.Retryable",
			observe: func(a *Adapter, seen any) (any, bool) {
				return observed(seen, func(o map[string]any) bool { return invert(o, a.Observation.Retryable) })
			},
		},
		{
			name: "attempts-miscounted", does: "handed on one attempt more than were made",
			needs: "an action that hands on a failure with a count, and an Observation that names it", eye: "Adapter.Observation.Attempts",
			observe: func(a *Adapter, seen any) (any, bool) {
				return observed(seen, func(o map[string]any) bool { return miscount(o, a.Observation.Attempts) })
			},
		},
	}
}

// observed is what is handed on with a change; false: it could not be made.
func observed(seen any, change func(map[string]any) bool) (any, bool) {
	raw, err := json.Marshal(seen)
	if err != nil {
		return nil, false
	}
	var o map[string]any
	if json.Unmarshal(raw, &o) != nil || o == nil {
		return nil, false
	}
	return o, change(o)
}

// invert turns the flag at the path round.
func invert(o map[string]any, path string) bool {
	return at(o, path, func(v any) any {
		if b, ok := v.(bool); ok {
			return !b
		}
		return nil
	})
}

// miscount adds one to the number at the path.
func miscount(o map[string]any, path string) bool {
	return at(o, path, func(v any) any {
		if n, ok := v.(float64); ok {
			return n + 1
		}
		return nil
	})
}
