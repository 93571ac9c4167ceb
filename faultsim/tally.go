package faultsim

// A tally counts what trials have met. Each worker has its own; the sum of them
// does not depend on who ran which trial. It travels from machine to machine as
// JSON, so all that it counts is exported.
type tally struct {
	Trials  int            `json:"trials"`  // that have passed
	Labels  [allLabels]int `json:"labels"`  // rehearse's own, by bit
	Rules   []int          `json:"rules"`   // by number of the invariant: the trials to which it applied
	Own     map[string]int `json:"own"`     // the adapter's labels
	Doubles []*doubleTally `json:"doubles"` // in the order in which they were met first
}

// A doubleTally counts, in trials, what became of one double.
type doubleTally struct {
	Name    string              `json:"name"`
	Planned int                 `json:"planned"` // for which faults were planned
	Called  int                 `json:"called"`  // that have called it
	Due     [len(kindNames)]int `json:"due"`     // that have called it, by kind of the faults that were planned for it
	Met     [len(kindNames)]int `json:"met"`     // by kind of the faults that it has shown
}

// note counts a trial that has passed. Neither its schedule nor its trace is
// there any more when it returns.
func (y *tally) note(s *Schedule, x *trial, r *result) {
	y.Trials++
	for label := range x.labelsOf(r.tr).each {
		y.Labels[label]++
	}
	y.ruled(len(r.applied))
	for i, on := range r.applied {
		if on {
			y.Rules[i]++
		}
	}
	for _, label := range r.labels {
		y.label(label, 1)
	}
	for _, t := range x.stage.everybody() {
		y.double(t.name).note(s.planned(t.name, x.stage.leads(t)), t)
	}
}

func (d *doubleTally) note(planned kinds, t *tool) {
	if planned != 0 {
		d.Planned++
	}
	if t.calls == 0 {
		return
	}
	d.Called++
	for kind := range planned.each {
		d.Due[kind]++
	}
	for kind := range t.met.each {
		d.Met[kind]++
	}
}

// add counts what another tally has.
func (y *tally) add(z *tally) {
	y.Trials += z.Trials
	for i, n := range z.Labels {
		y.Labels[i] += n
	}
	y.ruled(len(z.Rules))
	for i, n := range z.Rules {
		y.Rules[i] += n
	}
	for label, n := range z.Own {
		y.label(label, n)
	}
	for _, e := range z.Doubles {
		d := y.double(e.Name)
		d.Planned += e.Planned
		d.Called += e.Called
		for kind := range e.Due {
			d.Due[kind] += e.Due[kind]
			d.Met[kind] += e.Met[kind]
		}
	}
}

// ruled makes room for the counts of that many invariants.
func (y *tally) ruled(n int) {
	if len(y.Rules) < n {
		y.Rules = append(y.Rules, make([]int, n-len(y.Rules))...)
	}
}

func (y *tally) label(name string, n int) {
	if y.Own == nil {
		y.Own = map[string]int{}
	}
	y.Own[name] += n
}

func (y *tally) double(name string) *doubleTally {
	for _, d := range y.Doubles {
		if d.Name == name {
			return d
		}
	}
	d := &doubleTally{Name: name}
	y.Doubles = append(y.Doubles, d)
	return d
}
