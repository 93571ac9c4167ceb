package matrix

import (
	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/trace"
)

// adviceRows let a tool's own word on retrying contradict its class.
func adviceRows() []Row {
	return []Row{
		{Name: "passing-calls-itself-final", Proves: "A failure of a class that is retried, which calls itself final, ends the action.", Schedule: passingFinal},
		{Name: "refusal-calls-itself-retryable", Proves: "A refusal that calls itself retryable is tried again where the policy lets the word decide, and nowhere else.", Schedule: refusalRetryable},
	}
}

func passingFinal(s Setting) (faultsim.Schedule, error) {
	f, err := s.answering()
	if err == nil {
		f, err = s.advising(f, trace.AdviceStop)
	}
	return faultsim.One(f), err
}

func refusalRetryable(s Setting) (faultsim.Schedule, error) {
	for _, c := range []trace.Class{trace.Invalid, trace.Forbidden, trace.NotFound, trace.Conflict, trace.Unknown} {
		if f, err := s.advising(faultsim.Fail(c), trace.AdviceRetry); err == nil && !s.Policy.Retries(c) {
			return faultsim.One(f), nil
		}
	}
	return faultsim.Schedule{}, NotFor("the tool has no refusal with a word of its own on retrying")
}

// advising is the fault with the tool's word on retrying.
func (s Setting) advising(f faultsim.Fault, word trace.Advice) (faultsim.Fault, error) {
	if f.Advice = word; !s.Can(f) {
		return f, NotFor("the tool cannot say of %v whether it may be called again", f.Class)
	}
	return f, nil
}
