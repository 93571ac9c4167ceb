package invariants

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/rehearse-go/rehearse/trace"
)

// structured is: every failure is handed on, as an object with the fields.
func (o Observation) structured() Invariant {
	const name = "observation-structured"
	fields := each(name, "", o.fields)
	return Invariant{Name: name, Rule: "a failure is handed on with the fields that are promised", Check: func(tr *trace.Trace) Verdict {
		v := fields.Check(tr)
		actions := tr.Actions()
		for i := range actions {
			v.add(name, silent(&actions[i]))
		}
		return v
	}}
}

// silent finds a failure of which nothing was handed on although somebody
// was still there to read it.
func silent(a *trace.Action) (v Verdict) {
	if !a.Ended || a.Error == "" || len(a.Observed) > 0 || timeUp(a) {
		return v
	}
	v.Applied++
	v.report(a, fmt.Sprintf("the action failed with %q and handed nothing on", short([]byte(a.Error))),
		"return the failure as a structured result on every way out, so that the model can choose another path", a.EndEvent)
	return v
}

func (o *Observation) fields(h *handed) (v Verdict) {
	v.Applied++
	raw := h.tr.Events[h.event].Result
	if digest(h.value) {
		return v
	}
	if _, ok := h.value.(map[string]any); !ok {
		v.report(h.a, fmt.Sprintf("what was handed on is no object: %s", orNothing(raw)),
			"hand on an object with named fields; a bare text leaves the model to guess", h.event)
		return v
	}
	for _, p := range o.promises() {
		value, ok := h.at(p.path)
		if wrong := misfit(p.name, value, ok); wrong != "" {
			v.report(h.a, fmt.Sprintf("the field %q (%s) of what was handed on %s", p.path, p.name, wrong),
				"fill in every promised field on every way out of the action", h.event)
			return v
		}
	}
	return v
}

func orNothing(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "it is empty"
	}
	return short(raw)
}

// misfit says what is wrong with the value of a promised field; empty: nothing.
func misfit(field string, value any, ok bool) string {
	switch {
	case !ok:
		return "is missing"
	case digest(value): // hidden by the recorder
		return ""
	}
	switch field {
	case "Retryable":
		if _, ok := value.(bool); !ok {
			return "is neither true nor false"
		}
	case "Attempts":
		if _, ok := whole(value); !ok {
			return "is no whole number"
		}
	case "Next":
		if list, ok := value.([]any); ok && len(list) > 0 {
			return misfit("", list[0], true)
		}
		return misfit("", value, true)
	default:
		if text, ok := value.(string); !ok || strings.TrimSpace(text) == "" {
			return "is no text, or an empty one"
		}
	}
	return ""
}

// digest reports whether a recorder that keeps nothing in clear has hidden the
// value: what it was cannot be judged.
func digest(value any) bool {
	text, ok := value.(string)
	return ok && len(text) == 17 && text[0] == '~'
}

func whole(value any) (int, bool) {
	number, _ := value.(json.Number)
	n, err := strconv.Atoi(string(number))
	return n, err == nil
}

// decoded is a recorded value; nil where there is none.
func decoded(raw json.RawMessage) (value any) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if d.Decode(&value) != nil {
		return nil
	}
	return value
}

// retryable is: the flag says what the policy says of the last failure.
func (o Observation) retryable(p Policy) Invariant {
	return each("observation-retryable", "the retryable flag is true to the policy and to the last failure", func(h *handed) (v Verdict) {
		value, _ := h.at(o.Retryable)
		said, ok := value.(bool)
		last, may, known := p.mayCome(h)
		if !ok || !known {
			return v
		}
		v.Applied++
		if said == may {
			return v
		}
		text, advice := flagged(&p, said, last)
		v.report(h.a, text, advice, last.AnswerEvent, h.event)
		return v
	})
}

// mayCome tells whether the failure that the observation speaks of is worth
// retrying and safe to retry. That the attempts are used up changes nothing of
// it: the flag is about the failure, and how often it was met is the count's to
// say. known is false where the trace leaves it open.
func (p *Policy) mayCome(h *handed) (last *trace.Attempt, may, known bool) {
	now := h.tr.Events[h.event].At
	if h.a.Reason == trace.ReasonBreakerOpen || h.a.Cancelled() && h.a.Cancel <= now || h.a.Deadline != 0 && h.a.Deadline <= now {
		return nil, false, false
	}
	for i := range h.a.Series {
		at := h.lastOf(&h.a.Series[i])
		if at == nil || at.Seen && !at.Outcome.Failed() {
			continue
		}
		again, clear := p.again(h.a, at)
		if !clear || known && again != may {
			return nil, false, false
		}
		last, may, known = at, again, true
	}
	return last, may, known
}

// lastOf is the last attempt of the series that began before the observation.
func (h *handed) lastOf(s *trace.Series) (last *trace.Attempt) {
	for i := range s.Attempts {
		if at := &s.Attempts[i]; at.Event < h.event {
			last = at
		}
	}
	return last
}

