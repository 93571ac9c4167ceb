package matrix

import (
	"slices"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// observationRows hold what is handed on against failures whose words tell what
// they must not: one that ends the action at once, one that lasts until the
// attempts are used up, and one behind the other; and against a tool that says
// nothing at all. The rules of the observation look at every other row too.
func observationRows() []Row {
	return []Row{
		{Name: "leak-after-refusal", Proves: "What a refusal tells of secrets and hosts stays where it is, and it is handed on as final.", Schedule: leakAfterRefusal},
		{Name: "leak-when-exhausted", Proves: "What the last failure tells stays where it is, and it is handed on as retryable with the true count.", Schedule: leakWhenExhausted},
		{Name: "leak-after-change", Proves: "A refusal behind a passing failure is handed on as final, whatever the first one was.", Schedule: leakAfterChange},
		{Name: "silence-handed-on", Proves: "Of a tool that never answers something is handed on as well.", Schedule: silence},
	}
}

// leaking is the fault in words that hold the canaries.
func (s Setting) leaking(f faultsim.Fault) (faultsim.Fault, error) {
	return s.saying(f, faultsim.CanaryWords)
}

// refusals are the classes of a refusal, the plainest first.
var refusals = []trace.Class{trace.Invalid, trace.Forbidden, trace.NotFound, trace.Unauthenticated, trace.Conflict, trace.Unknown}

// refusal is a refusal that leaks; the plainest that the tool can answer.
func (s Setting) refusal() (faultsim.Fault, error) {
	for _, c := range refusals {
		if f, err := s.leaking(faultsim.Fail(c)); err == nil && !s.Policy.Retries(c) {
			return f, nil
		}
	}
	return faultsim.Fault{}, NotFor("the tool has no refusal in words of the row's own")
}

func leakAfterRefusal(s Setting) (faultsim.Schedule, error) {
	f, err := s.refusal()
	return faultsim.One(f), err
}

func leakWhenExhausted(s Setting) (faultsim.Schedule, error) {
	f, err := s.Retried()
	if err == nil {
		f, err = s.leaking(f)
	}
	if err != nil {
		return faultsim.Schedule{}, err
	}
	return s.throughout(f)
}

// throughout plans the fault for as many attempts as the policy allows.
func (s Setting) throughout(f faultsim.Fault) (faultsim.Schedule, error) {
	most := s.Policy.Most()
	if most == invariants.Unlimited {
		return faultsim.Schedule{}, NotFor("the policy has no number of attempts that could be used up")
	}
	return faultsim.One(slices.Repeat([]faultsim.Fault{f}, most)...), nil
}

func silence(s Setting) (faultsim.Schedule, error) {
	if s.Policy.Attempt == 0 {
		return faultsim.Schedule{}, NotFor("the policy has no Attempt that would end the wait for a tool that hangs")
	}
	return s.throughout(faultsim.Fault{Hang: true})
}

func leakAfterChange(s Setting) (faultsim.Schedule, error) {
	f, err := s.Retried()
	if err != nil {
		return faultsim.Schedule{}, err
	}
	final, err := s.refusal()
	return faultsim.One(f, final), err
}
