package matrix

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/trace"
)

// A grid is the table of all rows.
type grid struct {
	title  string
	lines  []*line
	frozen bool // virtual time stands still in the latest row
	served bool // the code under test is the tool
}

// Verdicts of rows without an outcome.
const (
	broken = "could not run"
	notRun = "not run"
)

// A line is one row's outcome.
type line struct {
	group   Group
	name    string
	want    expectation
	inAll   bool // what is wanted and made is of all actions together
	made    int
	effects int
	seen    trace.Reason
	amounts trace.Reason // what the attempts come to, where they failed
	verdict string
	skipped string   // the reason
	rules   []string // whose findings in this row the adapter accepts
	story   string   // of a tool under test: how its calls ended
}

func (g *grid) add(row Row) *line {
	l := &line{group: row.Group.orOwn(), name: row.Name}
	g.lines = append(g.lines, l)
	return l
}

// skip ends the row's subtest: as skipped where the row does not apply, as
// failed for any other error.
func (l *line) skip(t *testing.T, err error) {
	t.Helper()
	if _, ok := errors.AsType[*faultsim.UnfitError](err); !ok {
		l.verdict = broken
		t.Fatalf("%v", err)
	}
	l.skipped = err.Error()
	t.Skipf("does not apply: %v", err)
}

// String is the table, its columns aligned.
func (g *grid) String() string {
	cells := [][]string{{"group", "row", "calls wanted", "made", "terminal wanted", "seen", "verdict"}}
	if g.served {
		cells = [][]string{{"group", "row", "calls end as", "effects", "verdict"}}
	}
	for _, l := range g.lines {
		cells = append(cells, l.cells(g.served))
	}
	return g.title + "\n" + aligned(cells)
}

func (l *line) cells(served bool) []string {
	if served {
		return l.servedCells()
	}
	if l.skipped != "" {
		return []string{string(l.group), l.name, "-", "-", "-", "-", "skipped: " + l.skipped}
	}
	if l.verdict == broken || l.verdict == notRun {
		return []string{string(l.group), l.name, "-", "-", "-", "-", l.verdict}
	}
	return []string{string(l.group), l.name, l.want.numbers(), strconv.Itoa(l.made), l.want.terminals(), name(l.seen), l.verdict}
}

// expectation words a faultsim.Expectation.
type expectation faultsim.Expectation

// anything is the greatest number of an expectation that everything fits.
const anything = math.MaxInt

func (e expectation) numbers() string {
	if e.Most == anything {
		return "any"
	}
	if e.Least == e.Most {
		return strconv.Itoa(e.Most)
	}
	return fmt.Sprintf("%d–%d", e.Least, e.Most)
}

func (e expectation) terminals() string {
	if e.Most == anything {
		return "any"
	}
	list := make([]string, len(e.Reasons))
	for i, r := range e.Reasons {
		list[i] = r.String()
	}
	return strings.Join(list, " or ")
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// name is the reason's name; a program that has not ended has none.
func name(r trace.Reason) string {
	if r == 0 {
		return "none"
	}
	return r.String()
}
