package matrix

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/internal/kept"
	"github.com/rehearse-go/rehearse/internal/setting"
)

var acceptSetting = setting.Define("accept", "write the matrix's baselines, and the rates of samples, anew: what has changed, or has certainly fallen, fails until it is accepted",
	setting.YesOrNo)

const baselineHeader = "rehearse baseline 1"

// A baseline is what the matrix of one adapter came to when somebody accepted
// it: the content of the policy and of what is declared beside it, and calls,
// terminal and effects of each row. It is a text that a reviewer reads in a diff.
//
//	rehearse baseline 1
//	policy {"id":"weather/v1",…}
//	beside {"breakers":[…]}
//	row immediate-success: 1 call, success, 1 effect
type baseline struct {
	id     string // of the policy
	policy string // its content
	beside string // that of the rest of the contract; empty: there is none
	rows   []string
}

// baselineFile is where the baseline of a test is kept.
func baselineFile(test string) string { return filepath.Join(kept.Dir(test), "matrix.baseline") }

// take makes the baseline of a grid. Rows that did not apply are in it, so that
// a row which applies no longer is seen.
func take(a *faultsim.Adapter, g *grid) baseline {
	b := baseline{id: a.Policy.ID, policy: string(a.Policy.Content())}
	if r := a.Repeats; r != nil {
		b = baseline{id: r.ID, policy: string(r.Content())}
	}
	c := a.Contract()
	b.beside = string(c.Content())
	for _, l := range g.lines {
		b.rows = append(b.rows, l.baseline())
	}
	return b
}

// baseline is the row's line. Where jitter leaves a choice, what is wanted
// stands in place of what was seen.
func (l *line) baseline() string {
	if l.skipped != "" {
		return fmt.Sprintf("row %s: does not apply", l.name)
	}
	if l.story != "" {
		return fmt.Sprintf("row %s: %s, %s", l.name, l.story, plural(l.effects, "effect"))
	}
	if l.want.Least != l.want.Most || len(l.want.Reasons) > 1 {
		return fmt.Sprintf("row %s: %s calls, %s", l.name, l.want.numbers(), l.want.terminals())
	}
	return fmt.Sprintf("row %s: %s, %s, %s", l.name, plural(l.made, "call"), name(l.seen), plural(l.effects, "effect"))
}

func (b *baseline) String() string {
	return fmt.Sprintf("%s\n%s\n", baselineHeader, strings.Join(append(b.declared(), b.rows...), "\n"))
}

// declared is the lines of what the code promises.
func (b *baseline) declared() []string {
	list := []string{"policy " + b.policy}
	if b.beside != "" {
		list = append(list, "beside "+b.beside)
	}
	return list
}

// parseBaseline reads what String writes.
func parseBaseline(text string) (b baseline, err error) {
	lines := strings.Split(strings.TrimRight(strings.ReplaceAll(text, "\r\n", "\n"), "\n"), "\n")
	if lines[0] != baselineHeader {
		return b, fmt.Errorf("line 1 is %q, not %q: this is another file or another version", lines[0], baselineHeader)
	}
	if len(lines) < 2 || !strings.HasPrefix(lines[1], "policy ") {
		return b, errors.New("line 2 does not begin with \"policy \"")
	}
	b.policy = strings.TrimPrefix(lines[1], "policy ")
	rest := lines[2:]
	if len(rest) > 0 && strings.HasPrefix(rest[0], "beside ") {
		b.beside, rest = strings.TrimPrefix(rest[0], "beside "), rest[1:]
	}
	for i, l := range rest {
		if !strings.HasPrefix(l, "row ") || !strings.Contains(l, ": ") {
			return b, fmt.Errorf("line %d is %q: it should read row NAME: …", i+1+len(lines)-len(rest), l)
		}
		b.rows = append(b.rows, l)
	}
	return b, nil
}

// accepting reports whether what the matrix comes to is to be written down. A word
// that does not say is refused by wordOfAccept.
func accepting() bool {
	yes, _, err := acceptSetting.Read()
	return yes && err == nil
}

