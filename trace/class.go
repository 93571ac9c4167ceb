package trace

import (
	"fmt"
	"time"
)

// A Class says how one attempt of a tool call ended, in words that do not
// depend on the tool. The list is closed: an adapter maps its own errors onto
// it. The zero Class means that no answer has been seen.
type Class uint8

const (
	_               Class = iota
	OK                    // the tool answered what was asked
	Transient             // the tool is briefly unable: HTTP 500, 502, 503, 504
	Throttled             // too many requests for now: HTTP 429
	QuotaExhausted        // used up until the next period; waiting does not help within the run
	Timeout               // no answer within the time that the attempt had
	Reset                 // the connection broke after the request was sent
	NotConnected          // the request was never sent
	Invalid               // the arguments are wrong: HTTP 400, 422
	Unauthenticated       // the credentials are missing or expired: HTTP 401
	Forbidden             // the caller may not do this: HTTP 403
	NotFound              // there is no such thing: HTTP 404, 410
	Conflict              // it clashes with the present state: HTTP 409, 412
	Declined              // a business "no": a valid answer, not a failure of the tool
	Malformed             // an answer that cannot be read or lacks what it must have
	Partial               // some items done, others not
	Cancelled             // the caller cancelled while the attempt was in flight
	Unknown               // none of the above; not retried unless the policy declares it
)

var classNames = [...]string{
	"", "ok", "transient", "throttled", "quota-exhausted", "timeout", "reset", "not-connected",
	"invalid", "unauthenticated", "forbidden", "not-found", "conflict", "declined", "malformed",
	"partial", "cancelled", "unknown",
}

// Classes returns every class, in the order of their declaration.
func Classes() []Class {
	all := make([]Class, 0, len(classNames)-1)
	for c := OK; c <= Unknown; c++ {
		all = append(all, c)
	}
	return all
}

// String is the name of the value; empty for the zero value.
func (c Class) String() string { return enumString(classNames[:], c) }

// MarshalText is the name that String gives; a value that is not in the list is
// an error.
func (c Class) MarshalText() ([]byte, error) { return enumText("class", classNames[:], c) }

// UnmarshalText reads the name that String prints.
func (c *Class) UnmarshalText(text []byte) error {
	return enumParse("class", classNames[:], text, c)
}

// An Effect says what is known of the tool's side effect. Of an outcome it is
// what the caller can know; the truth is in the events of kind [KindEffect].
type Effect uint8

const (
	EffectUnstated Effect = iota // nothing is said: read it off the class
	EffectDone                   // the tool did it
	EffectNotDone                // the tool certainly did not do it
	EffectUnknown                // it may have been done
)

var effectNames = [...]string{"", "done", "not-done", "unknown"}

// String is the name of the value; empty for the zero value.
func (e Effect) String() string { return enumString(effectNames[:], e) }

// MarshalText is the name that String gives; a value that is not in the list is
// an error.
func (e Effect) MarshalText() ([]byte, error) { return enumText("effect", effectNames[:], e) }

// UnmarshalText reads the name that String prints.
func (e *Effect) UnmarshalText(text []byte) error {
	return enumParse("effect", effectNames[:], text, e)
}

// A Reason is the terminal reason of an action: why it ended. The list is
// closed. The zero Reason means that the program has not said.
type Reason uint8

const (
	_                    Reason = iota
	ReasonSuccess               // the tool answered what was asked
	ReasonDeclined              // the tool gave its valid "no"
	ReasonExhausted             // the last permitted attempt failed
	ReasonRefused               // a failure that the policy does not retry
	ReasonNeedsInput            // the arguments are wrong: correct them or ask
	ReasonHintTooLong           // the tool asked for a longer wait than the policy or the deadline allows
	ReasonCancelled             // the caller cancelled
	ReasonDeadline              // the caller's time is over, or the next attempt does not fit
	ReasonBudget                // the action's own budget is spent
	ReasonBreakerOpen           // a circuit breaker refused the call
	ReasonOutcomeUnknown        // it may have happened, and repeating it is not safe
	ReasonPartial               // some items done, others not
	ReasonInterrupted           // the process ended before the action did
	ReasonEscalated             // handed to a person or another program
)

var reasonNames = [...]string{
	"", "success", "declined", "exhausted", "refused", "needs-input", "hint-too-long", "cancelled",
	"deadline", "budget", "breaker-open", "outcome-unknown", "partial", "interrupted", "escalated",
}

// String is the name of the value; empty for the zero value.
func (r Reason) String() string { return enumString(reasonNames[:], r) }

// MarshalText is the name that String gives; a value that is not in the list is
// an error.
func (r Reason) MarshalText() ([]byte, error) { return enumText("reason", reasonNames[:], r) }

// UnmarshalText reads the name that String prints. The zero value has none and
// does not read back: keep it out of what you store, with omitzero.
func (r *Reason) UnmarshalText(text []byte) error {
	return enumParse("reason", reasonNames[:], text, r)
}

// Advice is a tool's own word on whether its failure may be retried.
type Advice uint8

const (
	AdviceNone  Advice = iota // the error does not say
	AdviceRetry               // the error calls itself retryable
	AdviceStop                // the error calls itself final
)

var adviceNames = [...]string{"", "retry", "stop"}

// String is the name of the value; empty for the zero value.
func (a Advice) String() string { return enumString(adviceNames[:], a) }

// MarshalText is the name that String gives; a value that is not in the list is
// an error.
func (a Advice) MarshalText() ([]byte, error) { return enumText("advice", adviceNames[:], a) }

// UnmarshalText reads the name that String prints.
func (a *Advice) UnmarshalText(text []byte) error {
	return enumParse("advice", adviceNames[:], text, a)
}

// An Outcome is what the caller saw of one attempt.
type Outcome struct {
	Class  Class         `json:"class,omitzero"`
	Effect Effect        `json:"effect,omitzero"` // as far as the caller can know
	Advice Advice        `json:"advice,omitzero"` // the tool's own word on retrying
	Hint   time.Duration `json:"hint,omitzero"`   // the wait that the tool asked for; 0: none
	Slack  time.Duration `json:"slack,omitzero"`  // how much later than Hint a faithful reader may come: an HTTP-date has whole seconds
	Items  Items         `json:"items,omitzero"`  // of a batch: what became of each item; empty: not told
	Code   string        `json:"code,omitzero"`   // the tool's own error code, or the HTTP status; never redacted
}

// Failed reports whether the outcome is neither a success nor a valid "no".
func (o Outcome) Failed() bool { return o.Class != OK && o.Class != Declined }

func enumString[E ~uint8](names []string, e E) string {
	if int(e) < len(names) {
		return names[e]
	}
	return fmt.Sprintf("#%d", e)
}

func enumText[E ~uint8](what string, names []string, e E) ([]byte, error) {
	if int(e) >= len(names) {
		return nil, fmt.Errorf("trace: %s %d is not in the list of %s values", what, e, what)
	}
	return []byte(names[e]), nil
}

func enumParse[E ~uint8](what string, names []string, text []byte, e *E) error {
	for i, name := range names {
		if name != "" && name == string(text) {
			*e = E(i)
			return nil
		}
	}
	return fmt.Errorf("trace: unknown %s %q; known are %q", what, text, names[1:])
}
