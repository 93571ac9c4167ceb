package faultsim

// A tally counts what trials have met. Each worker has its own; the sum of them
// does not depend on who ran which trial.
type tally struct {
	trials  int            // that have passed
	labels  [allLabels]int // rehearse's own, by bit
	rules   []int          // by number of the invariant: the trials to which it applied
	own     map[string]int // the adapter's labels
	doubles []*doubleTally // in the order in which they were met first
}

// A doubleTally counts, in trials, what became of one double.
type doubleTally struct {
	name    string
	planned int                 // for which faults were planned
	called  int                 // that have called it
	due     [len(kindNames)]int // that have called it, by kind of the faults that were planned for it
	met     [len(kindNames)]int // by kind of the faults that it has shown
}

// note counts a trial that has passed. Neither its schedule nor its trace is
// there any more when it returns.
func (y *tally) note(s *Schedule, x *trial, r *result) {
	y.trials++
	for label := range x.labelsOf(r.tr).each {
		y.labels[label]++
	}
	y.ruled(len(r.applied))
	for i, on := range r.applied {
		if on {
			y.rules[i]++
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
		d.planned++
	}
	if t.calls == 0 {
		return
	}
	d.called++
	for kind := range planned.each {
		d.due[kind]++
	}
	for kind := range t.met.each {
		d.met[kind]++
	}
}

// add counts what another tally has.
func (y *tally) add(z *tally) {
	y.trials += z.trials
	for i, n := range z.labels {
		y.labels[i] += n
	}
	y.ruled(len(z.rules))
	for i, n := range z.rules {
		y.rules[i] += n
	}
	for label, n := range z.own {
		y.label(label, n)
	}
	for _, e := range z.doubles {
		d := y.double(e.name)
		d.planned += e.planned
		d.called += e.called
		for kind := range e.due {
			d.due[kind] += e.due[kind]
			d.met[kind] += e.met[kind]
		}
	}
}

// ruled makes room for the counts of that many invariants.
func (y *tally) ruled(n int) {
	if len(y.rules) < n {
		y.rules = append(y.rules, make([]int, n-len(y.rules))...)
	}
}

func (y *tally) label(name string, n int) {
	if y.own == nil {
		y.own = map[string]int{}
	}
	y.own[name] += n
}

func (y *tally) double(name string) *doubleTally {
	for _, d := range y.doubles {
		if d.name == name {
			return d
		}
	}
	d := &doubleTally{name: name}
	y.doubles = append(y.doubles, d)
	return d
}