// wordOfAccept ends the test before anything is played for a word that does not say
// whether to accept.
func wordOfAccept(t *testing.T) {
	t.Helper()
	if _, _, err := acceptSetting.Read(); err != nil {
		t.Fatalf("%v", err)
	}
}

// hold compares the grid with the accepted baseline, or accepts it where that
// is asked for. Without a baseline file there is nothing to hold it against.
func hold(t *testing.T, a *faultsim.Adapter, g *grid) {
	t.Helper()
	now := take(a, g)
	path := baselineFile(t.Name())
	content, err := os.ReadFile(kept.Path(path))
	accept := accepting()
	switch {
	case errors.Is(err, os.ErrNotExist) && !accept:
		return
	case errors.Is(err, os.ErrNotExist):
		write(t, path, &now)
		return
	case err != nil:
		t.Errorf("%s: %v", path, err)
		return
	}
	before, err := parseBaseline(string(content))
	if err != nil {
		t.Errorf("%s: %v\n    correct the line, or delete the file and accept the matrix anew with -rehearse.accept", path, err)
		return
	}
	compare(t, path, &before, &now, accept)
}

// compare reports what differs from the accepted baseline. A policy whose
// content changes needs another ID, whoever accepts it: traces and reviews
// tell policies apart by it.
func compare(t *testing.T, path string, before, now *baseline, accept bool) {
	t.Helper()
	what := ""
	switch {
	case before.policy != now.policy:
		what = "the policy's content"
	case before.beside != now.beside:
		what = "what is declared beside the policy"
	}
	if what != "" && sameID(before.policy, now.id) {
		t.Errorf("policy-changed: %s has changed under the same ID %q\n    advice: give the policy a new ID, such as the next version\n%s",
			what, now.id, difference(before.declared(), now.declared()))
		return
	}
	text, fresh := changes(before, now)
	switch {
	case accept:
		write(t, path, now)
	case text != "":
		t.Errorf("baseline-changed: the matrix is not what was accepted in %s\n    advice: read the difference; accept it with -rehearse.accept, or REHEARSE_ACCEPT=1\n%s", path, text)
	}
	if len(fresh) > 0 && !accept {
		t.Logf("rows that no baseline has yet, adopted with -rehearse.accept:\n    %s", strings.Join(fresh, "\n    "))
	}
}

// changes is the difference, and the rows that are new.
func changes(before, now *baseline) (text string, fresh []string) {
	old := append(before.declared(), before.rows...)
	var rest []string
	known := map[string]bool{}
	for _, r := range before.rows {
		known[rowName(r)] = true
	}
	for _, r := range now.rows {
		if known[rowName(r)] {
			rest = append(rest, r)
		} else {
			fresh = append(fresh, r)
		}
	}
	return difference(old, append(now.declared(), rest...)), fresh
}

// difference lists the lines that are in one list only, in their order.
func difference(old, now []string) string {
	var b strings.Builder
	only := func(mark string, lines, others []string) {
		in := map[string]bool{}
		for _, l := range others {
			in[l] = true
		}
		for _, l := range lines {
			if !in[l] {
				fmt.Fprintf(&b, "    %s %s\n", mark, l)
			}
		}
	}
	only("-", old, now)
	only("+", now, old)
	return strings.TrimRight(b.String(), "\n")
}

func rowName(row string) string {
	name, _, _ := strings.Cut(row, ":")
	return name
}

// sameID reports whether the policy's content has the ID.
func sameID(content, id string) bool {
	return strings.Contains(content, fmt.Sprintf(`"id":%q`, id)) || id == "" && !strings.Contains(content, `"id":`)
}

func write(t *testing.T, path string, b *baseline) {
	t.Helper()
	if err := kept.Save(path, b.String()); err != nil {
		t.Errorf("the baseline could not be written: %v", err)
		return
	}
	t.Logf("accepted as %s", path)
}
