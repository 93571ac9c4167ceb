package invariants

import (
	"slices"
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// crashesSince lists the crashes between two events; until -1: all after the first.
func crashesSince(a *trace.Action, event, until int) []trace.Restart {
	if len(a.Restarts) == 0 {
		return nil
	}
	lo := slices.IndexFunc(a.Restarts, func(r trace.Restart) bool { return r.CrashEvent > event })
	if lo < 0 {
		return nil
	}
	list := a.Restarts[lo:]
	if hi := slices.IndexFunc(list, func(r trace.Restart) bool { return until >= 0 && r.CrashEvent > until }); hi >= 0 {
		list = list[:hi]
	}
	return list
}

// forgotten reports whether the process died at the instant of the attempt's
// answer, before anything else: it may not have written the answer down. One that
// handed the action back has.
func forgotten(a *trace.Action, at *trace.Attempt) bool {
	if len(a.Restarts) == 0 || !at.Seen {
		return false
	}
	crashes := crashesSince(a, at.Event, -1)
	return len(crashes) > 0 && crashes[0].Crash == at.End && !crashes[0].HandedBack
}

// writes counts the crashes that came at a durable write.
func writes(crashes []trace.Restart) int {
	n := 0
	for i := range crashes {
		if crashes[i].Write > 0 {
			n++
		}
	}
	return n
}

// crashed fills the step in where the process died after the attempt and
// before what followed. False: the trace or the policy does not say how it
// goes on.
func (w *walk) crashed() (known bool) {
	up := w.crashes[len(w.crashes)-1]
	if up.UpEvent < 0 || w.p.Restart == RestartUndeclared {
		return false
	}
	w.went, w.end, w.side, w.fresh = w.at.Outcome, w.at.End, 0, false
	switch {
	case w.p.Restart == RestartInterrupts && (w.at.Lost || w.at.Drained):
		w.d = w.auto.Lost(up.Up)
	case w.p.Restart == RestartInterrupts:
		w.d = w.auto.Resumed(w.at.Outcome, w.at.End, up.Up)
	case w.at.Drained:
		w.asDrained()
	case w.at.Lost:
		w.written(w.crashes[1:])
		w.asLost(up.Up)
	default:
		before := w.auto
		w.asAnswered(w.at.Outcome, w.at.End, up.Up)
		if !w.fits() && forgotten(w.a, w.at) {
			first, after := w.step, w.auto
			w.auto = before
			w.written(w.crashes[1:])
			if w.asLost(up.Up); !w.fits() {
				w.step, w.auto = first, after
			}
		}
	}
	return true
}

// written counts attempts that may have been written down and were never made, one
// for each crash at a write; their time begins when they were written down.
func (w *walk) written(crashes []trace.Restart) {
	for i := range crashes {
		if crashes[i].Write > 0 {
			w.auto.phantoms++
			w.auto.began = crashes[i].Crash
		}
	}
}

// asLost reads the attempt as one whose outcome the program does not know.
func (w *walk) asLost(up time.Duration) {
	w.went, w.end = trace.Outcome{Class: trace.Unknown, Effect: trace.EffectUnknown}, up
	w.d = w.auto.lost(up)
	w.lookAside()
}

// asAnswered reads the attempt as one whose answer, at the instant, outlived the
// crash. Where the next one was due, the program may have died with that one
// written down.
func (w *walk) asAnswered(o trace.Outcome, at, up time.Duration) {
	w.went, w.end = o, at
	base := w.auto
	due := base.Next(o, at)
	phantoms, began := 0, w.auto.began
	for i := range w.crashes {
		unaware := i > 0 && forgotten(w.a, w.at) // of the answer, and so of the wait
		if c := &w.crashes[i]; c.Write > 0 && (due.Do != Stop || i > 0 && w.p.refills()) && (unaware || c.Crash-at >= due.Lo) {
			phantoms++
			began = c.Crash
		}
	}
	w.auto.phantoms += phantoms
	w.d = w.auto.resumed(o, at, up)
	if phantoms > 0 && w.d.Do != Stop {
		ghost := w.auto
		ghost.phantoms, ghost.began = ghost.phantoms-phantoms, began
		w.d.orElse(ghost.lost(up), up-at)
	}
	w.lookAside()
}

// orElse widens the decision by another reading, whose waits begin later by the
// shift.
func (d *Decision) orElse(other Decision, shift time.Duration) {
	if other.Do != Stop {
		d.Hi = max(d.Hi, plus(other.Hi, shift))
	}
	if other.Do == Go {
		return
	}
	d.also |= other.also | reasonSet(other.Reason)
	if d.Do == Go {
		d.Do, d.Reason, d.EndLo, d.EndHi = Either, other.Reason, other.EndLo, other.EndHi
		return
	}
	d.EndLo, d.EndHi = min(d.EndLo, other.EndLo), max(d.EndHi, other.EndHi)
}

// lookAside takes other calls out of the wait, as for an answer.
func (w *walk) lookAside() {
	w.side, w.fresh = 0, false
	if w.then != nil && len(w.sc.side) > 0 {
		w.aside()
	}
}

// bornLate is when the action began, as far as its program can know: one that
// died before its first attempt may have written nothing down.
func bornLate(a *trace.Action) time.Duration {
	if len(a.Restarts) == 0 || len(a.Attempts) == 0 {
		return a.Begin
	}
	begin := a.Begin
	for _, r := range crashesSince(a, -1, a.Attempts[0].Event) {
		if r.Write > 0 && r.UpEvent >= 0 {
			begin = r.Up
		}
	}
	return begin
}

// rareRule is sceneRule for what concerns few actions: where a trace has none of
// them, nothing is looked at.
func rareRule(name, text string, concerns func(a *trace.Action) bool, look func(sc scene, a *trace.Action) Verdict) Invariant {
	return Invariant{Name: name, Rule: text, Check: func(tr *trace.Trace) Verdict {
		var v Verdict
		var sc scene
		actions := tr.Actions()
		for i := range actions {
			a := &actions[i]
			if !concerns(a) {
				continue
			}
			if sc.tr == nil {
				sc = lookAt(tr)
			}
			if !sc.unsureOf(a) {
				v.add(name, look(sc, a))
			}
		}
		return v
	}}
}

func restarted(a *trace.Action) bool { return len(a.Restarts) > 0 }