// again tells of one attempt whether it may be repeated. clear is false where
// its outcome can be read in two ways that differ in this, where its items have
// a class each, and where the program may know more, because it asks or because
// its own time was up.
func (p *Policy) again(a *trace.Action, at *trace.Attempt) (again, clear bool) {
	if !at.Seen || at.Outcome.Items != "" {
		return false, false
	}
	ownTime := p.Budget > 0 && at.End-a.Begin >= p.Budget && ownTimeout(at.Outcome.Class) == trace.Timeout
	asks := p.Reconcile && p.effect(&at.Outcome) == trace.EffectUnknown
	again, clear = p.repeats(at.Outcome), !ownTime && !asks
	if o, _, two := secondReading(at); two && (!o.Failed() || p.repeats(o) != again) {
		return false, false
	}
	return again, clear
}

// repeats reports whether the failure is worth retrying and safe to retry.
func (p *Policy) repeats(o trace.Outcome) bool {
	return p.Retries(ownTimeout(o.Class)) && p.safe(&o)
}

// ownTimeout reads a cancelled attempt as the timeout that it is for code that
// ended it itself.
func ownTimeout(c trace.Class) trace.Class {
	if c == trace.Cancelled {
		return trace.Timeout
	}
	return c
}

// flagged words a flag that is not true.
func flagged(p *Policy, said bool, last *trace.Attempt) (text, advice string) {
	class := last.Outcome.Class
	switch {
	case !said:
		return fmt.Sprintf("the failure was handed on as final, and the policy retries %v", class),
			"set the flag by the class of the last failure; that the attempts are used up is for the count to say"
	case !p.safe(&last.Outcome):
		return fmt.Sprintf("the failure was handed on as retryable, and %s may have done its work (%v)", last.Tool, class),
			"say that the outcome is not known and what to look up; a second call may do it twice"
	}
	return fmt.Sprintf("the failure was handed on as retryable, and the policy does not retry %v", class),
		"set the flag by the class of the last failure, so that the model does not repeat a refused call"
}

// attempts is: the count is that of the attempts.
func (o Observation) attempts() Invariant {
	return Invariant{Name: "observation-attempts", Rule: "the attempt count that is handed on is the true one", Check: func(tr *trace.Trace) Verdict {
		sc := lookAt(tr)
		return each("observation-attempts", "", func(h *handed) (v Verdict) {
			value, _ := h.at(o.Attempts)
			said, ok := whole(value)
			if !ok || sc.unsureOf(h.a) {
				return v
			}
			v.Applied++
			if made := h.made(); !h.counts(said, made) {
				v.report(h.a, fmt.Sprintf("the count that was handed on is %d, there were %s", said, counted(made, "attempt")),
					"count executions, the first included, where they are made", lastAnswer(h.a), h.event)
			}
			return v
		}).Check(tr)
	}}
}

// made counts the attempts that began before the observation.
func (h *handed) made() int {
	n := 0
	for i := range h.a.Attempts {
		if h.a.Attempts[i].Event < h.event {
			n++
		}
	}
	return n
}

// counts reports whether n is the number of attempts, of all or of one of
// several series: an observation may speak of the tool that failed.
func (h *handed) counts(n, made int) bool {
	if n == made {
		return true
	}
	for i := range h.a.Series {
		if last := h.lastOf(&h.a.Series[i]); len(h.a.Series) > 1 && last != nil && last.N == n {
			return true
		}
	}
	return false
}

// short is: the whole is no longer than the limit.
func (o Observation) short() Invariant {
	return each("observation-short", fmt.Sprintf("what is handed on has at most %d bytes", o.Limit), func(h *handed) (v Verdict) {
		v.Applied++
		if n := len(h.tr.Events[h.event].Result); n > o.Limit {
			v.report(h.a, fmt.Sprintf("%d bytes were handed on, at most %d are allowed", n, o.Limit),
				"hand on the class and one sentence; the rest belongs into the log", h.event)
		}
		return v
	})
}

// telling is: the message says what went wrong.
func (o Observation) telling() Invariant {
	return each("observation-telling", "the message says what went wrong, not only a status", func(h *handed) (v Verdict) {
		value, _ := h.at(o.Message)
		message, ok := value.(string)
		if !ok || message == "" || digest(value) {
			return v
		}
		v.Applied++
		if bare(message) {
			v.report(h.a, fmt.Sprintf("the message that was handed on is a bare status: %q", message),
				"say in a sentence what failed and why, as far as it is known", h.event)
		}
		return v
	})
}

// hollow are words that say no more than that something failed.
var hollow = map[string]bool{
	"error": true, "err": true, "errors": true, "failed": true, "failure": true, "fail": true, "exception": true, "unknown": true,
	"http": true, "status": true, "code": true, "internal": true, "server": true, "request": true, "tool": true, "call": true,
	"an": true, "a": true, "the": true, "occurred": true, "something": true, "went": true, "wrong": true, "with": true, "null": true, "nil": true,
}

// bare reports whether the message has no word that tells anything.
func bare(message string) bool {
	for word := range strings.FieldsFuncSeq(strings.ToLower(message), func(r rune) bool { return !unicode.IsLetter(r) }) {
		if !hollow[word] {
			return false
		}
	}
	return true
}
