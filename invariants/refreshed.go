package invariants

import (
	"fmt"

	"github.com/rehearse-go/rehearse/trace"
)

// RefreshedOnce is: credentials are refreshed where the tool refused them, once,
// and a tool that refuses the new ones as well is not called again (field case
// F023: "at most one refresh per logical call"). A refresh after any other
// failure mends nothing; [Refresh].Early gives leave.
func RefreshedOnce(p Policy) Invariant {
	return sceneRule("refreshed-once", "credentials are refreshed once, and only where they were refused",
		func(sc scene, a *trace.Action) (v Verdict) {
			if sc.unsureOf(a) {
				return v
			}
			for i := range a.Series {
				v.refreshes(&p, &sc, a, &a.Series[i])
			}
			return v
		})
}

func (v *Verdict) refreshes(p *Policy, sc *scene, a *trace.Action, s *trace.Series) {
	for i := range s.Attempts {
		at, next := &s.Attempts[i], after(s, i)
		refused := at.Seen && at.Outcome.Class == trace.Unauthenticated
		if refused {
			v.Applied++
		}
		switch {
		case refused && next != nil && i > 0 && s.Attempts[i-1].Seen && s.Attempts[i-1].Outcome.Class == trace.Unauthenticated:
			v.report(a, fmt.Sprintf("%s was called again after it had refused the credentials twice in a row", at.Tool),
				"refresh once for each call; what refuses fresh credentials will refuse the next ones too", s.Attempts[i-1].AnswerEvent, at.AnswerEvent, next.Event)
			return
		case next == nil || p.Refresh.Early && !refused:
		case refused:
			if twice := sc.refreshed(a, at, next); len(twice) > 1 {
				v.report(a, fmt.Sprintf("the credentials were refreshed %d times after one refusal", len(twice)), "keep what the first refresh brought", twice...)
				return
			}
		case at.Seen && at.Outcome.Failed() && len(a.Series) == 1:
			v.Applied++
			if done := sc.refreshed(a, at, next); len(done) > 0 {
				v.report(a, fmt.Sprintf("the credentials were refreshed after %v, which says nothing about them", at.Outcome.Class),
					"refresh where the answer is unauthenticated, and there only", at.AnswerEvent, done[0])
				return
			}
		}
	}
}

// refreshed lists the calls for credentials that were answered between two
// attempts. The order of events counts: often all of it is one instant.
func (sc *scene) refreshed(a *trace.Action, at, next *trace.Attempt) (calls []int) {
	for _, c := range sc.between(a, at.End, next.Begin) {
		if c.role == trace.RoleAuth && c.ok && c.event > at.AnswerEvent && c.event < next.Event {
			calls = append(calls, c.event)
		}
	}
	return calls
}

// NewCredentialUsed is: an attempt after an unauthenticated answer carries
// another credential than the one that was refused (field case F023:
// "credential on a retry after refresh equals the refreshed one"). It applies
// where the trace shows credentials.
func NewCredentialUsed() Invariant {
	return seriesRule("new-credential-used", "a credential that was refused is not sent again",
		func(a *trace.Action, s *trace.Series) (v Verdict) {
			for i := range s.Attempts {
				at := &s.Attempts[i]
				if !at.Seen || at.Outcome.Class != trace.Unauthenticated || at.Credential == "" {
					continue
				}
				next := after(s, i)
				if next == nil {
					continue
				}
				if v.Applied++; next.Credential == at.Credential {
					v.report(a, fmt.Sprintf("%s was called again with the credential that it had refused", at.Tool),
						"refresh it, and read it afresh for each attempt: one that was read before the loop is the old one", at.AnswerEvent, next.Event)
					return v
				}
			}
			return v
		})
}

// RefreshShared is: callers whose one credential was refused share one refresh
// (field case F023: "Concurrent callers share one refresh"). Another follows
// where the first one failed. It is for code that promises it: see [Refresh].
func RefreshShared() Invariant {
	const name = "refresh-shared"
	return Invariant{Name: name, Rule: "one credential is refreshed once, whoever it was refused to", Check: func(tr *trace.Trace) Verdict {
		var v Verdict
		sc := lookAt(tr)
		if len(sc.side) == 0 {
			return v
		}
		v.share(tr)
		for i := range v.Findings {
			v.Findings[i].Invariant = name
		}
		return v
	}}
}

// A refresh is a call for credentials in place of refused ones.
type refresh struct {
	action       string
	event        int
	answered, ok bool
}

// share follows which credential each action was last refused, and who has
// refreshed it.
func (v *Verdict) share(tr *trace.Trace) {
	carried := map[int]string{}    // call → its credential
	refused := map[string]string{} // action → the credential that was refused to it
	fresh := map[string]refresh{}  // credential → its latest refresh
	auth := map[int]string{}       // call for credentials → the credential that it replaces
	for i := range tr.Events {
		e := &tr.Events[i]
		switch {
		case e.Ambiguous:
		case e.Kind == trace.KindCall && e.Role == trace.RoleAttempt:
			carried[e.Call] = e.Credential
			delete(refused, e.Action)
		case e.Kind == trace.KindAnswer && e.Outcome.Class == trace.Unauthenticated && carried[e.Call] != "":
			refused[e.Action] = carried[e.Call]
		case e.Kind == trace.KindCall && e.Role == trace.RoleAuth && refused[e.Action] != "":
			v.Applied++
			old := refused[e.Action]
			if first, ok := fresh[old]; ok && first.action != e.Action && (!first.answered || first.ok) {
				text := "the credential was refreshed although another caller had refreshed it already"
				if !first.answered {
					text = "the credential was refreshed while another caller's refresh of it was under way"
				}
				v.report(&trace.Action{Name: e.Action}, text,
					"let one caller refresh and the others wait for it, and look before a refresh whether the credential is still the one that was refused", first.event, i)
				return
			}
			fresh[old], auth[e.Call] = refresh{action: e.Action, event: i}, old
		case e.Kind == trace.KindAnswer && auth[e.Call] != "":
			c := fresh[auth[e.Call]]
			c.answered, c.ok = true, e.Outcome.Class == trace.OK
			fresh[auth[e.Call]] = c
		}
	}
}
