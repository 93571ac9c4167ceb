package invariants

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// Repeats is the contract of a tool that can be called again: what a second
// call gets that means the same as the first. It is for code that is itself the
// tool, as [Policy] is for code that calls one. The zero value is a tool that
// knows a repeat by the caller's key, keeps every key for good, and promises
// nothing where good tools differ.
//
// The calls of the tool are the actions of the trace; trace.Recorder.Serve
// records them with the caller's key and arguments. The attempts of such an action
// are what the tool asks of the tools below it.
type Repeats struct {
	// ID names the contract in traces and baselines. Change it with the content.
	ID string

	// By is how the tool knows a repeat.
	By Known

	// AtOnce is what a repeat gets that comes while the first call is under way.
	AtOnce AtOnce

	// Failures is what becomes of a failure that is definite, such as wrong
	// arguments: whether a repeat is answered with it, or tries again.
	Failures Failures

	// Keyless is what a call without a key gets.
	Keyless Keyless

	// Retention is how long a key is known at least, from its first call on.
	// What comes later is not judged. 0: for good.
	Retention time.Duration

	// Lease is how long a key may be said to be in progress after the last sign
	// of life of the call that used it. 0: no longer than that call is under way.
	Lease time.Duration

	// Work names the tool whose effects are counted, be it one below or the one
	// that trace.Recorder.Effect names. A double counts each call that it answers,
	// so name it where another tool below is only read. Empty: each of them by
	// itself.
	Work string

	// Effects is how many effects one call's work has. 0: one.
	Effects int

	// Key is the argument, by its JSON name, in which the tools below are handed
	// a key of their own. Each of them then does the work of one key once, so that
	// asking it again is safe. Empty: they know no keys.
	Key string

	// Undone lists the classes that mean, at the tools below, that nothing was
	// done, besides those that always do. See [Policy].
	Undone []trace.Class
}

// Known says how a tool knows that a call is a repeat.
type Known string

const (
	ByKey   Known = ""      // the caller sent the key before
	ByState Known = "state" // the tool looks whether it is done already; calls with equal arguments are repeats
)

// AtOnce says what a repeat gets that comes while the first call is under way.
type AtOnce string

const (
	AtOnceAny     AtOnce = ""       // the result or a refusal
	AtOnceWaits   AtOnce = "wait"   // the result, when it is there
	AtOnceRefused AtOnce = "refuse" // a refusal at once, with CodeBusy
)

// Failures says what a repeat gets after a definite failure.
type Failures string

const (
	FailuresAny       Failures = ""       // either
	FailuresKept      Failures = "keep"   // the same failure, and no tool is asked again
	FailuresForgotten Failures = "forget" // a new try
)

// Keyless says what a call without a key gets.
type Keyless string

const (
	KeylessAny     Keyless = ""       // it is not judged
	KeylessRefused Keyless = "refuse" // a refusal, with CodeKeyless
	KeylessRuns    Keyless = "run"    // work of its own, each time
)

// How a call was refused, as trace.Ending.Code says it.
const (
	CodeClash   = "clash"       // the key was used with other arguments
	CodeBusy    = "in-progress" // a call with the key is under way
	CodeKeyless = "no-key"      // the call carries none
)

