package invariants

import (
	"fmt"

	"github.com/rehearse-go/rehearse/trace"
)

func toldToStop(a *trace.Action) bool { return len(a.Drains) > 0 }

// drainRules are those about a process that is told to stop; none where nothing
// is promised of a restart.
func (p *Policy) drainRules() (list []Invariant) {
	if p.Restart == RestartUndeclared {
		return nil
	}
	list = append(list, NoAttemptWhileDraining(), DrainHandsBack(*p))
	if p.Drain != DrainUndeclared {
		list = append(list, DrainCounted(*p))
	}
	return list
}

// NoAttemptWhileDraining is: once the program's process has been told to stop, it
// begins no attempt; what is left is for the next process. At the instant of the
// signal either order is legal. An attempt that is under way may be brought to its
// end, and other calls, such as asking what became of it, may be made.
func NoAttemptWhileDraining() Invariant {
	return rareRule("no-attempt-while-draining", "a process that is told to stop begins no attempt", toldToStop,
		func(_ scene, a *trace.Action) (v Verdict) {
			for _, d := range a.Drains {
				v.Applied++
				over := lifeAfter(a, d.Event)
				for i := range a.Attempts {
					at := &a.Attempts[i]
					if at.Event > d.Event && at.Begin > d.At && (over < 0 || at.Event < over) {
						v.report(a, fmt.Sprintf("%s was called %v after the process had been told to stop", at.Tool, at.Begin-d.At),
							"wait on the signal as well as on the timer, look at it before each attempt, and hand back what is left", d.Event, at.Event)
						return v
					}
				}
			}
			return v
		})
}

// DrainHandsBack is: a process that is told to stop ends no action for that. It
// ends those that come to their own end in its time of grace, and hands the others
// back, so that the next process goes on with them; nobody has cancelled them.
// Where retries are in memory only, it may end them as interrupted.
func DrainHandsBack(p Policy) Invariant {
	return rareRule("drain-hands-back", "a process that is told to stop hands back what is not done, and does not end it", toldToStop,
		func(sc scene, a *trace.Action) (v Verdict) {
			d := endedDraining(a)
			if d == nil {
				return v
			}
			v.Applied++
			for i := range a.Series {
				for w := p.walk(sc, a, &a.Series[i]); w.next(); {
					if !w.last || w.then != nil {
						continue
					}
					if text := w.endedByDrain(); text != "" {
						v.report(a, text, w.p.handBack(), d.Event, a.EndEvent)
						return v
					}
				}
			}
			return v
		})
}

// endedByDrain words an end that only the drain explains; empty: it has another
// reason.
func (w *walk) endedByDrain() string {
	cut := fmt.Sprintf("after attempt %d of %s, and more were allowed", w.at.N, w.at.Tool)
	if w.at.Drained {
		cut = fmt.Sprintf("which cut attempt %d of %s off", w.at.N, w.at.Tool)
	}
	said := w.a.Reason
	switch {
	case said == trace.ReasonSuccess || said == 0 && w.a.Error == "":
		return "" // the business of [HonestEnding]
	case w.d.Do == Go:
		if w.excused() {
			return ""
		}
		return fmt.Sprintf("the action was ended by the drain, %s", cut)
	case !w.at.Drained && w.p.Restart != RestartInterrupts, said == 0 && w.p.Restart != RestartInterrupts:
		return ""
	case said == 0 && w.d.Reason == trace.ReasonInterrupted, said != 0 && !w.d.Allows(said):
		return fmt.Sprintf("the action was ended by the drain, %s, and ends %s", cut, called(w.a))
	}
	return ""
}

// handBack is the advice for who ends what a drain finds under way.
func (p *Policy) handBack() string {
	if p.Restart == RestartInterrupts {
		return "end what the drain finds under way as interrupted, and not as the caller's cancel"
	}
	return "write down what is left, and return an error that Adapter.HandedBack knows: the next process goes on with it"
}

// DrainCounted is: an attempt that a drain cut off, and that was handed back,
// counts among MaxAttempts or does not, as the policy's Drain says. It does not
// apply where that says nothing.
func DrainCounted(p Policy) Invariant {
	return rareRule("drain-counted", "an attempt that a drain cut off counts as declared", toldToStop,
		func(sc scene, a *trace.Action) (v Verdict) {
			for i := range a.Series {
				if v.drainCounted(p.Of(a.Series[i].Tool), &p, sc, a, &a.Series[i]); len(v.Findings) > 0 {
					return v
				}
			}
			return v
		})
}

func (v *Verdict) drainCounted(own, p *Policy, sc scene, a *trace.Action, s *trace.Series) {
	made, cut := len(s.Attempts), handedBack(a, s)
	if cut == nil || own.MaxAttempts == Unlimited {
		return
	}
	switch own.Drain {
	case DrainCounts:
		v.Applied++
		if made > own.MaxAttempts {
			v.report(a, fmt.Sprintf("%d attempts of %s, at most %d are allowed: attempt %d, which a drain cut off, counts", made, s.Tool, own.MaxAttempts, cut.N),
				"write the count down before each attempt, and leave it as it is when the job is handed back", cut.Event, s.Attempts[made-1].Event)
		}
	case DrainFree:
		v.Applied++
		if endedDraining(a) != nil {
			return // see [DrainHandsBack]
		}
		for w := p.walk(sc, a, s); w.next(); {
			if made >= own.MaxAttempts && w.then == nil && w.last && a.Ended && a.Error != "" && w.d.Do == Go && !w.excused() {
				v.report(a, fmt.Sprintf("the action was given up after %s of %s, at most %d are allowed: attempt %d, which a drain cut off, is free", counted(made, "attempt"), s.Tool, own.MaxAttempts, cut.N),
					"take the attempt back off the count when the job is handed back", cut.Event, a.EndEvent)
				return
			}
		}
	}
}

// handedBack is the first attempt of the series that a drain cut off in a process
// that handed the action back; nil: there is none.
func handedBack(a *trace.Action, s *trace.Series) *trace.Attempt {
	for i := range s.Attempts {
		at := &s.Attempts[i]
		if ends := crashesSince(a, at.Event, -1); at.Drained && len(ends) > 0 && ends[0].HandedBack {
			return at
		}
	}
	return nil
}
