package matrix

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// Run runs [Rows], and the adapter's own rows after them, each as a subtest on
// a fresh subject in virtual time. A row fails where the attempts or the
// terminal are not those that the policy calls for, or where any rule that the
// policy implies is broken. A row that cannot apply is skipped with the
// reason. The grid of all rows is logged at the end.
func Run(t *testing.T, a faultsim.Adapter, own ...Row) {
	t.Helper()
	set, rows, err := prepare(t, a, own)
	if err != nil {
		t.Fatalf("%v", err)
	}
	g := grid{title: fmt.Sprintf("matrix of %q under policy %q", a.Name, a.Policy.ID)}
	for _, row := range rows {
		t.Run(row.Name, func(t *testing.T) {
			t.Helper()
			line := g.add(row)
			play(t, a, set, row, line)
		})
	}
	t.Logf("%s", g.String())
}

// A Played row is one row of the matrix as it went.
type Played struct {
	Row       Row
	Schedule  faultsim.Schedule
	Result    faultsim.Result // the trace and its findings
	Complaint string          // what is wrong with the row, in a line; empty: nothing
	Skipped   error           // why the row does not apply; nil: it was played
}

// Play is the engine of [Run]: it plays the same rows and returns what became
// of each instead of reporting it.
func Play(t *testing.T, a faultsim.Adapter, own ...Row) ([]Played, error) {
	set, rows, err := prepare(t, a, own)
	if err != nil {
		return nil, err
	}
	played := make([]Played, len(rows))
	for i, row := range rows {
		if played[i], err = playRow(t, a, set, row, &line{}); err != nil {
			return nil, fmt.Errorf("%s: %w", row.Name, err)
		}
	}
	return played, nil
}

// prepare returns what rows can build on, and the rows.
func prepare(t *testing.T, a faultsim.Adapter, own []Row) (Setting, []Row, error) {
	_, can, err := faultsim.Tools(t, a)
	if err != nil {
		return Setting{}, nil, err
	}
	rows := append(Rows(), own...)
	return Setting{Policy: a.Policy, Can: can}, rows, validate(rows)
}

// validate reports rows that cannot be run.
func validate(rows []Row) error {
	seen := map[string]bool{}
	var errs []error
	for i, r := range rows {
		switch {
		case r.Name == "":
			errs = append(errs, fmt.Errorf("matrix: row %d has no Name", i+1))
		case r.Schedule == nil:
			errs = append(errs, fmt.Errorf("matrix: row %q has no Schedule", r.Name))
		case seen[r.Name]:
			errs = append(errs, fmt.Errorf("matrix: two rows are named %q: give each its own name", r.Name))
		}
		seen[r.Name] = true
	}
	return errors.Join(errs...)
}

// play runs one row and reports it.
func play(t *testing.T, a faultsim.Adapter, set Setting, row Row, l *line) {
	t.Helper()
	p, err := playRow(t, a, set, row, l)
	if err == nil {
		err = p.Skipped
	}
	if err != nil {
		l.skip(t, err)
		return
	}
	if p.Complaint != "" {
		t.Errorf("%s: %s\n%s\nschedule:\n    %s\nthis row proves: %s", row.Name, p.Complaint,
			strings.TrimRight(invariants.Report(p.Result.Trace, p.Result.Findings), "\n"),
			strings.ReplaceAll(strings.TrimSpace(p.Schedule.String()), "\n", "\n    "), row.Proves)
	}
}

// playRow runs one row and fills in its line. The error says why it could not
// be played although it applies.
func playRow(t *testing.T, a faultsim.Adapter, set Setting, row Row, l *line) (p Played, err error) {
	p.Row = row
	if p.Schedule, err = row.Schedule(set); err != nil {
		return p.skip(err)
	}
	e, ends := faultsim.ExpectFirst(a.Policy, p.Schedule)
	if !ends {
		return p.skip(NotFor("nothing bounds a tool that hangs: the policy has no Attempt, and the row no deadline"))
	}
	p.Result = faultsim.Trial(t, a, p.Schedule)
	if p.Result.Err != nil {
		return p.skip(p.Result.Err)
	}
	l.judge(a, &e, &p.Result)
	p.Complaint = l.complaint(&p.Result)
	return p, nil
}

// skip files the reason where it says that the row does not apply.
func (p Played) skip(err error) (Played, error) {
	if _, ok := errors.AsType[*faultsim.UnfitError](err); ok {
		p.Skipped = err
		return p, nil
	}
	return p, err
}

// judge fills in what was seen.
func (l *line) judge(a faultsim.Adapter, e *faultsim.Expectation, r *faultsim.Result) {
	l.want = expectation(reconciles(r.Trace, *e))
	if actions := r.Trace.Actions(); len(actions) > 0 {
		act := &actions[0]
		l.made = made(act)
		l.seen = terminal(&a.Policy, act)
	}
	switch {
	case len(r.Findings) > 0:
		l.verdict = r.Findings[0].Invariant
	case !l.fits() && len(r.Accepted) == 0:
		l.verdict = "unexpected"
	case len(r.Accepted) > 0:
		l.verdict = "accepted: " + r.Accepted[0].Invariant
	default:
		l.verdict = "ok"
	}
}

// made counts the attempts of the main tool, which is the first one called.
func made(a *trace.Action) int {
	n := 0
	for i := range a.Attempts {
		if a.Attempts[i].Tool == a.Attempts[0].Tool {
			n++
		}
	}
	return n
}

// terminal is how the action ended: as the adapter reads its own error, else
// as its attempts amount to.
func terminal(p *invariants.Policy, a *trace.Action) trace.Reason {
	switch {
	case !a.Ended:
		return 0
	case a.Reason != 0 && a.Reason != trace.ReasonSuccess:
		return a.Reason
	case a.Error == "":
		if p.Terminal(a) == trace.ReasonDeclined {
			return trace.ReasonDeclined
		}
		return trace.ReasonSuccess
	}
	return p.Terminal(a)
}

func (l *line) fits() bool {
	return l.made >= l.want.Least && l.made <= l.want.Most && slices.Contains(l.want.Reasons, l.seen)
}

// complaint is what is wrong with the row; empty: nothing.
func (l *line) complaint(r *faultsim.Result) string {
	switch {
	case len(r.Findings) == 0 && (l.fits() || len(r.Accepted) > 0):
		return ""
	case l.made < l.want.Least || l.made > l.want.Most:
		return fmt.Sprintf("%s, the policy calls for %s", plural(l.made, "call"), l.want.numbers())
	case !slices.Contains(l.want.Reasons, l.seen):
		return fmt.Sprintf("ended as %s, the policy calls for %s", name(l.seen), l.want.terminals())
	}
	return "a rule is broken"
}
