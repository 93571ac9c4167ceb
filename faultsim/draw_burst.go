package faultsim

import "github.com/rehearse-go/rehearse/invariants"

// bursts draws the answers of an action by the chain, which takes a step for each
// attempt that is made: up to the successes that the action needs, or until the policy
// ends it. state is that behind them.
func (x *profiled) bursts(t *source, bad bool, answer func(n int, failed bool) Fault) (faults []Fault, state bool) {
	course := x.tool.course()
	for call, row := 0, 0; call < x.calls && row < longest; row++ {
		fails, next := x.by.Burst.step(t.nth(len(faults)), bad)
		f := answer(len(faults), fails)
		faults, bad = append(faults, f), next
		switch d, _ := course.meets(&f); {
		case succeeds(d):
			call, row = call+1, -1
		case d.Do == invariants.Stop:
			return faults, bad
		default:
			course.at += d.Lo
		}
	}
	return faults, bad
}
