package matrix

import (
	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/trace"
)

// streamingRows are about answers that come over time.
func streamingRows() []Row {
	return []Row{
		{"body-in-pieces", "An answer counts from the end of its body, however long that takes within the attempt's time.", body(trace.OK, false), Streaming},
		{"body-breaks", "An answer that breaks half-way is a failed attempt, and its half is no evidence.", body(trace.Reset, false), Streaming},
		{"body-stops", "The time of an attempt covers its body: an answer that stops half-way is a timeout.", body(0, true), Streaming},
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
