package invariants

import (
	"slices"
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// A DrainedAttempt says whether an attempt counts that was under way when the
// program's process was told to stop, and that the process cut off and gave back.
// Job runners differ: some count an attempt when it begins, whatever becomes of
// it, and some hand the job back as it was before.
type DrainedAttempt string

const (
	// DrainUndeclared: either is right.
	DrainUndeclared DrainedAttempt = ""

	// DrainCounts: it is one of MaxAttempts, as one that a crash cuts off is.
	DrainCounts DrainedAttempt = "counts"

	// DrainFree: it is none of MaxAttempts and no failure for the backoff. It was
	// asked of the tool all the same: Spend and OneEffect see it, and where a
	// repeat is not safe there is none.
	DrainFree DrainedAttempt = "free"
)

// drain validates the field.
func (v *validator) drain(p *Policy) {
	known := []DrainedAttempt{DrainUndeclared, DrainCounts, DrainFree}
	switch {
	case !slices.Contains(known, p.Drain):
		v.want(false, "Drain", "is %q; say DrainCounts, DrainFree, or nothing", p.Drain)
	case p.Drain != DrainUndeclared:
		v.want(p.Restart == RestartResumes, "Drain", "is %q while nothing goes on after a restart: set Restart to RestartResumes, or clear it", p.Drain)
	}
}

// Drained is [Series.Next] for an attempt that the program's process cut off when
// it was told to stop, and gave back: its outcome is not known, and up is the
// instant at which the next process is up. Whether it counts says the policy's
// Drain; otherwise it is as [Series.Lost]. It is for a policy with a Restart.
func (s *Series) Drained(up time.Duration) Decision { return s.drained(up, s.p.Drain) }

func (s *Series) drained(up time.Duration, counts DrainedAttempt) Decision {
	switch {
	case s.p.Restart == RestartInterrupts:
		return s.interrupted(nil, up, up)
	case counts == DrainCounts:
		return s.lost(up)
	case counts == DrainUndeclared:
		s.phantoms++ // the program may have counted it
	}
	s.refill(up)
	s.spared++
	s.hidden = max(s.hidden, s.waited)
	return s.severed(up)
}

// spares reports whether the policy lets an attempt that a drain cut off count
// for nothing.
func (p *Policy) spares(at *trace.Attempt) bool { return at.Drained && p.Drain != DrainCounts }

// spared counts the attempts of which it does.
func (p *Policy) spared(attempts []trace.Attempt) (n int) {
	for i := range attempts {
		if p.spares(&attempts[i]) {
			n++
		}
	}
	return n
}

// drainedBefore counts the attempts that a drain cut off before the event: an
// error or a record may tell of them or not, whatever they count for.
func drainedBefore(a *trace.Action, event int) (n int) {
	for i := range a.Attempts {
		if at := &a.Attempts[i]; at.Drained && at.Event < event {
			n++
		}
	}
	return n
}

// lifeAfter is the event with which the process ends that an event is of, or the
// action where that comes first; -1: neither came.
func lifeAfter(a *trace.Action, event int) int {
	over := -1
	if a.EndEvent > event {
		over = a.EndEvent
	}
	for i := range a.Restarts {
		if end := a.Restarts[i].CrashEvent; end > event && (over < 0 || end < over) {
			return end
		}
	}
	return over
}

// endedDraining is the drain of the process in which the action ended; nil: that
// process had not been told to stop.
func endedDraining(a *trace.Action) *trace.Drain {
	for i := range a.Drains {
		if d := &a.Drains[i]; a.Ended && lifeAfter(a, d.Event) == a.EndEvent {
			return d
		}
	}
	return nil
}

// stopped reports whether the action ended because its process was told to stop:
// that is then its last error.
func stopped(a *trace.Action) bool {
	last := lastBegun(a)
	return endedDraining(a) != nil && last != nil && (last.Drained || soft.has(a.Reason) && last.Outcome.Class != trace.OK)
}

// asDrained reads the step as that of an attempt which a drain cut off: what the
// tool answered all the same may be what the program went by.
func (w *walk) asDrained() {
	before := w.auto
	if w.cut(); w.fits() || w.at.Interrupted == 0 || w.at.AnswerEvent < 0 {
		return
	}
	first, after := w.step, w.auto
	w.auto = before
	switch end := w.crashes; {
	case len(end) == 0:
		w.read(w.at.Answer, w.at.Answered)
	case w.at.AnswerEvent < end[0].CrashEvent:
		w.asAnswered(w.at.Answer, w.at.Answered, end[len(end)-1].Up)
	}
	if !w.fits() {
		w.step, w.auto = first, after
	}
}

// cut asks the automaton about an attempt that a drain cut off. In the process
// that did so the action may still end, where no attempt is left to hand on. One
// that was killed before it handed the action back may have written down either.
func (w *walk) cut() {
	w.went = trace.Outcome{Class: trace.Unknown, Effect: trace.EffectUnknown}
	w.side, w.fresh = 0, false
	if len(w.crashes) == 0 {
		w.end = w.at.End
		w.d = w.auto.Drained(w.end)
		if d := endedDraining(w.a); d != nil && w.d.Do != Go {
			w.d.EndHi = max(w.d.EndHi, plus(d.At, d.Grace))
		}
		return
	}
	w.end = w.crashes[len(w.crashes)-1].Up
	w.written(w.crashes[1:])
	counts := w.p.Drain
	if !w.crashes[0].HandedBack {
		counts = DrainUndeclared
	}
	w.d = w.auto.drained(w.end, counts)
	w.lookAside()
}

// mayInterrupt lets an action end as interrupted in the grace of its process,
// where its retries are in memory only.
func (w *walk) mayInterrupt() {
	if len(w.a.Drains) == 0 || w.then != nil || w.d.Do == Stop || w.p.Restart != RestartInterrupts {
		return
	}
	if d := endedDraining(w.a); d != nil {
		w.d.Do, w.d.Reason = Either, trace.ReasonInterrupted
		w.d.EndLo, w.d.EndHi = max(w.end, d.At), max(w.end, plus(d.At, d.Grace))
		w.d.also |= soft
	}
}