// Validate reports everything in the contract that cannot hold; nil where there
// is nothing.
func (r *Repeats) Validate() error {
	var errs []error
	want := func(ok bool, field, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("repeats: %s: %s", field, fmt.Sprintf(format, args...)))
		}
	}
	want(slices.Contains([]Known{ByKey, ByState}, r.By), "By", "is %q; say ByKey or ByState", r.By)
	want(slices.Contains([]AtOnce{AtOnceAny, AtOnceWaits, AtOnceRefused}, r.AtOnce), "AtOnce", "is %q; say AtOnceAny, AtOnceWaits or AtOnceRefused", r.AtOnce)
	want(slices.Contains([]Failures{FailuresAny, FailuresKept, FailuresForgotten}, r.Failures), "Failures", "is %q; say FailuresAny, FailuresKept or FailuresForgotten", r.Failures)
	want(slices.Contains([]Keyless{KeylessAny, KeylessRefused, KeylessRuns}, r.Keyless), "Keyless", "is %q; say KeylessAny, KeylessRefused or KeylessRuns", r.Keyless)
	want(r.Keyless == KeylessAny || r.By == ByKey, "Keyless", "is %q while the tool knows repeats by the state: leave it out", r.Keyless)
	want(r.Retention >= 0, "Retention", "is %v; a time cannot be negative: say 0 for good", r.Retention)
	want(r.Retention == 0 || r.By == ByKey, "Retention", "is %v while the tool knows repeats by the state: leave it out", r.Retention)
	want(r.Lease >= 0, "Lease", "is %v; a time cannot be negative: say 0 for none", r.Lease)
	want(r.Effects >= 0, "Effects", "is %d: say 0 for one", r.Effects)
	want(r.Key == "" || !slices.Contains(strings.Split(r.Key, "."), ""), "Key", "is %q, a path with an empty part: write it as in \"order.key\"", r.Key)
	for _, c := range r.Undone {
		want(c > trace.OK && c <= trace.Unknown && c != trace.Declined, "Undone", "holds %v, which is no class of failure: take it out", c)
	}
	return errors.Join(errs...)
}

// Content is the contract as traces and baselines carry it: canonical JSON, with
// durations as in Go, classes by name, and nothing that is zero.
func (r *Repeats) Content() json.RawMessage {
	return trace.Canonical(trace.Marshal(repeatsText{
		r.ID, r.By, r.AtOnce, r.Failures, r.Keyless, span(r.Retention), span(r.Lease), r.Work, r.Effects, r.Key, r.Undone,
	}))
}

type repeatsText struct {
	ID        string        `json:"id,omitzero"`
	By        Known         `json:"by,omitzero"`
	AtOnce    AtOnce        `json:"atOnce,omitzero"`
	Failures  Failures      `json:"failures,omitzero"`
	Keyless   Keyless       `json:"keyless,omitzero"`
	Retention span          `json:"retention,omitzero"`
	Lease     span          `json:"lease,omitzero"`
	Work      string        `json:"work,omitzero"`
	Effects   int           `json:"effects,omitzero"`
	Key       string        `json:"key,omitzero"`
	Undone    []trace.Class `json:"undone,omitempty"`
}

// Invariants returns the rules that the contract implies, each with the leave of
// [WhereItApplies]:
//
//   - repeat-has-no-effect: the work of one key is done once
//   - clash-is-refused: a key with other arguments is refused, and nothing else is
//   - keyless-as-declared: a call without a key is refused, or is work of its own
//   - success-has-effect: behind each success there is work of its own key
//   - key-is-released: a key is in progress only while a call is under way
//   - at-once-as-declared: a repeat at once gets the result or a refusal
//   - repeat-gets-the-result: a repeat of a success gets its result
//   - passing-failure-forgotten: after a failure that passes, a repeat does the work
//   - definite-failure-as-declared: a definite failure is kept, or forgotten
//   - fresh-key-works: a new key is new work
//   - and those of every action: it returns, leaves nothing, does not panic or spin
//
// The source of the rules is "A Model Will Retry a Failing Tool Whether or Not
// That Is Safe", with field case F035; what is declared follows what stores of
// keys do differently.
func (r Repeats) Invariants() []Invariant {
	if err := r.Validate(); err != nil {
		return []Invariant{unsound("repeat-has-no-effect", err)}
	}
	r.Undone = slices.Clone(r.Undone)
	list := []Invariant{Returns(), NoPanic(), NoSpin(), r.noEffect(), r.clash()}
	if r.Keyless != KeylessAny {
		list = append(list, r.keyless())
	}
	list = append(list, r.backed(), r.released(), r.overlapping(), r.sameResult(), r.passing())
	if r.Failures != FailuresAny {
		list = append(list, r.definite())
	}
	list = append(list, r.fresh(), NothingLeft())
	for i := range list {
		list[i] = WhereItApplies(list[i])
	}
	return list
}
