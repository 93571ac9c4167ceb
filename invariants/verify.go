package invariants

import (
	"fmt"
	"strings"

	"github.com/rehearse-go/rehearse/trace"
)

// TestingT is the part of testing.TB that this package uses. *testing.T, B, F
// and *rapid.T have it.
type TestingT interface {
	Helper()
	Errorf(format string, args ...any)
}

// Verify checks the trace and reports each broken rule through t, with the
// timeline under the last one. It reports an invariant that does not apply to
// the trace as well, because such a check proves nothing.
func Verify(t TestingT, tr *trace.Trace, invs ...Invariant) {
	t.Helper()
	var found []Finding
	for i := range invs {
		v := invs[i].Check(tr)
		if v.Applied == 0 {
			found = append(found, idle(&invs[i]))
		}
		found = append(found, v.Findings...)
	}
	if len(found) > 0 {
		t.Errorf("%s", Report(tr, found))
	}
}

// idle is the finding of a check that never applied.
func idle(inv *Invariant) Finding {
	return Finding{
		Invariant: inv.Name,
		Text:      "never applied: the trace has nothing that could break it",
		Advice:    "script the situation that the rule is about, or leave the invariant out",
	}
}

// Report is the text of findings over one trace: a paragraph for each finding,
// then the timeline with the guilty events marked.
func Report(tr *trace.Trace, found []Finding) string {
	var b strings.Builder
	var guilty []int
	for i := range found {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(found[i].String())
		guilty = append(guilty, found[i].Events...)
	}
	fmt.Fprintf(&b, "\n%s", tr.Timeline(guilty...))
	return b.String()
}

// String is the finding in two lines: what broke, and the advice.
func (f Finding) String() string {
	where := ""
	if f.Action != "" {
		where = f.Action + ": "
	}
	s := fmt.Sprintf("%s: %s%s\n", f.Invariant, where, f.Text)
	if f.Advice != "" {
		s += "    advice: " + f.Advice + "\n"
	}
	return s
}
