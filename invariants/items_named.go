package invariants

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rehearse-go/rehearse/trace"
)

// ItemsNamed is: an action that leaves items of a batch undone names each of
// them, in its error, its result or what it hands on. "2 of 9 failed" is one flat
// error: nobody can act on the failures alone (article: retry-safe tools).
//
// It looks at items of which an answer told that they failed, and that were
// still failed when the action ended in its own time: who is cancelled or late
// owes no report. A request that failed as a whole has its own error.
func ItemsNamed() Invariant {
	return Invariant{Name: "items-named", Rule: "each item that failed is named", Check: func(tr *trace.Trace) Verdict {
		var v Verdict
		actions := tr.Actions()
		for i := range actions {
			v.add("items-named", unnamed(tr, &actions[i]))
		}
		return v
	}}
}

func unnamed(tr *trace.Trace, a *trace.Action) (v Verdict) {
	if !a.Ended || timeUp(a) {
		return v
	}
	order, failed := failedAlone(a)
	if len(failed) == 0 {
		return v
	}
	v.Applied++
	told := a.Error + "\n" + string(a.Result)
	for _, e := range a.Observed {
		told += "\n" + string(tr.Events[e].Result)
	}
	var silent []string
	for _, id := range order {
		if c, ok := failed[id]; ok && !names(told, id) {
			silent = append(silent, fmt.Sprintf("%s (%v)", id, c))
		}
	}
	if len(silent) > 0 {
		v.report(a, fmt.Sprintf("the action's end does not name %s", listed(silent)),
			"report two lists, what is done and what failed, each failure with its item and its reason", lastAnswer(a), a.EndEvent)
	}
	return v
}

// failedAlone lists the items that an answer told as failed and no later request
// asked for, in the order in which they were first told.
func failedAlone(a *trace.Action) (order []string, failed map[string]trace.Class) {
	for i := range a.Attempts {
		at := &a.Attempts[i]
		if at.Event > a.EndEvent {
			break
		}
		for _, it := range at.Items.List() {
			delete(failed, it.ID)
		}
		for _, it := range at.Outcome.Items.List() {
			if it.Class == trace.OK || it.Class == trace.Declined || it.Class == 0 {
				continue
			}
			if failed == nil {
				failed = map[string]trace.Class{}
			}
			failed[it.ID] = it.Class
			order = append(order, it.ID)
		}
	}
	return order, failed
}

// names reports whether the text holds the id as a word of its own.
func names(text, id string) bool {
	inWord := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	for at := 0; ; {
		i := strings.Index(text[at:], id)
		if i < 0 || id == "" {
			return false
		}
		before, _ := utf8.DecodeLastRuneInString(text[:at+i])
		behind, _ := utf8.DecodeRuneInString(text[at+i+len(id):])
		if !inWord(before) && !inWord(behind) {
			return true
		}
		at += i + len(id)
	}
}
