package matrix

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/internal/rerun"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// Run runs [Rows], those of the groups that the adapter gives reason to, such as
// [Breakers] where it declares one, and the adapter's own rows after them, each
// as a subtest on a fresh subject in virtual time. A row fails where the attempts or the
// terminal are not those that the policy calls for, or where any rule that the
// policy implies is broken. A row that cannot apply is skipped with the
// reason. The grid of all rows is logged at the end.
//
// With -rehearse.accept, or REHEARSE_ACCEPT=1, the policy's content and calls,
// terminal and effects of each row are written to testdata/rehearse beside the
// test. From then on a difference fails, until it is accepted in the same way;
// a policy whose content changes needs a new ID. Rows that the file does not
// know are logged until they are adopted; one of this package that fails warns
// until then, so that a new version of it breaks no build.
//
// A known deviation is accepted by the adapter's Accept, by rule or by row. A
// row that is accepted fails once it deviates no longer.
//
// Where virtual time stands still in a row, the rows behind it are not run:
// its goroutines cannot be ended, and each row would take as long.
func Run(t *testing.T, a faultsim.Adapter, own ...Row) {
	t.Helper()
	wordOfAccept(t)
	set, rows, err := prepare(t, a, own)
	if err != nil {
		t.Fatalf("%v", err)
	}
	known := adopted(t)
	g := grid{title: fmt.Sprintf("matrix of %q under policy %q", a.Name, a.Policy.ID)}
	if a.Repeats != nil {
		g = grid{title: fmt.Sprintf("matrix of %q, called again", a.Name), served: true}
	}
	for _, row := range rows {
		if g.frozen {
			g.add(row).verdict = notRun
			continue
		}
		t.Run(row.Name, func(t *testing.T) {
			t.Helper()
			play(t, a, set, row, &g, known)
		})
	}
	t.Logf("%s", g.String())
	g.logIdle(t, &a, len(rows))
	if len(g.lines) == len(rows) && !t.Failed() { // -run may have picked some; what fails is not accepted
		hold(t, &a, &g)
	}
}

// A Played row is one row of the matrix as it went.
type Played struct {
	Row       Row
	Schedule  faultsim.Schedule
	Result    faultsim.Result // the trace and its findings
	Complaint string          // what is wrong with the row, in a line; empty: nothing
	Accepted  string          // what would be, but is accepted by the adapter's Accept
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
	names, can, err := faultsim.Tools(t, a)
	if err != nil {
		return Setting{}, nil, err
	}
	set := Setting{
		Policy: a.Policy, Can: can, Tools: names, Breaker: guardOf(&a, names), guards: a.Breakers, Pages: a.Pages,
		allowance: a.Allowance, allowed: a.Allowed, escalates: a.EscalatesAfter, recovers: a.RecoversWithin, Sinks: a.Sinks, cache: a.Cache, Repeats: a.Repeats, sessions: a.Session != nil,
		loop: a.Loop,
	}
	if a.Loop != nil {
		if set.cast, err = faultsim.CastOf(t, a); err != nil {
			return Setting{}, nil, err
		}
	}
	if set.batches() {
		set.Items = itemsOf(faultsim.Trial(t, a, faultsim.Schedule{}).Trace, names[0])
	}
	rows := append(set.rowsFor(&a), own...)
	return set, rows, errors.Join(validate(rows), validateAccept(&a, rows))
}

// guardOf is the breaker of the main tool; else one that guards another; nil:
// there is none.
func guardOf(a *faultsim.Adapter, tools []string) *invariants.Breaker {
	for i := range a.Breakers {
		if len(tools) > 0 && a.Breakers[i].Tool == tools[0] {
			return &a.Breakers[i]
		}
	}
	if len(a.Breakers) > 0 {
		return &a.Breakers[0]
	}
	return a.Breaker
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
func play(t *testing.T, a faultsim.Adapter, set Setting, row Row, g *grid, known map[string]bool) {
	t.Helper()
	l := g.add(row)
	p, err := playRow(t, a, set, row, l)
	if err == nil {
		err = p.Skipped
	}
	if err != nil {
		_, g.frozen = errors.AsType[*faultsim.FrozenError](err)
		l.skip(t, err)
		return
	}
	switch {
	case p.Complaint == "":
	case l.isNew(known):
		l.verdict = "new: " + p.Complaint
		t.Logf("warning: a row that the baseline has not adopted fails, and will fail the test when it is adopted\n%s", p.report(t))
	default:
		t.Errorf("%s", p.report(t))
	}
}

// report says what is wrong with the row.
func (p *Played) report(t *testing.T) string {
	return fmt.Sprintf("%s: %s\n%s\nschedule:\n    %s\n%srun it again: %s", p.Row.Name, p.Complaint,
		strings.TrimRight(invariants.Report(p.Result.Trace, p.Result.Findings), "\n"),
		strings.ReplaceAll(strings.TrimSpace(p.Schedule.String()), "\n", "\n    "), p.Row.proves(), rerun.Command(t.Name()))
}

// proves is the row's sentence as a line of a report.
func (r *Row) proves() string {
	if r.Proves == "" {
		return ""
	}
	return "this row proves: " + r.Proves + "\n"
}

// playRow runs one row and fills in its line. The error says why it could not
// be played although it applies.
func playRow(t *testing.T, a faultsim.Adapter, set Setting, row Row, l *line) (p Played, err error) {
	p.Row = row
	if p.Schedule, err = row.make(set); err != nil {
		return p.skip(&a, err)
	}
	if set.Repeats != nil {
		return playServed(t, a, p, l)
	}
	e, ends := set.wants(&row, p.Schedule)
	if !ends {
		return p.skip(&a, NotFor("nothing bounds a tool that hangs: the policy has no Attempt, and the row no deadline"))
	}
	p.Result = faultsim.Trial(t, a, p.Schedule)
	if p.Result.Err != nil {
		return p.skip(&a, p.Result.Err)
	}
	l.inAll = row.InAll != nil
	if l.inAll && served(p.Result.Trace) {
		e = faultsim.Expectation{Most: anything} // what a cache serves is no call, and the rules alone hold the row
	}
	l.judge(set, &e, &p.Result)
	p.Complaint = l.complaint(&p.Result)
	p.accept(&a, l)
	return p, nil
}

// served reports whether an action of the trace got an answer without a call.
func served(tr *trace.Trace) bool {
	return slices.ContainsFunc(tr.Events, func(e trace.Event) bool { return e.Kind == trace.KindHit })
}

// make calls Schedule, whose panic is an error of the row, and looks for tools
// that are not there: such a row would be skipped for ever.
func (r *Row) make(set Setting) (s faultsim.Schedule, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("matrix: Schedule of row %q panicked: %v", r.Name, p)
		}
	}()
	if s, err = r.Schedule(set); err != nil {
		return s, err
	}
	for _, name := range speaksOf(&s) {
		if !set.knows(name) {
			return s, fmt.Errorf("matrix: row %q speaks of tool %q, the stage has %q: correct the name, or return NotFor", r.Name, name, set.Tools)
		}
	}
	return s, nil
}

// skip files the reason where it says that the row does not apply.
func (p Played) skip(a *faultsim.Adapter, err error) (Played, error) {
	if _, ok := errors.AsType[*faultsim.UnfitError](err); !ok {
		return p, err
	}
	if key := faultsim.AcceptedRow + p.Row.Name; a.Accept[key] != "" {
		return p, fmt.Errorf("Accept lists %q, which does not apply (%w): take it out", key, errors.New(err.Error()))
	}
	p.Skipped = err
	return p, nil
}
