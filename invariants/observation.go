package invariants

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-go/rehearse/trace"
)

// Observation is the contract of what an action hands on when it fails: the
// tool result that a model reads, or the value that a caller gets. It names
// the fields of that JSON object, each by its dotted path ("error.code"). A
// field that is empty here is not promised and not judged.
//
// The contract is beside the policy, as [Breaker] is: a program may keep its
// policy and hand nothing on. What was handed on is in the trace as an event
// of trace.KindObservation; see trace.Recorder.Observe.
type Observation struct {
	Tool      string // a text: the tool that failed
	Code      string // a text: the class of the failure, in the program's words
	Message   string // a text: what went wrong, in a sentence
	Next      string // a text, or a list of texts: what can be done next
	Retryable string // true or false: the same call may be made again, later
	Attempts  string // a number: the attempts that were made, the first included

	// Limit is the length of the whole in bytes of JSON, at most. 0: any.
	Limit int

	// Never lists texts that must not occur anywhere in it, such as the API
	// key and the host that the test gives to the code. Canaries are looked for
	// in any case; see [Canaries].
	Never []string
}

// promise is one field of the contract.
type promise struct{ name, path string }

func (o *Observation) promises() []promise {
	all := []promise{
		{"Tool", o.Tool}, {"Code", o.Code}, {"Message", o.Message},
		{"Next", o.Next}, {"Retryable", o.Retryable}, {"Attempts", o.Attempts},
	}
	return slices.DeleteFunc(all, func(p promise) bool { return p.path == "" })
}

// Validate reports everything in the contract that cannot hold; nil where there
// is nothing.
func (o *Observation) Validate() error {
	var errs []error
	complain := func(field, format string, args ...any) {
		errs = append(errs, fmt.Errorf("observation: %s: %s", field, fmt.Sprintf(format, args...)))
	}
	owner := map[string]string{}
	for _, p := range o.promises() {
		if slices.Contains(strings.Split(p.path, "."), "") {
			complain(p.name, "is %q, a path with an empty part: write it as in \"error.code\"", p.path)
		}
		if other := owner[p.path]; other != "" {
			complain(p.name, "is %q, which %s is already: name a field of its own", p.path, other)
		}
		owner[p.path] = p.name
	}
	if len(owner) == 0 {
		complain("Code", "is empty, and so are all other fields: name at least one that the observation has")
	}
	if o.Limit < 0 {
		complain("Limit", "is %d: say 0 for none", o.Limit)
	}
	if slices.Contains(o.Never, "") {
		complain("Never", "holds an empty text, which occurs everywhere: take it out")
	}
	return errors.Join(errs...)
}

// Invariants returns the rules that the contract implies of code under the
// policy, each with the leave of [WhereItApplies]:
//
//   - observation-structured: each failure that is handed on has the fields
//   - observation-retryable: the flag is true to the policy and the last class
//   - observation-attempts: the count is that of the attempts
//   - observation-secret: it holds no canary and nothing of Never
//   - observation-stack: it holds no stack trace
//   - observation-short: it is no longer than Limit
//   - observation-telling: the message says more than a status
//
// An action that its caller has cancelled, or that its deadline ended, need
// hand nothing on, and its flag is not judged.
func (o Observation) Invariants(p Policy) []Invariant {
	if err := o.Validate(); err != nil {
		return []Invariant{unsound("observation-structured", err)}
	}
	o.Never = slices.Clone(o.Never)
	list := []Invariant{o.structured()}
	if o.Retryable != "" {
		list = append(list, o.retryable(p))
	}
	if o.Attempts != "" {
		list = append(list, o.attempts())
	}
	list = append(list, o.secret(), o.stack())
	if o.Limit > 0 {
		list = append(list, o.short())
	}
	if o.Message != "" {
		list = append(list, o.telling())
	}
	for i := range list {
		list[i] = WhereItApplies(list[i])
	}
	return list
}

// A handed value is one observation of an action.
type handed struct {
	tr    *trace.Trace
	a     *trace.Action
	event int
	value any // decoded; numbers are json.Number
}

// at is the field of the path; ok is false where it is not there.
func (h *handed) at(path string) (value any, ok bool) {
	value = h.value
	for part := range strings.SplitSeq(path, ".") {
		object, isObject := value.(map[string]any)
		if !isObject {
			return nil, false
		}
		if value, ok = object[part]; !ok {
			return nil, false
		}
	}
	return value, true
}

// each makes a rule of a function that looks at one observation.
func each(name, text string, look func(h *handed) Verdict) Invariant {
	return rule(name, text, func(tr *trace.Trace, a *trace.Action) (v Verdict) {
		for _, event := range a.Observed {
			w := look(&handed{tr, a, event, decoded(tr.Events[event].Result)})
			v.Applied += w.Applied
			v.Findings = append(v.Findings, w.Findings...)
		}
		return v
	})
}
