package invariants

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rehearse-go/rehearse/trace"
)

// structured is: every failure is handed on, as an object with the fields.
func (o Observation) structured() Invariant {
	const name = "observation-structured"
	fields := each(name, "", o.fields)
	return Invariant{Name: name, Rule: "a failure is handed on with the fields that are promised", Check: func(tr *trace.Trace) Verdict {
		v := fields.Check(tr)
		if strays(tr) {
			return v // it may be what one of the actions handed on
		}
		actions := tr.Actions()
		for i := range actions {
			v.add(name, silent(&actions[i]))
		}
		return v
	}}
}

// strays reports whether an observation could be of several actions.
func strays(tr *trace.Trace) bool {
	return slices.ContainsFunc(tr.Events, func(e trace.Event) bool { return e.Kind == trace.KindObservation && e.Ambiguous })
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
