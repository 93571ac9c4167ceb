package matrix

import (
	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/trace"
)

// definitionRows hold code that corrects its arguments against a tool whose
// schema has changed ("Testing Agent Tool-Call Retry Behavior"). A correction is
// allowed and not called for, so that code without one passes as well.
func definitionRows() []Row {
	return []Row{
		{Name: "schema-changed", Proves: "Arguments that a new schema rejects are corrected by what it says, or the action ends.", Schedule: rejections(1, false)},
		{Name: "schema-changed-twice", Proves: "A tool that rejects the correction too is not asked again.", Schedule: rejections(2, false)},
		{Name: "schema-changed-then-failure", Proves: "A correction stays through a failure that passes.", Schedule: rejections(1, true)},
	}
}

// rejections is a number of rejections in a row, and a failure behind them.
func rejections(n int, failure bool) func(Setting) (faultsim.Schedule, error) {
	return func(s Setting) (faultsim.Schedule, error) {
		no := faultsim.Fail(trace.Invalid)
		if !s.Can(no) {
			return faultsim.Schedule{}, NotFor("the tool cannot answer %v", no.Class)
		}
		var faults []faultsim.Fault
		for range n {
			faults = append(faults, no)
		}
		if failure {
			f, err := s.Retried()
			if err != nil {
				return faultsim.Schedule{}, err
			}
			faults = append(faults, f)
		}
		return faultsim.One(faults...), nil
	}
}
