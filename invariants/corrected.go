package invariants

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-go/rehearse/trace"
)

// correctRules are those about corrected arguments; none where nothing is
// promised.
func (p *Policy) correctRules() (list []Invariant) {
	if !p.Correct.Once {
		return nil
	}
	// First what was sent, and then how often: an invented value is often one of many.
	list = append(list, RejectedPayload(*p))
	if len(p.Correct.Fields) > 0 {
		list = append(list, ProtectedArguments(*p))
	}
	if !p.Correct.FromError {
		list = append(list, CorrectionGrounded(*p))
	}
	return append(list, CorrectedOnce(*p))
}

// rejected yields the attempts that were rejected and that the policy lets be
// corrected, each with the one that followed it; nil: none did.
func (p *Policy) rejected(s *trace.Series, look func(i int, at, next *trace.Attempt) (on bool)) {
	for i := range s.Attempts {
		at := &s.Attempts[i]
		if !at.Seen || !p.corrects(&at.Outcome) {
			continue
		}
		next := after(s, i)
		if next != nil && !classSet(trace.Invalid).all(at, next) {
			continue // its caller may have gone by the end of its own time
		}
		if !look(i, at, next) {
			return
		}
	}
}

// RejectedPayload is: arguments that a tool has rejected are not sent to it
// again in the same action, whatever was looked at or has failed in between ("it
// should not repeatedly submit the same rejected payload", Testing Agent Tool-Call
// Retry Behavior).
func RejectedPayload(p Policy) Invariant {
	return seriesRule("rejected-payload", "arguments that were rejected are not sent again",
		func(a *trace.Action, s *trace.Series) (v Verdict) {
			p.rejected(s, func(i int, at, next *trace.Attempt) bool {
				v.Applied++
				if next == nil {
					return true
				}
				for n := i + 1; n < len(s.Attempts); n++ {
					if again := &s.Attempts[n]; again.Event >= next.Event && trace.SameArgs(again.Args, at.Args) {
						v.report(a, fmt.Sprintf("attempt %d sent %s the arguments again that it had rejected: %s", again.N, s.Tool, short(again.Args)),
							"look at the tool's definition, correct what has a safe mapping and keep the correction, or ask for other input", at.AnswerEvent, again.Event)
						return false
					}
				}
				return true
			})
			return v
		})
}

// CorrectedOnce is: a call is corrected once, and what a tool rejects after that
// ends the action ("one grounded correction", Testing Agent Tool-Call Retry
// Behavior).
func CorrectedOnce(p Policy) Invariant {
	return seriesRule("corrected-once", "arguments are corrected once",
		func(a *trace.Action, s *trace.Series) (v Verdict) {
			done := -1
			p.rejected(s, func(_ int, at, next *trace.Attempt) bool {
				v.Applied++
				switch {
				case next == nil || trace.SameArgs(at.Args, next.Args):
				case done >= 0:
					v.report(a, fmt.Sprintf("the arguments of %s were corrected a second time", s.Tool),
						"one correction from what the definition says; if that is rejected too, ask for other input", done, at.AnswerEvent, next.Event)
					return false
				default:
					done = next.Event
				}
				return true
			})
			return v
		})
}

// CorrectionGrounded is: arguments that were rejected are changed only by one who
// has looked at the tool's definition since: in between, or by what another action
// has brought. A value that is made up may be accepted, and mean something else.
func CorrectionGrounded(p Policy) Invariant {
	return sceneRule("correction-grounded", "a correction rests on the tool's definition",
		func(sc scene, a *trace.Action) (v Verdict) {
			if sc.unsureOf(a) {
				return v
			}
			for i := range a.Series {
				s := &a.Series[i]
				p.rejected(s, func(_ int, at, next *trace.Attempt) bool {
					v.Applied++
					if next == nil || trace.SameArgs(at.Args, next.Args) || next.Definition != at.Definition || sc.lookedUp(a, at, next) {
						return true
					}
					v.report(a, fmt.Sprintf("attempt %d of %s sent other arguments than were rejected, and nobody had looked at its definition: %s instead of %s", next.N, s.Tool, short(next.Args), short(at.Args)),
						"fetch the definition anew and correct by what it says; without a safe mapping, ask for other input", at.AnswerEvent, next.Event)
					return false
				})
			}
			return v
		})
}

// lookedUp reports whether the action fetched definitions between two attempts.
func (sc *scene) lookedUp(a *trace.Action, at, next *trace.Attempt) bool {
	return slices.ContainsFunc(sc.between(a, at.Begin, next.Begin), func(c sideCall) bool {
		return c.role == trace.RoleDefinitions && c.ok && c.answer > at.AnswerEvent && c.answer < next.Event
	})
}

// ProtectedArguments is: a correction changes the fields that the policy lists,
// and no other ("city, date, currency, resource ID, and user constraints must
// remain equal", Testing Agent Tool-Call Retry Behavior). It does not apply to a
// policy that lists none.
func ProtectedArguments(p Policy) Invariant {
	fields := slices.Clone(p.Correct.Fields)
	return seriesRule("protected-arguments", "a correction leaves the other arguments alone",
		func(a *trace.Action, s *trace.Series) (v Verdict) {
			if len(fields) == 0 {
				return v
			}
			p.rejected(s, func(_ int, at, next *trace.Attempt) bool {
				v.Applied++
				if next == nil || trace.SameArgs(at.Args, next.Args) || trace.SameArgs(without(at.Args, fields), without(next.Args, fields)) {
					return true
				}
				v.report(a, fmt.Sprintf("the correction of %s changed more than %s: %s instead of %s", s.Tool, strings.Join(fields, ", "), short(next.Args), short(at.Args)),
					"map the rejected value and leave everything else as the caller said it", at.AnswerEvent, next.Event)
				return false
			})
			return v
		})
}

// without is the arguments without the fields, in canonical form.
func without(args json.RawMessage, fields []string) json.RawMessage {
	var value any
	if json.Unmarshal(args, &value) != nil {
		return args
	}
	for _, field := range fields {
		names := strings.Split(field, ".")
		object, _ := value.(map[string]any)
		for _, name := range names[:len(names)-1] {
			object, _ = object[name].(map[string]any)
		}
		delete(object, names[len(names)-1])
	}
	return trace.Canonical(trace.Marshal(value))
}
