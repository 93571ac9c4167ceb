package matrix

import (
	"slices"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
)

// calmRows let the faults stop. What they count is the first action, as the policy has
// it; that the others behind the calm succeed is the business of invariants.Recovers
// and of what is declared beside the policy.
func calmRows() []Row {
	return []Row{
		{Name: "calm-after-the-last-attempt", Proves: "An action that an outage has failed for good leaves nothing behind: the next ones succeed.", Schedule: calmAfterTheLast},
		{Name: "calm-in-the-wait", Proves: "An action that waits as the outage ends goes on, and ends within its attempts.", Schedule: calmInTheWait},
		{Name: "calm-behind-a-hang", Proves: "A call that hung as the faults stopped is given up in its time, and what follows it is answered.", Schedule: calmBehindAHang},
		{Name: "calm-beside-open-actions", Proves: "An action that begins behind the calm is not held up by those that the outage has caught.", Schedule: calmBeside},
	}
}

// guardedCalmRows let the faults stop while a breaker is open.
func guardedCalmRows() []Row {
	return []Row{ofBreaker("calm-behind-a-breaker", "A breaker that an outage has opened lets the first call behind its cooldown through, and closes.", calmBehindABreaker)}
}

// downUntilCalm is a failure of the main tool that lasts until the faults stop.
func downUntilCalm(f faultsim.Fault) []faultsim.Outage {
	return []faultsim.Outage{{Tool: faultsim.Main, To: 2 * longestCalm, Class: f.Class}}
}

// longestCalm is the latest instant at which the faults of a row stop.
const longestCalm = 30 * 24 * time.Hour

// longest is how long an action may take that fails at each attempt.
func (s Setting) longest() (time.Duration, error) {
	p, sum := &s.Policy, time.Duration(0)
	for n := 1; n <= p.Most(); n++ {
		_, hi := p.Backoff.Window(n, sum)
		if sum += hi + p.Attempt; sum > longestCalm {
			break
		}
	}
	if p.Budget > 0 && (p.Most() == invariants.Unlimited || p.Budget < sum) {
		sum = p.Budget + p.Attempt
	}
	if p.Most() == invariants.Unlimited && p.Budget == 0 || sum > longestCalm {
		return 0, NotFor("an action that fails may take longer than a trial of this row")
	}
	return sum.Truncate(10) + 20, nil
}

// forgiven is the longest time for which the code may hold an outage against the tool.
func (s Setting) forgiven() (d time.Duration) {
	if s.cache != nil {
		d = s.cache.FailureTTL
	}
	if s.Breaker != nil {
		d = max(d, s.Breaker.Cooldown)
	}
	for i := range s.guards {
		d = max(d, s.guards[i].Cooldown)
	}
	return max(d, s.recovers)
}

// behind are two actions behind the calm, once nothing may be held against the tool.
func (s Setting) behind(calm time.Duration) []faultsim.Plan {
	return []faultsim.Plan{after(calm+s.forgiven()+time.Second, healthy), after(time.Second, healthy)}
}

func calmAfterTheLast(s Setting) (sched faultsim.Schedule, err error) {
	f, err := s.answering()
	if err != nil {
		return sched, err
	}
	calm, err := s.longest()
	return faultsim.Schedule{Actions: append([]faultsim.Plan{healthy}, s.behind(calm)...), Outages: downUntilCalm(f), Calm: calm}, err
}

// calmInTheWait lets the faults stop in the wait before the second attempt.
func calmInTheWait(s Setting) (sched faultsim.Schedule, err error) {
	f, err := s.answering()
	if err != nil {
		return sched, err
	}
	lo, _ := s.Policy.Backoff.Window(1, 0)
	if s.Policy.Most() == 1 || lo < 20 {
		return sched, NotFor("the policy has no wait in which the faults could stop")
	}
	return faultsim.Schedule{Actions: append([]faultsim.Plan{healthy}, s.behind(lo)...), Outages: downUntilCalm(f), Calm: lo / 2}, nil
}

func calmBehindAHang(s Setting) (sched faultsim.Schedule, err error) {
	hang := faultsim.Fault{Hang: true}
	switch limit := s.Policy.Attempt; {
	case limit == 0:
		return sched, NotFor("an attempt has no limit, so that nothing ends one that hangs")
	case limit < 20:
		return sched, NotFor("the policy leaves an attempt less than 20ns")
	default:
		one := planned(slices.Repeat([]faultsim.Fault{hang}, 2)...)
		return faultsim.Schedule{Actions: append([]faultsim.Plan{one}, s.behind(limit)...), Calm: limit / 2}, nil
	}
}

// calmBeside has two actions in their waits as a third one begins, behind the calm.
func calmBeside(s Setting) (sched faultsim.Schedule, err error) {
	if sched, err = calmInTheWait(s); err != nil {
		return sched, err
	}
	sched.AtOnce = true
	third := after(sched.Calm, healthy)
	sched.Actions = append([]faultsim.Plan{healthy, healthy, third}, s.behind(sched.Calm)...)
	return sched, nil
}

// calmBehindABreaker has failures planned for every action, of which those behind the
// calm meet none.
func calmBehindABreaker(t trip) (d drill, err error) {
	longest, err := t.set.longest()
	if err != nil {
		return d, err
	}
	open := t.open()
	if d.calm = time.Duration(len(open)) * min(longest, longestCalm); d.calm > longestCalm {
		return d, NotFor("the actions that open the breaker may take longer than a trial of this row")
	}
	d.actions = append(open, after(d.calm+t.cooldown, t.failing()))
	d.actions = append(d.actions, slices.Repeat([]faultsim.Plan{t.failing()}, t.successes)...)
	d.calls = t.threshold + t.successes + 1
	return d, nil
}
