package matrix

import (
	"strconv"
	"strings"
	"testing"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/trace"
)

// playServed plays a row of a tool under test. What is wanted of it is all in
// the rules of its contract.
func playServed(t *testing.T, a faultsim.Adapter, p Played, l *line) (Played, error) {
	p.Result = faultsim.Trial(t, a, p.Schedule)
	if p.Result.Err != nil {
		return p.skip(&a, p.Result.Err)
	}
	l.tell(p.Result.Trace, a.Repeats.Work)
	for i := range p.Result.Accepted {
		l.rules = append(l.rules, p.Result.Accepted[i].Invariant)
	}
	switch {
	case len(p.Result.Findings) > 0:
		l.verdict = p.Result.Findings[0].Invariant
		p.Complaint = "breaks " + l.verdict
	default:
		l.verdict = "ok"
	}
	p.accept(&a, l)
	return p, nil
}

// tell notes how the calls ended, and what the tool of that name did; empty:
// what all of them did.
func (l *line) tell(tr *trace.Trace, work string) {
	var ends []string
	actions := tr.Actions()
	for i := range actions {
		if a := &actions[i]; a.BeginAt >= 0 {
			ends = append(ends, ending(a))
			for _, e := range a.Effects {
				if work == "" || tr.Events[e].Tool == work {
					l.effects++
				}
			}
		}
	}
	l.story = strings.Join(ends, ", ")
}

func ending(a *trace.Action) string {
	switch {
	case !a.Ended:
		return "none"
	case a.Code != "":
		return a.Code
	case a.Error != "":
		return "failure"
	}
	return "success"
}

func (l *line) servedCells() []string {
	if l.skipped != "" {
		return []string{string(l.group), l.name, "-", "-", "skipped: " + l.skipped}
	}
	if l.verdict == broken || l.verdict == notRun {
		return []string{string(l.group), l.name, "-", "-", l.verdict}
	}
	return []string{string(l.group), l.name, l.story, strconv.Itoa(l.effects), l.verdict}
}
