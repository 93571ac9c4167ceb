package faultsim

// empties lets the answer behind the failures hold nothing, now and then, where
// the tool has such an answer.
func (d *drawer) empties(t *source, s *Schedule) {
	for n := range d.tools {
		tool := &d.tools[n]
		if !tool.can(&Fault{Empty: true}) {
			continue
		}
		for i := range s.Actions {
			if faults := s.Actions[i].Faults; len(faults[tool.name]) < longestGarnished && oneIn(t.nth(i).double(tool.name), 2) {
				faults[tool.name] = append(faults[tool.name], Fault{Empty: true})
			}
		}
	}
}
