package matrix

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rehearse-go/rehearse/internal/kept"
)

// A change is one row then and now.
type change struct {
	row    rateLine // which row; its numbers are not used
	than   string   // what it is compared with
	before *Rate    // nil: the row is new
	now    *Rate    // nil: the row is gone
}

// verdicts of a change.
const (
	regressed = "regressed"
	improved  = "improved"
	notSure   = "no certain difference"
	isNew     = "new"
	isGone    = "gone"
)

func (c *change) verdict(confidence float64) string {
	switch {
	case c.before == nil:
		return isNew
	case c.now == nil:
		return isGone
	}
	switch i := c.now.Since(*c.before, confidence); {
	case i.High < 0:
		return regressed
	case i.Low > 0:
		return improved
	case *c.now == *c.before:
		return "as before"
	}
	return notSure
}

// whole reports whether all cells were played, so that they can be compared.
func (p *player) whole() bool { return len(p.sampled.Cells) == len(p.Scenarios)*len(p.Variants) }

// compare holds the samples against the saved ones, and variants against those
// that they replace, and writes them down where that is asked for.
func (p *player) compare(t *testing.T) {
	t.Helper()
	failed := t.Failed() // what fails is not accepted, but compared all the same
	path := resultsFile(t.Name())
	saved, err := readResults(path)
	if err != nil {
		t.Errorf("%s: %v\n    correct the line, or delete the file and accept the samples anew with -rehearse.accept", path, err)
		return
	}
	now := p.results()
	if err := p.validateReplaced(saved, path); err != nil {
		t.Errorf("%v", err)
		return
	}
	changes := p.changes(saved, &now)
	if len(changes) > 0 {
		t.Logf("%s", changeTable(changes, p.Confidence))
	}
	if p.silent(t, saved, &now) {
		return
	}
	p.tell(t, path, saved, &now, changes)
	if accepting() && !failed && !t.Failed() {
		writeResults(t, path, &now)
	}
}

// readResults reads the saved results; nil: there are none.
func readResults(path string) (*results, error) {
	content, err := os.ReadFile(kept.Path(path))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, kept.Brief(err)
	}
	r, err := parseResults(string(content))
	return &r, err
}

func writeResults(t *testing.T, path string, r *results) {
	t.Helper()
	if err := kept.Save(path, r.String()); err != nil {
		t.Errorf("the results could not be written: %v", err)
		return
	}
	t.Logf("accepted as %s", path)
}

// validateReplaced reports a Replaces that names nothing: it would be compared with
// nothing for ever.
func (p *player) validateReplaced(saved *results, path string) error {
	var errs []error
	for i := range p.Variants {
		v := &p.Variants[i]
		if v.Replaces == "" || p.has(v.Replaces) || saved != nil && saved.variant(v.Replaces) != nil {
			continue
		}
		errs = append(errs, fmt.Errorf("matrix: variant %q Replaces %q, which is neither a variant of this run nor in %s: correct the name, or take it out", v.Name, v.Replaces, path))
	}
	return errors.Join(errs...)
}

func (p *player) has(variant string) bool {
	for i := range p.Variants {
		if p.Variants[i].Name == variant {
			return true
		}
	}
	return false
}

// changes lists the rows of all comparisons: with each variant's own saved results,
// and with those of the variant that it replaces.
func (p *player) changes(saved, now *results) (list []change) {
	replaced := map[string]bool{}
	for i := range p.Variants {
		v := &p.Variants[i]
		if saved != nil && (saved.variant(v.Name) != nil || v.Replaces == "") {
			list = append(list, changesOf(saved, v.Name, now, v.Name, "saved")...)
		}
		if v.Replaces != "" {
			reference, where := now, "this run"
			if !p.has(v.Replaces) {
				reference, where = saved, "saved"
				replaced[v.Replaces] = true
			}
			list = append(list, changesOf(reference, v.Replaces, now, v.Name, where)...)
		}
	}
	if saved == nil {
		return list
	}
	for _, v := range saved.variants {
		if !p.has(v.Variant) && !replaced[v.Variant] {
			list = append(list, changesOf(saved, v.Variant, now, v.Variant, "saved")...)
		}
	}
	return list
}

// changesOf compares the rows of one variant with those of another, or its own.
func changesOf(then *results, before string, now *results, variant, where string) (list []change) {
	than := where
	if v := then.variant(before); v != nil {
		than = label(v.Variant, v.Version) + ", " + where
	}
	for _, l := range now.rates {
		if l.Variant != variant {
			continue
		}
		c := change{row: l, than: than, now: new(l.rate())}
		if o := then.row(l.Scenario, before, l.Check); o != nil {
			c.before = new(o.rate())
		}
		list = append(list, c)
	}
	for _, o := range then.rates {
		if o.Variant == before && now.row(o.Scenario, variant, o.Check) == nil {
			gone := o
			gone.Variant = variant
			list = append(list, change{row: gone, than: than, before: new(o.rate())})
		}
	}
	return list
}

