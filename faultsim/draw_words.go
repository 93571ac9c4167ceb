package faultsim

import (
	"github.com/rehearse-go/rehearse/trace"
	"pgregory.net/rapid"
)

// garnish adds what is rare to a schedule that has been drawn: the words and
// the packing of errors. Most failures look like themselves. It comes last, so
// that a trial's draws up to here do not depend on it.
func (d *drawer) garnish(t *rapid.T, s *Schedule) {
	for i := range s.Actions {
		for n := range d.tools {
			tool := &d.tools[n]
			faults := s.Actions[i].Faults[tool.name]
			if len(faults) > longestGarnished {
				continue // an overflow needs plain failures, and many
			}
			for n := range faults {
				if f := &faults[n]; !f.Hang && f.class() != trace.OK && oneIn(t, 3) {
					tool.words(t, f)
				}
			}
		}
	}
}

const longestGarnished = 17 // as many as a streak has

// words gives a failing answer, where the tool can, the words of a lie or a
// packing.
func (t *drawnTool) words(r *rapid.T, f *Fault) {
	g := *f
	if coin(r) {
		g.Say = lies[below(r, len(lies))]
	} else {
		g.Wrap = wrapForms[1+below(r, len(wrapForms)-1)]
	}
	if t.can(&g) {
		*f = g
	}
}
