package matrix

import (
	"maps"
	"slices"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// wants is what the row expects of a schedule that it has made.
func (s *Setting) wants(r *Row, sched faultsim.Schedule) (faultsim.Expectation, bool) {
	if s.loop != nil {
		return faultsim.Expectation{Most: anything}, true // how a run goes on is for the model to say, and the rules hold it
	}
	if r.InAll != nil {
		return r.InAll(*s), true
	}
	return s.expect(sched)
}

// expect is what the policy calls for in the first action of a schedule. How an
// action ends that another tool fails too, or whose quota other actions share,
// is for the code to say, and so it is where a retry of it may wait for other
// actions at a serial tool: then anything fits that breaks no rule.
func (s *Setting) expect(sched faultsim.Schedule) (faultsim.Expectation, bool) {
	if len(sched.Actions) > 1 && (len(sched.Quotas)+len(sched.Buckets) > 0 || len(sched.Serial) > 0 && fails(&sched.Actions[0])) {
		return faultsim.Expectation{Most: anything}, true
	}
	if h := s.Policy.Hedge; h.Max > 1 && slow(&sched, h.After) {
		return faultsim.Expectation{Most: anything}, true // how many attempts run beside each other is for [invariants.Hedged]
	}
	if deaf(&sched) {
		return faultsim.Expectation{Most: anything}, true // who waits for such a tool is for the code, or the policy's Winner, to say
	}
	if s.Policy.MaxAttempts == invariants.Unlimited && s.Policy.Backoff.Jitter != (invariants.Jitter{}) {
		return faultsim.Expectation{Most: anything}, true // thousands of windows leave the count open
	}
	if s.sessions && slices.ContainsFunc(sched.Outages, func(o faultsim.Outage) bool { return o.Class == trace.NotConnected }) {
		return faultsim.Expectation{Most: anything}, true // whether a dial that fails counts as an attempt differs
	}
	sched.Actions = slices.Clone(sched.Actions[:min(1, len(sched.Actions))])
	for _, name := range speaksOf(&sched) {
		if name != faultsim.Main && name != s.Tools[0] && !s.bestEffort(name) {
			return faultsim.Expectation{Most: anything}, true
		}
	}
	if s.Pages > 1 && s.Items > 0 && disturbed(&sched) {
		return faultsim.Expectation{Most: anything}, true
	}
	return faultsim.ExpectPages(s.Policy, ofMain(sched, s.Tools[0]), s.Pages)
}

// disturbed reports whether anything is planned in a schedule.
func disturbed(s *faultsim.Schedule) bool {
	for i := range s.Actions {
		p := &s.Actions[i]
		if len(p.Faults) > 0 || p.Deadline != 0 || p.Cancel != 0 {
			return true
		}
	}
	return len(s.Outages)+len(s.Quotas)+len(s.Buckets) > 0
}

// slow reports whether an attempt may take so long that it is hedged.
func slow(s *faultsim.Schedule, after time.Duration) bool {
	for i := range s.Actions {
		for _, faults := range s.Actions[i].Faults {
			if slices.ContainsFunc(faults, func(f faultsim.Fault) bool { return f.Hang || f.Latency >= after }) {
				return true
			}
		}
	}
	return false
}

// deaf reports whether a tool ignores its context.
func deaf(s *faultsim.Schedule) bool {
	for i := range s.Actions {
		for _, faults := range s.Actions[i].Faults {
			if slices.ContainsFunc(faults, func(f faultsim.Fault) bool { return f.Deaf }) {
				return true
			}
		}
	}
	return false
}

// fails reports whether an attempt of the plan is to fail, so that another may
// follow it.
func fails(p *faultsim.Plan) bool {
	for _, faults := range p.Faults {
		if slices.ContainsFunc(faults, func(f faultsim.Fault) bool { return f.Hang || f.Class > trace.OK }) {
			return true
		}
	}
	return false
}

// speaksOf lists the tools that a schedule names, in order.
func speaksOf(s *faultsim.Schedule) []string {
	var names []string
	for i := range s.Actions {
		names = slices.AppendSeq(names, maps.Keys(s.Actions[i].Faults))
	}
	for _, o := range s.Outages {
		names = append(names, o.Tool)
	}
	for _, q := range s.Quotas {
		names = append(names, q.Tool)
	}
	for _, b := range s.Buckets {
		names = append(names, b.Tool)
	}
	names = append(names, s.Serial...)
	slices.Sort(names)
	return slices.Compact(names)
}

// ofMain gives the main tool its general name throughout a schedule of at most
// one action, in which no other tool is named.
func ofMain(s faultsim.Schedule, main string) faultsim.Schedule {
	for i := range s.Actions {
		faults := s.Actions[i].Faults
		s.Actions[i].Faults = map[string][]faultsim.Fault{faultsim.Main: merged(faults[main], faults[faultsim.Main])}
	}
	s.Outages, s.Quotas, s.Buckets = slices.Clone(s.Outages), slices.Clone(s.Quotas), slices.Clone(s.Buckets)
	for i := range s.Outages {
		s.Outages[i].Tool = faultsim.Main
	}
	for i := range s.Quotas {
		s.Quotas[i].Tool = faultsim.Main
	}
	for i := range s.Buckets {
		s.Buckets[i].Tool = faultsim.Main
	}
	return s
}

// merged is what the main tool answers: what is planned under its own name goes
// before what is planned for whichever tool is the main one.
func merged(named, main []faultsim.Fault) []faultsim.Fault {
	all := make([]faultsim.Fault, max(len(named), len(main)))
	copy(all, main)
	for i, f := range named {
		if f != (faultsim.Fault{}) {
			all[i] = f
		}
	}
	return all
}
