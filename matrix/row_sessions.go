package matrix

import (
	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/trace"
)

// sessionRows hold code that keeps sessions with its tool against their loss
// (field case F028).
func sessionRows() []Row {
	return []Row{
		{Name: "session-lost", Proves: "A session that is lost is not used again: whatever is repeated goes over a new one.", Schedule: losing(faultsim.Fail(trace.NotConnected))},
		{Name: "session-lost-with-the-reply", Proves: "A call whose reply was lost with its session is repeated only where that is safe.", Schedule: losing(faultsim.Lose(trace.Reset))},
		{Name: "session-lost-before-the-next", Proves: "The next action does not begin on a session that is known to be lost.", Schedule: lostInTurn},
		{Name: "session-out-of-reach", Proves: "Dials that fail are counted and have a wait between them.", Schedule: outOfReach},
		{Name: "session-shared", Proves: "A call that fails leaves the session to the calls beside it.", Schedule: sharedSession},
	}
}

func losing(f faultsim.Fault) func(Setting) (faultsim.Schedule, error) {
	return func(s Setting) (faultsim.Schedule, error) {
		if !s.Can(f) {
			return faultsim.Schedule{}, NotFor("the tool cannot answer %v", f.Class)
		}
		return faultsim.One(f), nil
	}
}

// lostInTurn takes the loss that ends an action, where there is one.
func lostInTurn(s Setting) (faultsim.Schedule, error) {
	f := faultsim.Lose(trace.Reset)
	if !s.Can(f) {
		f = faultsim.Fail(trace.NotConnected)
	}
	sched, err := losing(f)(s)
	sched.Actions = append(sched.Actions, faultsim.Plan{})
	return sched, err
}

// outOfReach is an outage that is over when the third wait is, behind a session
// that was opened and lost.
func outOfReach(s Setting) (faultsim.Schedule, error) {
	sched, err := losing(faultsim.Fail(trace.NotConnected))(s)
	if err != nil {
		return sched, err
	}
	_, hi := s.Policy.Backoff.Window(2, 0)
	sched.Outages = []faultsim.Outage{{Tool: faultsim.Main, From: 1, To: max(2*hi, 2), Class: trace.NotConnected}}
	return sched, nil
}

// sharedSession lets a call fail, with an answer that says nothing of its
// session, while another one is under way.
func sharedSession(s Setting) (faultsim.Schedule, error) {
	var f faultsim.Fault
	for _, c := range []trace.Class{trace.Forbidden, trace.Invalid, trace.Throttled, trace.Transient} {
		if s.Can(faultsim.Fail(c)) {
			f = faultsim.Fail(c)
		}
	}
	if f.Class == 0 {
		return faultsim.Schedule{}, NotFor("the tool has no failure that leaves the session as it is")
	}
	d, err := s.flight()
	f.Latency = (d / 2).Truncate(10)
	slow := faultsim.Fault{Latency: d}
	plan := func(f faultsim.Fault) faultsim.Plan {
		return faultsim.Plan{Faults: map[string][]faultsim.Fault{faultsim.Main: {f}}}
	}
	return faultsim.Schedule{Actions: []faultsim.Plan{plan(f), plan(slow)}, AtOnce: true}, err
}
