package faultsim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-go/rehearse/internal/near"
)

// uncalled lists the doubles for which the schedule plans faults and which the trial
// has never called. Those that the contract forbids do not count, nor those of which
// the adapter says that no trial calls them; and an action that is cancelled before it
// begins calls nothing.
func (x *trial) uncalled() (names []string) {
	if slices.ContainsFunc(x.s.Actions, func(p Plan) bool { return p.Cancel < 0 }) {
		return nil
	}
	for _, t := range x.stage.everybody() {
		_, unreachable := x.a.Unreachable[toolLabel+t.name]
		if t.calls == 0 && x.s.planned(t.name, x.stage.leads(t)) != 0 && !unreachable && !x.a.barred(t.name) {
			names = append(names, t.name)
		}
	}
	return names
}

// everybody lists the doubles on the stage, the main tool first.
func (s *Stage) everybody() []*tool { return slices.Concat(s.tools, s.models, s.approvers, s.sinks) }

// leads reports whether the tool is the main one.
func (s *Stage) leads(t *tool) bool { return len(s.tools) > 0 && s.tools[0] == t }

// unmet words a schedule that has no say in what the trial does.
func (x *trial) unmet(uncalled []string) string {
	var called []string
	for _, t := range x.stage.everybody() {
		if t.calls > 0 {
			called = append(called, t.name)
		}
	}
	was := "nothing was called"
	if len(called) > 0 {
		was = "called were " + strings.Join(quoted(called), ", ")
	}
	return fmt.Sprintf("the schedule plans faults for %s, which the trial never called; %s%s\n    advice: plan them for the tools that are called, or take them out; of a tool that no trial calls say why in Adapter.Unreachable",
		strings.Join(quoted(uncalled), ", "), was, near.Meant(uncalled[0], called))
}
