package invariants

import (
	"slices"
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// AfterRestart says what becomes of an action when the program's process dies
// under it and comes back.
type AfterRestart string

const (
	// RestartUndeclared: nothing is promised, and what an action does after a
	// crash is not judged.
	RestartUndeclared AfterRestart = ""

	// RestartResumes: retries are persisted. The attempts made, the instant of
	// the next one, the key and the arguments outlive the process, and so does
	// the budget where RestartBudget says nothing else.
	// A wait that is over by the restart is over. An attempt that was under way
	// counts, and its outcome is not known.
	RestartResumes AfterRestart = "resumes"

	// RestartInterrupts: retries are in memory only. After the restart the tool
	// is not called, and the action ends as interrupted; unless it had made no
	// attempt, when it may as well begin afresh.
	RestartInterrupts AfterRestart = "interrupts"
)

// restart validates the field.
func (v *validator) restart(p *Policy) {
	known := []AfterRestart{RestartUndeclared, RestartResumes, RestartInterrupts}
	v.want(slices.Contains(known, p.Restart), "Restart", "is %q; say RestartResumes, RestartInterrupts, or nothing", p.Restart)
}

// soft are true reasons of an end after a crash that a program did not cause.
var soft = reasonSet(trace.ReasonInterrupted) | reasonSet(trace.ReasonOutcomeUnknown) | reasonSet(trace.ReasonEscalated)

// lostClasses are how a program may read an attempt that its crash cut off.
var lostClasses = []trace.Class{trace.Timeout, trace.Reset, trace.Unknown}

// Resumed is [Series.Next] for an answer after which the program's process died,
// before it did what comes next, and is up again at the instant: nothing can
// come before that. It is for a policy with a Restart.
func (s *Series) Resumed(o trace.Outcome, at, up time.Duration) Decision {
	if s.p.Restart == RestartInterrupts {
		return s.interrupted(&o, at, up)
	}
	return s.resumed(o, at, up)
}

func (s *Series) resumed(o trace.Outcome, at, up time.Duration) Decision {
	old := *s
	s.up = up
	s.refill(up)
	d := s.Next(o, at)
	s.up = 0
	if d.Do != Go {
		d.EndLo, d.EndHi = max(d.EndLo, up), max(d.EndHi, up)
		d.also |= s.overdue(up)
	}
	if s.p.refills() {
		d.orOutOfTime(old.Next(o, at), up)
	}
	return d
}

// Lost is [Series.Next] for an attempt that was under way when the program's
// process died, so that it knows no outcome; up is the instant at which it is up
// again, from which waits count. The attempt may be repeated at once, or after the
// usual wait, which may also begin when the attempt's time would have been over,
// as that of a lease does. It is for a policy with a Restart.
func (s *Series) Lost(up time.Duration) Decision {
	if s.p.Restart == RestartInterrupts {
		return s.interrupted(nil, up, up)
	}
	return s.lost(up)
}

func (s *Series) lost(up time.Duration) Decision {
	s.refill(up)
	s.attempts++
	s.failures++
	return s.severed(up)
}

// severed is the decision after an attempt whose process has ended under it.
func (s *Series) severed(up time.Duration) Decision {
	s.answered, s.unclear = up, true
	o := trace.Outcome{Class: trace.Unknown, Effect: trace.EffectUnknown}
	var d Decision
	switch {
	case s.p.MaxAttempts != Unlimited && s.attempts >= s.p.MaxAttempts:
		d = stop(trace.ReasonExhausted, up)
	case !s.p.safe(&o):
		d = stop(trace.ReasonOutcomeUnknown, up)
	default:
		hi := s.longestWait()
		lease := max(0, plus(s.began, s.p.Attempt)-up)
		d = s.fit(wait{hi: plus(hi, lease)}, up, 0)
		if d.Do == Go && !slices.ContainsFunc(lostClasses, s.p.Retries) {
			d.Do, d.Reason, d.EndLo, d.EndHi = Either, trace.ReasonOutcomeUnknown, up, up
		}
	}
	d.also |= s.overdue(up)
	if d.Do != Go {
		d.also |= soft
	}
	s.doubt(&d, up)
	return d
}

// longestWait is the longest wait that may follow an attempt whose process has
// ended under it, whether the program counts it or not.
func (s *Series) longestWait() time.Duration {
	_, hi := s.p.Backoff.Window(max(1, s.failures+s.phantoms), s.waited)
	if s.spared > 0 {
		_, counted := s.p.Backoff.Window(s.failures+1, s.waited)
		hi = max(hi, counted)
	}
	return hi
}

// doubt widens the decision where the program may have written down attempts
// that it died before making: it counts them.
func (s *Series) doubt(d *Decision, at time.Duration) {
	if s.phantoms == 0 || d.Do != Go || s.p.MaxAttempts == Unlimited || s.attempts+s.phantoms < s.p.MaxAttempts {
		return
	}
	d.Do, d.Reason, d.EndLo, d.EndHi = Either, trace.ReasonExhausted, at, at
	d.also |= soft
}

// wait under doubt: the program may have counted more failures.
func (s *Series) doubtful(w wait) wait {
	if s.phantoms > 0 {
		_, hi := s.p.Backoff.Window(s.failures+s.phantoms, s.waited)
		w.hi = max(w.hi, hi)
	}
	return w
}

// interrupted is what a policy allows whose retries are in memory only: the
// end, as interrupted or as what the last answer amounted to; nil: none came.
func (s *Series) interrupted(o *trace.Outcome, at, up time.Duration) Decision {
	d := stop(trace.ReasonInterrupted, up)
	d.also = soft
	if o != nil {
		if after := s.resumed(*o, at, up); after.Do != Go {
			d.also |= after.also | reasonSet(after.Reason)
			d.Reason = after.Reason
		}
	}
	return d
}
