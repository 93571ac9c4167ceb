package invariants

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rehearse-go/rehearse/trace"
)

// PhysicalAttempts is: all physical attempts of one action, over all layers and
// tools, are at most max. [MaxAttempts] counts one series; this counts what the
// action costs in the end, wherever a layer below tries again (field case F050,
// rule 10: there is one owner of the retries). Where the layers are declared
// with trace.Layer, the finding shows how they multiply: "9 physical attempts =
// agent 3 × client 3". max below 1 is a rule that nothing can break.
func PhysicalAttempts(max int) Invariant {
	return rule("physical-attempts", fmt.Sprintf("at most %d physical attempts for one action, over all layers", max),
		func(_ *trace.Trace, a *trace.Action) (v Verdict) {
			if max < 1 || len(a.Attempts) == 0 {
				return v
			}
			v.Applied++
			if n := len(a.Attempts); n > max {
				v.report(a, fmt.Sprintf("%s, at most %d are allowed", product(a.Attempts), max),
					"let one layer own the retries and switch them off in the others; a knob that feeds two layers multiplies",
					events(a.Attempts[max:])...)
			}
			return v
		})
}

// Attributed is: where layers are declared, every attempt names its layer
// (field case F050: the trace attributes every physical request). It does not
// apply to a trace without layers.
func Attributed() Invariant {
	return Invariant{Name: "attributed", Rule: "every attempt names the layer that made it", Check: func(tr *trace.Trace) Verdict {
		var v Verdict
		if !layered(tr) {
			return v
		}
		actions := tr.Actions()
		for i := range actions {
			v.add("attributed", orphans(&actions[i]))
		}
		return v
	}}
}

// orphans finds the action's first attempt without a layer.
func orphans(a *trace.Action) (v Verdict) {
	for i := range a.Attempts {
		at := &a.Attempts[i]
		v.Applied++
		if at.Layer == "" {
			v.report(a, fmt.Sprintf("attempt %d of %s names no layer, and others do", at.N, at.Tool),
				"hand the caller's context down; a context made afresh loses the layer, and the cancel with it", at.Event)
			return v
		}
	}
	return v
}

func layered(tr *trace.Trace) bool {
	for at := range tr.Attempts() {
		if at.Layer != "" {
			return true
		}
	}
	return false
}

// product says how the attempts came about: the factors of the layers where
// all are of one path, else what each path of layers made.
func product(attempts []trace.Attempt) string {
	n := counted(len(attempts), "physical attempt")
	if words, whole := factors(attempts); words != "" {
		if whole == len(attempts) {
			return n + " = " + words
		}
		return n + " of " + words
	}
	var names []string
	made := map[string]int{}
	for i := range attempts {
		name := attempts[i].Tool
		if attempts[i].Layer != "" {
			name = strings.Join(layerNames(attempts[i].Layer), "/")
		}
		if made[name]++; made[name] == 1 {
			names = append(names, name)
		}
	}
	for i, name := range names {
		names[i] = name + " " + strconv.Itoa(made[name])
	}
	return n + " = " + strings.Join(names, " + ")
}

// factors is "agent 3 × client 3", with what one entry of each layer made at
// most, and the product; empty: the attempts are not of one path of layers.
func factors(attempts []trace.Attempt) (words string, whole int) {
	names := layerNames(attempts[0].Layer)
	if len(names) == 0 {
		return "", 0
	}
	entered := map[string]bool{}
	below := map[string]int{} // entries and attempts right under an entry
	most := make([]int, len(names)+1)
	for i := range attempts {
		if !slices.Equal(layerNames(attempts[i].Layer), names) {
			return "", 0
		}
		path := attempts[i].Layer
		below[path]++
		most[len(names)] = max(most[len(names)], below[path])
		for d := len(names) - 1; d >= 0 && !entered[path]; d-- {
			entered[path] = true
			path = path[:max(strings.LastIndex(path, "/"), 0)]
			below[path]++
			most[d] = max(most[d], below[path])
		}
	}
	list, whole := make([]string, 0, len(most)), 1
	for d, n := range most {
		whole *= n
		switch {
		case d > 0:
			list = append(list, fmt.Sprintf("%s %d", names[d-1], n))
		case n > 1: // the outermost layer was entered several times
			list = append(list, strconv.Itoa(n))
		}
	}
	return strings.Join(list, " × "), whole
}

// layerNames is the path without the numbers of the entries.
func layerNames(path string) []string {
	if path == "" {
		return nil
	}
	names := strings.Split(path, "/")
	for i := range names {
		names[i], _, _ = strings.Cut(names[i], "#")
	}
	return names
}
