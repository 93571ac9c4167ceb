package faultsim

import "slices"

// switches turn kinds of faults off, beside the classes of answers.
type switches uint16

const (
	latencies switches = 1 << iota
	hints
	cancels
	deadlines
	words
	spells
	restarts
	partials
	allSwitches = 1<<iota - 1
)

// may reports whether the schedule may have faults of the kind.
func (d *drawer) may(k switches) bool { return d.off&k == 0 }

// swarmed is the drawer of one schedule that does without some kinds of faults,
// each with the chance of a half: a class of answers of any tool, hangs, lost
// replies, latencies, cancels and so on. What hides behind other faults shows where
// those are off: an overflow behind a refusal that ends each streak, a wait behind a
// cancel. It is the swarm testing of Groce, Zhang, Eide, Chen and Regehr (ISSTA 2012).
func (d *drawer) swarmed(t *source) *drawer {
	one := *d
	one.off = switches(t.bits(8)) & allSwitches
	one.tools = slices.Clone(d.tools)
	for i := range one.tools {
		one.tools[i].swarm(t.double(one.tools[i].name))
	}
	one.models = slices.Clone(d.models)
	for i := range one.models {
		m := &one.models[i]
		m.swarm(t.double(m.name))
	}
	return &one
}

// swarm leaves the tool each of its answers with the chance of a half, but at least
// one, where it has any.
func (t *drawnTool) swarm(s *source) {
	retried, refused := some(s, t.retried), some(s, t.refused)
	if len(retried)+len(refused) > 0 {
		t.retried, t.refused = retried, refused
	}
}

// some are elements of the list, each with the chance of a half.
func some[E any](t *source, list []E) []E {
	left := make([]E, 0, len(list))
	for _, e := range list {
		if coin(t) {
			left = append(left, e)
		}
	}
	return left
}
