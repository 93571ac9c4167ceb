package matrix

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/internal/kept"
	"github.com/rehearse-go/rehearse/internal/near"
)

// accept takes the row's complaint for a known deviation where the adapter says
// so, and complains where there is none.
func (p *Played) accept(a *faultsim.Adapter, l *line) {
	key := faultsim.AcceptedRow + p.Row.Name
	reason, accepted := a.Accept[key]
	switch {
	case !accepted && p.Complaint == "" && len(l.rules) > 0:
		l.verdict = fmt.Sprintf("accepted: %s (%s)", l.rules[0], a.Accept[l.rules[0]])
	case !accepted:
	case p.Complaint == "":
		p.Complaint = fmt.Sprintf("Accept lists %q (%q), and it does not deviate: take it out", key, reason)
		l.verdict = "deviates no longer"
	default:
		p.Accepted, p.Complaint = p.Complaint, ""
		l.verdict = fmt.Sprintf("accepted: %s (%s)", p.Accepted, reason)
	}
}

// validateAccept reports accepted rows that are not there.
func validateAccept(a *faultsim.Adapter, rows []Row) error {
	var errs []error
	keys := make([]string, len(rows))
	for i := range rows {
		keys[i] = faultsim.AcceptedRow + rows[i].Name
	}
	for _, key := range slices.Sorted(maps.Keys(a.Accept)) {
		if strings.HasPrefix(key, faultsim.AcceptedRow) && !slices.Contains(keys, key) {
			errs = append(errs, fmt.Errorf("matrix: Accept names %q, and the matrix of %q has no such row: correct the name, or take it out%s", key, a.Name, near.Meant(key, keys)))
		}
	}
	return errors.Join(errs...)
}

// logIdle tells of accepted rules that no row has shown. They may show in drawn
// schedules, so that [faultsim.Check] decides whether they are still there.
func (g *grid) logIdle(t *testing.T, a *faultsim.Adapter, rows int) {
	t.Helper()
	if len(g.lines) < rows { // -run may have picked some
		return
	}
	for _, name := range slices.Sorted(maps.Keys(a.Accept)) {
		seen := slices.ContainsFunc(g.lines, func(l *line) bool { return slices.Contains(l.rules, name) })
		if !seen && !strings.HasPrefix(name, faultsim.AcceptedRow) && !strings.HasPrefix(name, faultsim.AcceptedSin) {
			t.Logf("no row shows the accepted deviation from %s; faultsim.Check fails where it no longer occurs", name)
		}
	}
}

// adopted are the rows of the accepted baseline; nil: there is none, or it is
// being written.
func adopted(t *testing.T) map[string]bool {
	if accepting() {
		return nil
	}
	content, err := os.ReadFile(kept.Path(baselineFile(t.Name())))
	if err != nil {
		return nil
	}
	b, err := parseBaseline(string(content))
	if err != nil {
		return nil // hold reports it
	}
	known := map[string]bool{}
	for _, r := range b.rows {
		known[strings.TrimPrefix(rowName(r), "row ")] = true
	}
	return known
}

// isNew reports whether a row of this package has come since the baseline was
// accepted. A row of the user's own is meant to fail from the start.
func (l *line) isNew(known map[string]bool) bool {
	return known != nil && l.group != own && !known[l.name]
}
