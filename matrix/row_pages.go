package matrix

import (
	"slices"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
)

// pageRows fail a later one of the requests that an action makes of its tool.
func pageRows() []Row {
	return []Row{
		{Name: "page-has-its-attempts", Proves: "Each page has the attempts of the policy, whatever the ones before it used up.", Schedule: eachPage},
		{Name: "page-missing", Proves: "Where a later page cannot be had, the pages before it are not handed on as the whole.", Schedule: pageMissing},
	}
}

// fails are the faults of a page that fails so often.
func (s Setting) fails(n int) ([]faultsim.Fault, error) {
	f, err := s.Retried()
	if err == nil && s.Policy.MaxAttempts == invariants.Unlimited {
		err = NotFor("the policy has no number of attempts that could be used up")
	}
	return slices.Repeat([]faultsim.Fault{f}, max(n, 0)), err
}

func eachPage(s Setting) (faultsim.Schedule, error) {
	failures, err := s.fails(s.Policy.MaxAttempts - 1)
	if err == nil && len(failures) == 0 {
		err = NotFor("the policy has one attempt")
	}
	return faultsim.One(slices.Concat(failures, []faultsim.Fault{{}}, failures)...), err
}

func pageMissing(s Setting) (faultsim.Schedule, error) {
	failures, err := s.fails(s.Policy.MaxAttempts)
	return faultsim.One(append([]faultsim.Fault{{}}, failures...)...), err
}
