package invariants

import (
	"errors"
	"fmt"
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// A Session is the contract of how a program keeps its sessions with a tool:
// connections, or sessions of a protocol over them, whose state is apart from the
// outcome of a call (field case F028). A session is opened by a call of
// trace.RoleConnect and lost with a call over it that is answered as reset or
// not-connected; calls after that go over a new one. Whether a call is repeated at
// all is the policy's affair.
//
// The contract is beside the policy, as [Breaker] is, since many actions can share
// a session. The zero Session bounds the dials by the policy.
type Session struct {
	// Dials is how many sessions one action may try to open. 0: one more than the
	// policy has attempts, for each page or chunk, so that a session may be ready
	// for the next action as well.
	Dials int

	// Pause is the shortest wait between a dial that failed and the next one of the
	// same action. 0: any wait, but not none.
	Pause time.Duration
}

// Validate reports what cannot hold; nil where there is nothing.
func (s *Session) Validate() error {
	var errs []error
	if s.Dials < 0 {
		errs = append(errs, fmt.Errorf("session: Dials is %d: say how many sessions an action may try to open, or 0 for what the policy's attempts need", s.Dials))
	}
	if s.Pause < 0 {
		errs = append(errs, fmt.Errorf("session: Pause is %v: a time cannot be negative; say 0 for any wait", s.Pause))
	}
	return errors.Join(errs...)
}

// Invariants returns the rules that the contract implies under the policy, each
// with the leave of [WhereItApplies]:
//
//   - new-session-used: no call goes over a session that is known to be lost
//   - session-left-alone: a session is not closed under the calls that go over it
//   - dials-bounded: dials are counted, and a dial that failed is followed by a wait
func (s Session) Invariants(p Policy) []Invariant { return s.rules(&p) }

func (s *Session) rules(p *Policy) []Invariant {
	if err := s.Validate(); err != nil {
		return []Invariant{unsound("dials-bounded", err)}
	}
	list := []Invariant{NewSessionUsed(), SessionLeftAlone(), s.dialsBounded(p)}
	for i := range list {
		list[i] = WhereItApplies(list[i])
	}
	return list
}

// NewSessionUsed is: a call does not go over a session that its action has seen
// lost, nor over one that was lost or closed before its action began ("reconnect
// done", field case F028).
func NewSessionUsed() Invariant {
	return sessionRule("new-session-used", "a session that is lost is not used again", func(v *Verdict, w *sessions, i int, e *trace.Event) {
		if e.Kind != trace.KindCall || e.Role != trace.RoleAttempt || e.Session == 0 || e.Ambiguous {
			return
		}
		end, over := w.ended[e.Session]
		if !over {
			return
		}
		seen, own := w.seen[sight{e.Session, e.Action}]
		if own {
			end = seen
		}
		if begun, ok := w.begun[e.Action]; !own && (!ok || begun < end.event) {
			return // it may have had the session in its hands
		}
		how := "lost"
		if end.closed {
			how = "closed"
		}
		v.report(&trace.Action{Name: e.Action}, fmt.Sprintf("%s was called over session %d, which had been %s %v before", e.Tool, e.Session, how, e.At-end.at),
			"let go of a session with the failure that shows its loss, whoever meets it, and open another before the next call", end.event, i)
	})
}

// SessionLeftAlone is: the program does not close a session while calls go over
// it, be they another action's: what becomes of them is then not known. One that
// is lost may be closed (field case F028).
func SessionLeftAlone() Invariant {
	return sessionRule("session-left-alone", "a session is not closed under the calls that go over it", func(v *Verdict, w *sessions, i int, e *trace.Event) {
		if e.Kind != trace.KindClose {
			return
		}
		if _, over := w.ended[e.Session]; over {
			return
		}
		v.Applied++
		for _, c := range w.open {
			if c.session == e.Session {
				v.report(&trace.Action{Name: c.action}, fmt.Sprintf("session %d was closed while a call of %s was under way over it", e.Session, c.tool),
					"a failure of one call says nothing about a session that others share: let go of it, and close it when the last call over it is over", c.event, i)
				return
			}
		}
	})
}

// dialsBounded is: an action opens no more sessions than its attempts need, and
// does not dial again at the instant at which a dial has failed.
func (s *Session) dialsBounded(p *Policy) Invariant {
	pause, own := max(s.Pause, 1), *s
	return rule("dials-bounded", "dials are counted, and a dial that failed is followed by a wait", func(tr *trace.Trace, a *trace.Action) (v Verdict) {
		most := own.Dials
		if most == 0 && p.MaxAttempts != Unlimited {
			most = max(p.MaxAttempts, 1)*max(len(a.Series), 1) + 1
		}
		dials, failed := 0, -1
		calls := map[int]bool{}
		for i := range tr.Events {
			e := &tr.Events[i]
			switch {
			case e.Ambiguous || e.Action != a.Name:
			case e.Kind == trace.KindCall && e.Role == trace.RoleConnect:
				dials, calls[e.Call] = dials+1, true
				v.Applied++
				if most > 0 && dials > most {
					v.report(a, fmt.Sprintf("%s was dialled %d times for one action, at most %d are allowed", e.Tool, dials, most),
						"count a dial that fails as an attempt, or bound the dials apart", i)
					return v
				}
				if failed >= 0 && e.At-tr.Events[failed].At < pause {
					v.report(a, fmt.Sprintf("%s was dialled again %v after a dial had failed", e.Tool, e.At-tr.Events[failed].At),
						"wait after a dial that failed, as after an attempt: whoever is down is not helped by a loop", failed, i)
					return v
				}
				failed = -1
			case e.Kind == trace.KindAnswer && calls[e.Call] && lostWith(e.Outcome.Class):
				failed = i
			}
		}
		return v
	})
}

// lostWith reports whether a call that is answered so loses its session.
func lostWith(c trace.Class) bool { return c == trace.Reset || c == trace.NotConnected }

// sessions is what is known of them at an event.
type sessions struct {
	ended map[int]sessionEnd   // by session: its first end
	seen  map[sight]sessionEnd // the first that an action saw itself
	open  map[int]sessionCall  // by call: those that are under way
	begun map[string]int       // action → the event of its begin
}

type sessionEnd struct {
	event  int
	at     time.Duration
	closed bool
}

// A sight is an action that has seen the loss of a session.
type sight struct {
	session int
	action  string
}

type sessionCall struct {
	event, session int
	action, tool   string
}

// sessionRule makes an invariant out of a look at each event, with what was known
// of the sessions before it.
func sessionRule(name, text string, look func(v *Verdict, w *sessions, i int, e *trace.Event)) Invariant {
	return Invariant{Name: name, Rule: text, Check: func(tr *trace.Trace) Verdict {
		var v Verdict
		w := sessions{map[int]sessionEnd{}, map[sight]sessionEnd{}, map[int]sessionCall{}, map[string]int{}}
		for i := range tr.Events {
			e := &tr.Events[i]
			look(&v, &w, i, e)
			if w.note(i, e) && name == "new-session-used" {
				v.Applied++
			}
			if len(v.Findings) > 0 {
				v.Findings[0].Invariant = name
				return v
			}
		}
		return v
	}}
}

// note takes the event in, and reports whether a session ended with it.
func (w *sessions) note(i int, e *trace.Event) (ended bool) {
	switch e.Kind {
	case trace.KindBegin:
		w.begun[e.Action] = i
	case trace.KindCall:
		if e.Role == trace.RoleAttempt && e.Session != 0 {
			w.open[e.Call] = sessionCall{i, e.Session, e.Action, e.Tool}
		}
	case trace.KindClose:
		return w.end(e.Session, sessionEnd{i, e.At, true})
	case trace.KindInterrupt:
		delete(w.open, e.Call) // its caller has left, and does not see what becomes of it
	case trace.KindAnswer:
		c, ok := w.open[e.Call]
		delete(w.open, e.Call)
		if ok && lostWith(e.Outcome.Class) {
			end, by := sessionEnd{i, e.At, false}, sight{c.session, c.action}
			if _, before := w.seen[by]; !before {
				w.seen[by] = end
			}
			return w.end(c.session, end)
		}
	}
	return false
}

// end notes the first end of a session.
func (w *sessions) end(session int, how sessionEnd) bool {
	if _, over := w.ended[session]; over {
		return false
	}
	w.ended[session] = how
	return true
}
