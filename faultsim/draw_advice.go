package faultsim

import (
	"github.com/rehearse-go/rehearse/trace"
)

// advise gives failures, where the tool has a word on retrying, that word: every
// second one calls itself retryable or final, whatever its class.
func (d *drawer) advise(t *source, s *Schedule) {
	for n := range d.tools {
		tool := &d.tools[n]
		if !tool.advised {
			continue
		}
		for i := range s.Actions {
			for k := range s.Actions[i].Faults[tool.name] {
				t := t.nth(i).double(tool.name).nth(k)
				f := &s.Actions[i].Faults[tool.name][k]
				g := *f
				g.Advice = trace.AdviceRetry
				if coin(t) {
					g.Advice = trace.AdviceStop
				}
				if coin(t) && !f.Hang && f.class() != trace.OK && f.Items == "" && tool.can(&g) {
					*f = g
				}
			}
		}
	}
}

// advises reports whether one of the tool's failures has a word on retrying.
func (t *drawnTool) advises() bool {
	for _, list := range [][]Fault{t.retried, t.refused} {
		for _, f := range list {
			if f.Advice = trace.AdviceStop; !f.Hang && t.can(&f) {
				return true
			}
		}
	}
	return false
}
