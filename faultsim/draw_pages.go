package faultsim

import (
	"slices"
)

// turnPages lets pages succeed among the failures that have been drawn for an action
// that needs several: without it a streak of failures ends on the first page.
func (d *drawer) turnPages(t *source, s *Schedule) {
	name := d.tools[0].name
	for i := range s.Actions {
		faults := s.Actions[i].Faults[name]
		if len(faults) == 0 || len(faults) > longestGarnished {
			continue
		}
		for range min(d.pages, longestGarnished) - 1 {
			if coin(t) {
				faults = slices.Insert(faults, below(t, len(faults)+1), Fault{})
			}
		}
		s.Actions[i].Faults[name] = faults
	}
}
