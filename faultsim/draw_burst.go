package faultsim

import (
	"time"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// bursts draws the answers of an action by the chain, which takes a step for each
// attempt that is made: up to the successes that the action needs, or until the policy
// ends it. state is that behind them.
func (x *profiled) bursts(t *source, bad bool, answer func(n int, failed bool) Fault) (faults []Fault, state bool) {
	at := time.Duration(0)
	for range x.calls {
		series := x.tool.policy.Start(0, 0)
		for n := range longest {
			fails, next := x.by.Burst.step(t.nth(len(faults)), bad)
			f := answer(len(faults), fails)
			faults, bad = append(faults, f), next
			o, takes := x.tool.seen(&f)
			series.Began(at)
			at += takes
			d := series.Next(o, at)
			if d.Do == invariants.Stop && d.Reason == trace.ReasonSuccess {
				break
			}
			if d.Do == invariants.Stop || n == longest-1 {
				return faults, bad
			}
			at += d.Lo
		}
	}
	return faults, bad
}

// seen is what the caller sees of the tool's answer, and when, from its arrival.
func (t *drawnTool) seen(f *Fault) (trace.Outcome, time.Duration) {
	if a := t.policy.Attempt; f.Hang || a > 0 && f.takes() > a {
		return trace.Outcome{Class: trace.Timeout}, a
	}
	return trace.Outcome{Class: f.class(), Hint: f.Hint, Items: f.Items}, f.takes()
}
