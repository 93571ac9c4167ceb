package matrix

import (
	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/trace"
)

// streamingRows are about answers that come over time.
func streamingRows() []Row {
	return []Row{
		{Name: "body-in-pieces", Proves: "An answer counts from the end of its body, however long that takes within the attempt's time.", Schedule: body(trace.OK, false)},
		{Name: "body-breaks", Proves: "An answer that breaks half-way is a failed attempt, and its half is no evidence.", Schedule: body(trace.Reset, false)},
		{Name: "body-stops", Proves: "The time of an attempt covers its body: an answer that stops half-way is a timeout.", Schedule: body(0, true)},
	}
}

// streams reports whether the rows apply.
func (s Setting) streams() bool { return s.Can(faultsim.Fault{Body: 1}) }

// body is an answer whose body comes over time, and breaks or stops half-way.
func body(c trace.Class, stops bool) func(Setting) (faultsim.Schedule, error) {
	return func(s Setting) (faultsim.Schedule, error) {
		if stops && s.Policy.Attempt == 0 {
			return faultsim.Schedule{}, NotFor("the policy has no timeout for an attempt")
		}
		d, err := s.flight()
		return faultsim.One(faultsim.Fault{Class: c, Hang: stops, Body: d}), err
	}
}
