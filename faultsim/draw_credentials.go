package faultsim

import (
	"slices"
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// credentials lets, every second time, a tool refuse the credentials of an
// attempt, twice in a row now and then; or all of them expire at an instant.
// Actions that run at once have one credential, and one refusal hits them all.
func (d *drawer) credentials(t *source, s *Schedule) {
	if !coin(t) {
		return
	}
	if oneIn(t, 2) {
		s.Expiries = []time.Duration{d.moment(t)}
		return
	}
	refusal := Fault{Class: trace.Unauthenticated}
	tools := slices.DeleteFunc(slices.Clone(d.tools), func(tool drawnTool) bool { return !tool.can(&refusal) })
	if len(tools) == 0 {
		return
	}
	name := tools[below(t, len(tools))].name
	plan := &s.Actions[below(t, len(s.Actions))]
	faults := plan.Faults[name]
	if len(faults) > longestGarnished {
		return
	}
	if coin(t) {
		refusal.Latency = time.Duration(1+below(t, 256))*time.Millisecond + 70
	}
	plan.Faults[name] = slices.Insert(faults, below(t, len(faults)+1), slices.Repeat([]Fault{refusal}, 1+below(t, 2))...)
}
