package matrix

import (
	"slices"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// The instants of these rows follow those of a draw: answers fall on tens of
// nanoseconds, and what the caller does falls beside them. At one instant,
// chance would decide.
const beside = 3 * time.Nanosecond

func timingRows() []Row {
	return []Row{
		{Name: "cancel-during-delay", Proves: "A cancel interrupts the wait, and no attempt follows.", Schedule: cancelDuringDelay},
		{Name: "cancel-before-begin", Proves: "An action that is cancelled before it begins calls nothing.", Schedule: cancelBeforeBegin},
		{Name: "cancel-in-flight", Proves: "A cancel reaches the tool that is at work, and no attempt follows.", Schedule: cancelInFlight},
		{Name: "cancel-just-before-answer", Proves: "A success that comes a nanosecond after the cancel is not taken for the action's.", Schedule: cancelAround(-1)},
		{Name: "cancel-just-after-answer", Proves: "A success that came a nanosecond before the cancel stands.", Schedule: cancelAround(+1)},
		{Name: "deadline-just-before-second", Proves: "An attempt that would begin a nanosecond after the deadline is not made.", Schedule: deadlineBeforeSecond},
		{Name: "deadline-just-after-second", Proves: "An attempt that begins a nanosecond before the deadline is made.", Schedule: deadlineAfterSecond},
		{Name: "deadline-under-attempt-timeout", Proves: "An attempt gets what is left of the deadline where that is less than its own timeout.", Schedule: deadlineUnderTimeout},
		{Name: "hint-beyond-deadline", Proves: "A wait that outlasts the deadline is neither cut short nor waited out.", Schedule: hintBeyondDeadline},
		{Name: "hint-above-limit", Proves: "A hint above the policy's limit does what the policy says, and parks nobody.", Schedule: hintAboveLimit},
		{Name: "hint-of-zero", Proves: "A hint of zero, or none, does not shorten the own wait.", Schedule: hintOfZero},
		{Name: "late-success", Proves: "A success that comes after the attempt was given up is no licence to repeat a write.", Schedule: lateSuccess},
		{Name: "outage-then-recovery", Proves: "An outage that ends within the attempts is survived, and the recovered tool is found.", Schedule: outageThenRecovery},
		{Name: "real-quota", Proves: "A tool that grants a number of calls per window is called again when the window has ended.", Schedule: realQuota},
		{Name: "serial-tool-freed", Proves: "A cancelled call frees a tool that serves one call at a time, and the next action is served.", Schedule: serialToolFreed},
	}
}

// winnerRows let a success come behind a cancel.
func winnerRows() []Row {
	return []Row{
		{Name: "success-after-cancel", Proves: "Of a cancel and a success behind it the one wins that the policy names, and the action ends once.", Schedule: successAfterCancel},
	}
}

// serialToolFreed cancels an action whose call is served while that of another
// waits behind it (field case F030).
func serialToolFreed(s Setting) (faultsim.Schedule, error) {
	sched, err := cancelInFlight(s)
	sched.Actions = append(sched.Actions, faultsim.Plan{})
	sched.AtOnce, sched.Serial = true, []string{faultsim.Main}
	return sched, err
}

func cancelBeforeBegin(Setting) (faultsim.Schedule, error) {
	return faultsim.Schedule{Actions: []faultsim.Plan{{Cancel: -1}}}, nil
}

// flight is a latency well within the time of one attempt.
func (s Setting) flight() (time.Duration, error) {
	d := 100 * time.Millisecond
	for _, limit := range []time.Duration{s.Policy.Attempt, s.Policy.Budget} {
		if limit > 0 {
			d = min(d, limit/2)
		}
	}
	if d = d.Truncate(10); d < 20 {
		return 0, NotFor("the policy leaves an attempt less than 40ns")
	}
	return d, nil
}

func cancelInFlight(s Setting) (faultsim.Schedule, error) {
	d, err := s.flight()
	return faultsim.One(faultsim.Fault{Latency: d, Cancel: (d / 2).Truncate(10) + beside}), err
}

func cancelAround(by time.Duration) func(Setting) (faultsim.Schedule, error) {
	return func(s Setting) (faultsim.Schedule, error) {
		d, err := s.flight()
		return faultsim.One(faultsim.Fault{Latency: d, Cancel: d + by}), err
	}
}

// successAfterCancel has a tool that ignores the cancel: no other succeeds
// behind it.
func successAfterCancel(s Setting) (faultsim.Schedule, error) {
	d, err := s.flight()
	return faultsim.One(faultsim.Fault{Latency: d, Deaf: true, Cancel: d/2 + beside}), err
}

// second is the window in which the second attempt begins, after the failure f.
func (s Setting) second(f faultsim.Fault) (lo, hi time.Duration) {
	lo, hi = s.Policy.Backoff.Window(1, 0)
	if f.Hang {
		lo, hi = lo+s.Policy.Attempt, hi+s.Policy.Attempt
	}
	return lo, hi
}

// until is the schedule of one failure and a deadline.
func until(deadline time.Duration, f faultsim.Fault) faultsim.Schedule {
	s := faultsim.One(f)
	s.Actions[0].Deadline = deadline
	return s
}

func deadlineBeforeSecond(s Setting) (faultsim.Schedule, error) {
	f, err := s.Retried()
	if err != nil {
		return faultsim.Schedule{}, err
	}
	if wait, _ := s.Policy.Backoff.Window(1, 0); wait < 2 {
		return faultsim.Schedule{}, NotFor("the policy need not wait before the second attempt")
	}
	lo, _ := s.second(f)
	return until(lo-1, f), nil
}

func deadlineAfterSecond(s Setting) (faultsim.Schedule, error) {
	f, err := s.Retried()
	_, hi := s.second(f)
	return until(hi+1, f), err
}

func deadlineUnderTimeout(s Setting) (faultsim.Schedule, error) {
	if s.Policy.Attempt < 40 {
		return faultsim.Schedule{}, NotFor("the policy has no timeout for an attempt")
	}
	return until((s.Policy.Attempt/2).Truncate(10)+beside, faultsim.Fault{Hang: true}), nil
}

// hinting returns a failure that the policy retries and that asks for the wait.
func (s Setting) hinting(wait time.Duration) (faultsim.Fault, error) {
	if s.Policy.Hint.Use == invariants.HintIgnore {
		return faultsim.Fault{}, NotFor("the policy ignores hints")
	}
	for _, c := range append([]trace.Class{trace.Throttled, trace.Transient}, s.Policy.Retry...) {
		for _, form := range []faultsim.HintForm{faultsim.HintSeconds, faultsim.HintDate, faultsim.HintMillis, faultsim.HintSkewed} {
			f := faultsim.Fault{Class: c, Hint: wait, Form: form}
			if s.Policy.Retries(c) && s.reads(c) && s.Can(f) {
				return f, nil
			}
		}
	}
	return faultsim.Fault{}, NotFor("no failure that the policy retries can ask for a wait")
}

// reads reports whether the policy reads the hint of a failure of the class.
func (s Setting) reads(c trace.Class) bool {
	return len(s.Policy.Hint.Classes) == 0 || slices.Contains(s.Policy.Hint.Classes, c)
}

func hintBeyondDeadline(s Setting) (faultsim.Schedule, error) {
	wait := 10 * time.Second
	if limit := s.Policy.Hint.Limit.Truncate(time.Second); limit > 0 {
		wait = min(wait, limit)
	}
	f, err := s.hinting(wait)
	return until(wait/2+beside, f), err
}

func hintAboveLimit(s Setting) (faultsim.Schedule, error) {
	limit := s.Policy.Hint.Limit
	if limit == 0 {
		return faultsim.Schedule{}, NotFor("the policy has no limit for hints")
	}
	f, err := s.hinting(limit.Truncate(time.Second) + 2*time.Second)
	return faultsim.One(f), err
}

// hintOfZero is a failure of a kind that can ask for a wait, and asks for none.
func hintOfZero(s Setting) (faultsim.Schedule, error) {
	f, err := s.hinting(time.Second)
	f.Hint, f.Form = 0, faultsim.HintSeconds
	return faultsim.One(f), err
}

// lateSuccess: the tool does its work and answers when nobody waits any more.
func lateSuccess(s Setting) (faultsim.Schedule, error) {
	if s.Policy.Attempt == 0 {
		return faultsim.Schedule{}, NotFor("the policy has no timeout for an attempt")
	}
	return faultsim.One(faultsim.Fault{Latency: s.Policy.Attempt.Truncate(10) + 20, Done: true}), nil
}

// answering is Retried without a hang, which has no class to answer with.
func (s Setting) answering() (faultsim.Fault, error) {
	f, err := s.Retried()
	if err == nil && f.Hang {
		err = NotFor("the tool answers nothing that the policy retries")
	}
	return f, err
}

// outageThenRecovery ends the outage in the wait before the third attempt, or
// before the second where there is no third.
func outageThenRecovery(s Setting) (faultsim.Schedule, error) {
	f, err := s.answering()
	if err != nil {
		return faultsim.Schedule{}, err
	}
	lo, to := s.Policy.Backoff.Window(1, 0)
	if s.Policy.Most() == 2 {
		to = lo / 2
	} else {
		second, _ := s.Policy.Backoff.Window(2, lo)
		to += second / 2
	}
	if s.Policy.Most() == 1 || to < 1 {
		return faultsim.Schedule{}, NotFor("the policy has no wait in which an outage could end")
	}
	return faultsim.Schedule{Outages: []faultsim.Outage{{Tool: faultsim.Main, To: to, Class: f.Class}}}, nil
}

// realQuota grants one call in two seconds. The first is used up by a failure.
func realQuota(s Setting) (faultsim.Schedule, error) {
	if !s.Policy.Retries(trace.Throttled) {
		return faultsim.Schedule{}, NotFor("the policy does not retry %v", trace.Throttled)
	}
	if over := (faultsim.Fault{Class: trace.Throttled, Hint: time.Second}); !s.Can(over) {
		return faultsim.Schedule{}, NotFor("the tool cannot ask for a wait when it is called too often")
	}
	f, err := s.answering()
	sched := faultsim.One(f)
	sched.Quotas = []faultsim.Quota{{Tool: faultsim.Main, N: 1, Per: 2 * time.Second}}
	return sched, err
}