// changeTable is the table of a comparison.
func changeTable(changes []change, confidence float64) string {
	cells := [][]string{{"scenario", "variant", "check", "compared with", "before", "now", "points", fmt.Sprintf("%s %% interval", percent(confidence)), "verdict"}}
	for i := range changes {
		cells = append(cells, changes[i].cells(confidence))
	}
	return "samples compared\n" + aligned(cells)
}

func (c *change) cells(confidence float64) []string {
	before, now, points, interval := "-", "-", "-", "-"
	if c.before != nil {
		before = c.before.String()
	}
	if c.now != nil {
		now = c.now.String()
	}
	if c.before != nil && c.now != nil {
		points = percent(c.now.Share() - c.before.Share())
		interval = c.now.Since(*c.before, confidence).span(" to ")
	}
	return []string{c.row.Scenario, c.row.Variant, c.row.Check, c.than, before, now, points, interval, c.verdict(confidence)}
}

// silent reports a policy whose content has changed under its ID, which nobody can
// accept: a rollout of a model must not change how a payment is repeated.
func (p *player) silent(t *testing.T, saved, now *results) bool {
	t.Helper()
	if saved == nil {
		return false
	}
	changed := false
	for i := range now.variants {
		v := &now.variants[i]
		old := p.savedOf(i, saved)
		id := p.contracts[i].Policy.ID
		if old != nil && !v.declaresAs(old) && sameID(string(old.Policy), id) {
			changed = true
			t.Errorf("policy-changed: what variant %q declares has changed under the same policy ID %q\n    advice: give the policy a new ID, such as the next version\n%s",
				v.Variant, id, difference(old.declared(), v.declared()))
		}
	}
	return changed
}

// savedOf is the saved line of a variant, else of the one that it replaces there;
// nil: there is none.
func (p *player) savedOf(variant int, saved *results) *variantLine {
	v := &p.Variants[variant]
	if own := saved.variant(v.Name); own != nil || v.Replaces == "" || p.has(v.Replaces) {
		return own
	}
	return saved.variant(v.Replaces)
}

func (v *variantLine) declaresAs(o *variantLine) bool {
	return same(v.Policy, o.Policy) && same(v.Beside, o.Beside)
}

// declared is the lines of what the variant promises.
func (v *variantLine) declared() []string {
	b := baseline{policy: string(v.Policy), beside: string(v.Beside)}
	return b.declared()
}

// tell reports what a reviewer has to accept.
func (p *player) tell(t *testing.T, path string, saved, now *results, changes []change) {
	t.Helper()
	if saved != nil {
		p.tellDeclared(t, path, saved, now)
	}
	for i := range changes {
		c := &changes[i]
		what := c.complaint(&p.sampled)
		switch {
		case what == "":
		case accepting() && !strings.HasSuffix(c.than, "this run"):
			t.Logf("accepted: %s", what)
		default:
			t.Errorf("%s", what)
		}
	}
}

// tellDeclared reports variants that are held to another contract than they were.
func (p *player) tellDeclared(t *testing.T, path string, saved, now *results) {
	t.Helper()
	for i := range now.variants {
		v := &now.variants[i]
		if old := p.savedOf(i, saved); old != nil && !v.declaresAs(old) && !accepting() {
			t.Errorf("baseline-changed: variant %q is held to another contract than the one that was accepted in %s\n    advice: read the difference; accept it with -rehearse.accept, or REHEARSE_ACCEPT=1\n%s",
				v.Variant, path, difference(old.declared(), v.declared()))
		}
	}
}

// complaint is what is wrong with the row; empty: nothing.
func (c *change) complaint(all *Sampled) string {
	row := fmt.Sprintf("%s: %s in %s", c.row.Check, c.row.Variant, c.row.Scenario)
	switch c.verdict(all.Confidence) {
	case regressed:
		i := c.now.Since(*c.before, all.Confidence)
		text := fmt.Sprintf("regressed: %s: before %s (%s), now %s; with %s %% confidence it has fallen by %s points",
			row, c.before, c.than, c.now, percent(all.Confidence), Interval{-i.High, -i.Low}.span(" to "))
		if first := all.failing(c.row.Scenario, c.row.Variant, c.row.Check); first != "" {
			text += "\n    the first that does not pass is " + first
		}
		return text + "\n    advice: " + c.accept()
	case isGone:
		return fmt.Sprintf("gone: %s: before %s (%s), and it is not sampled any more\n    advice: what is gone finds nothing; %s", row, c.before, c.than, c.accept())
	}
	return ""
}

// accept says how the row could be left as it is.
func (c *change) accept() string {
	if strings.HasSuffix(c.than, "this run") {
		return "without Replaces the two variants are not compared"
	}
	return "where it is meant, accept it with -rehearse.accept, or REHEARSE_ACCEPT=1"
}
