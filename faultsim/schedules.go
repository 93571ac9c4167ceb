package faultsim

import (
	"testing"

	"pgregory.net/rapid"
)

// Schedules is the generator that [Check] draws from, for properties of one's
// own:
//
//	gen := faultsim.Schedules(t, adapter)
//	rapid.Check(t, func(rt *rapid.T) {
//		r := faultsim.Trial(t, adapter, gen.Draw(rt, "schedule"))
//		invariants.Verify(rt, r.Trace, mine)
//	})
//
// What it draws shrinks towards fewer attempts, plain failures, no latency, no
// hint, no cancel and one action. The trial runs in a bubble and is judged
// outside it, so that rapid sees every failure. Schedules ends the test where
// the adapter cannot be built.
func Schedules(t *testing.T, a Adapter) *rapid.Generator[Schedule] {
	t.Helper()
	if err := a.validate(); err != nil {
		t.Fatalf("%v", err)
	}
	tools, err := inspect(t, &a)
	if err != nil {
		t.Fatalf("%v", err)
	}
	d, err := drawerFor(&a, tools)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return d.schedules()
}
