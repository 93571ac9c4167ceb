package invariants

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-go/rehearse/trace"
)

// TestingT is the part of testing.TB that this package uses. *testing.T, B, F
// and *rapid.T have it.
type TestingT interface {
	Helper()
	Errorf(format string, args ...any)
}

// Verify checks the trace and reports all that is broken in one call of
// t.Errorf, with the timeline under it. The first line of the text is useful
// alone. It reports an invariant that does not apply to the trace as well,
// because such a check proves nothing; [WhereItApplies] gives leave.
//
// A nil or empty trace, no invariants at all, or an invariant without a check are
// reported too: a test that checks nothing must not pass.
func Verify(t TestingT, tr *trace.Trace, invs ...Invariant) {
	t.Helper()
	if found := verify(tr, invs); len(found) > 0 {
		t.Errorf("%s", Report(tr, found))
	}
}

func verify(tr *trace.Trace, invs []Invariant) []Finding {
	switch {
	case tr == nil:
		return broken("verify", "there is no trace: nothing was recorded",
			"hand over what Recorder.Trace or the double's Trace returns, after the action has run").Findings
	case len(tr.Events) == 0:
		return broken("verify", "the trace is empty: nothing was recorded",
			"let the code under test reach its tools through the recorder or the double whose trace this is").Findings
	case len(invs) == 0:
		return broken("verify", "there are no invariants, so nothing was checked",
			"name the rules that the trace must keep, such as Policy.Invariants()...").Findings
	}
	var found []Finding
	if lost := tr.Ambiguous(); len(lost) > 0 && noAttempts(tr) {
		found = append(found, Finding{Invariant: "verify", Events: lost,
			Text:   "each of the calls could belong to several actions, so none was judged",
			Advice: "pass the context of Do or Begin on to the tools, or send an idempotency key",
		})
	}
	for i := range invs {
		v := invs[i].look(tr)
		if v.Applied == 0 && len(v.Findings) == 0 && !invs[i].idles {
			found = append(found, idle(&invs[i]))
		}
		found = append(found, v.Findings...)
	}
	return found
}

func noAttempts(tr *trace.Trace) bool {
	for range tr.Attempts() {
		return false
	}
	return true
}

// idle is the finding of a check that never applied.
func idle(inv *Invariant) Finding {
	return Finding{
		Invariant: inv.Name,
		Text:      "never applied: the trace has nothing that could break it",
		Advice:    "script the situation that the rule is about, leave the invariant out, or say WhereItApplies",
	}
}

// Report is the text of findings over one trace: a paragraph for each finding,
// then the timeline with the guilty events marked. A finding that is shown by
// the same events as one before it says the same in other words, and gets a
// line below that one.
func Report(tr *trace.Trace, found []Finding) string {
	var b strings.Builder
	var guilty []int
	for i := range found {
		if echoes(found[:i], &found[i]) {
			continue
		}
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(found[i].String())
		for j := i + 1; j < len(found); j++ {
			if same(&found[i], &found[j]) {
				fmt.Fprintf(&b, "    also %s: %s\n", found[j].Invariant, found[j].Text)
			}
		}
		guilty = append(guilty, found[i].Events...)
	}
	if tr != nil {
		fmt.Fprintf(&b, "\n%s", tr.Timeline(guilty...))
	}
	return b.String()
}

// echoes reports whether one of the findings before is shown by the same events.
func echoes(before []Finding, f *Finding) bool {
	return slices.ContainsFunc(before, func(b Finding) bool { return same(&b, f) })
}

func same(a, b *Finding) bool {
	return a.Action == b.Action && len(a.Events) > 0 && slices.Equal(a.Events, b.Events)
}

// String is the finding in two lines, what broke and the advice, and below them
// what shows more.
func (f Finding) String() string {
	where := ""
	if f.Action != "" {
		where = oneLine(f.Action) + ": "
	}
	s := fmt.Sprintf("%s: %s%s\n", f.Invariant, where, f.Text)
	if f.Advice != "" {
		s += "    advice: " + f.Advice + "\n"
	}
	for line := range strings.Lines(f.Detail) {
		s += "    " + line
	}
	return s
}
