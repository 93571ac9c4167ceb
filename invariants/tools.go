package invariants

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// Of is the policy of the tool: its own one in Tools, else the policy itself.
func (p *Policy) Of(tool string) *Policy {
	if len(p.Tools) == 0 {
		return p
	}
	if own, ok := p.Tools[tool]; ok {
		return &own
	}
	return p
}

// governs is the policy of an attempt, and the instant from which its budget
// counts: a tool with a policy of its own is budgeted from the first attempt of
// the series. A nil attempt is one that was never made.
func (p *Policy) governs(a *trace.Action, at *trace.Attempt) (*Policy, time.Duration) {
	if at == nil || len(p.Tools) == 0 {
		return p, a.Begin
	}
	for i := range a.Series {
		s := &a.Series[i]
		if s.Tool == at.Tool && slices.ContainsFunc(s.Attempts, func(o trace.Attempt) bool { return o.Event == at.Event }) {
			return p.Of(s.Tool), p.begins(a, s)
		}
	}
	return p.Of(at.Tool), a.Begin
}

// begins is the instant from which the series counts its budget.
func (p *Policy) begins(a *trace.Action, s *trace.Series) time.Duration {
	if _, own := p.Tools[s.Tool]; own {
		return s.Attempts[0].Begin
	}
	return a.Begin
}

// alike reports whether one policy governs both tools.
func (p *Policy) alike(one, other string) bool {
	_, own := p.Tools[one]
	_, too := p.Tools[other]
	return one == other || !own && !too
}

// each lists the policies, that of all other tools first and without Tools.
func (p *Policy) each() (list []Policy, names []string) {
	rest := *p
	rest.Tools = nil
	list, names = []Policy{rest}, []string{""}
	for _, name := range slices.Sorted(maps.Keys(p.Tools)) {
		list, names = append(list, p.Tools[name]), append(names, name)
	}
	return list, names
}

// ofAttempts are the rules that look at attempts only, so that each policy's can be
// held to those of its tools.
var ofAttempts = []string{
	"attempt-timeout", "whole-attempt", "no-retry-after-refusal", "one-key",
	"advice-heeded", "reconciled-first", "attempts-bounded", "within-spend", "one-effect",
	"rejected-payload", "protected-arguments", "correction-grounded", "corrected-once",
}

// rulesOfTools lists the narrow rules of a policy whose tools have policies of
// their own. The rules of attempts are those of each policy, held to the part of the
// trace that is its tools'; the others look at the whole.
func (p *Policy) rulesOfTools() []Invariant {
	list, names := p.each()
	parts := map[string][]part{}
	for i := range list {
		for _, inv := range list[i].rules() {
			if slices.Contains(ofAttempts, inv.Name) {
				parts[inv.Name] = append(parts[inv.Name], part{inv, names[i]})
			}
		}
	}
	all := *p
	all.Attempt, all.Reconcile, all.Repeatable, all.Spend = 0, false, true, 0
	all.Budget, all.Correct = 0, Correct{FromError: true}
	for i := range list { // a rule is there where one of the policies calls for it
		all.Attempt, all.Budget = max(all.Attempt, list[i].Attempt), max(all.Budget, list[i].Budget)
		all.Reconcile, all.Spend = all.Reconcile || list[i].Reconcile, max(all.Spend, list[i].Spend)
		if c := &list[i].Correct; c.Once {
			all.Correct.Once, all.Correct.FromError = true, all.Correct.FromError && c.FromError
			all.Correct.Fields = append(all.Correct.Fields, c.Fields...)
		}
		if all.Advice == AdviceIgnored {
			all.Advice = list[i].Advice
		}
		all.Repeatable = all.Repeatable && list[i].Repeatable && list[i].Key == ""
		if all.Drain == DrainUndeclared {
			all.Drain = list[i].Drain
		}
		if list[i].MaxAttempts != Unlimited {
			all.MaxAttempts = list[i].MaxAttempts
		}
	}
	all.Tools = nil
	var rules []Invariant
	for _, inv := range all.rules() {
		switch {
		case parts[inv.Name] != nil:
			inv = p.joint(inv.Name, inv.Rule, parts[inv.Name])
		case inv.Name == "hint-honoured":
			inv = HintHonoured(*p)
		case inv.Name == "waits-in-window":
			inv = WaitsInWindow(*p)
		case inv.Name == "within-budget":
			inv = WithinBudget(*p)
		case inv.Name == "survives-restart":
			inv = SurvivesRestart(*p)
		case inv.Name == "drain-hands-back":
			inv = DrainHandsBack(*p)
		case inv.Name == "drain-counted":
			inv = DrainCounted(*p)
		case inv.Name == "no-last-delay":
			inv = noLastDelay(p, true)
		case inv.Name == "honest-ending":
			inv = honestEnding(p, false)
		}
		rules = append(rules, inv)
	}
	return rules
}

// A part is a rule of the policy of one tool; an empty name stands for all tools
// without a policy of their own.
type part struct {
	Invariant
	tool string
}

// joint is the rules of several policies as one.
func (p *Policy) joint(name, text string, parts []part) Invariant {
	return Invariant{Name: name, Rule: text, Check: func(tr *trace.Trace) Verdict {
		var v Verdict
		for i := range parts {
			part, index := p.partOf(tr, parts[i].tool)
			if part == nil {
				continue
			}
			w := parts[i].Check(part)
			v.Applied += w.Applied
			for _, f := range w.Findings {
				for n, e := range f.Events {
					f.Events[n] = index[e]
				}
				v.Findings = append(v.Findings, f)
			}
		}
		slices.SortStableFunc(v.Findings, func(x, y Finding) int { return first(x) - first(y) })
		return v
	}}
}

func first(f Finding) int {
	if len(f.Events) == 0 {
		return 0
	}
	return f.Events[0]
}

// partOf is the trace without the attempts at tools that another policy governs,
// and the places of its events in the whole; nil where no attempt is left.
func (p *Policy) partOf(tr *trace.Trace, tool string) (*trace.Trace, []int) {
	other := map[int]bool{}
	for i := range tr.Events {
		if e := &tr.Events[i]; e.Kind == trace.KindCall && e.Role == trace.RoleAttempt {
			own := ""
			if _, ok := p.Tools[e.Tool]; ok {
				own = e.Tool
			}
			other[e.Call] = own != tool
		}
	}
	if !slices.Contains(slices.Collect(maps.Values(other)), false) {
		return nil, nil
	}
	part := &trace.Trace{Schema: tr.Schema, Start: tr.Start, Policy: tr.Policy, Events: make([]trace.Event, 0, len(tr.Events))}
	index := make([]int, 0, len(tr.Events))
	for i := range tr.Events {
		if e := &tr.Events[i]; e.Call == 0 || !other[e.Call] {
			part.Events = append(part.Events, *e)
			index = append(index, i)
		}
	}
	return part, index
}

// tools validates the policies of single tools.
func (v *validator) tools(p *Policy) {
	key := p.Key
	for _, name := range slices.Sorted(maps.Keys(p.Tools)) {
		own := p.Tools[name]
		field := fmt.Sprintf("Tools[%q]", name)
		v.want(name != "", "Tools", "has a policy for a tool without a name: name it as it stands in traces")
		v.want(len(own.Tools) == 0, field, "has Tools of its own: list all tools in one place")
		v.want(key == "" || own.Key == "" || own.Key == key, field, "has its key in %q, and another tool in %q: a trace knows one place for keys, so use one", own.Key, key)
		if own.Key != "" {
			key = own.Key
		}
		own.Tools = nil
		if err, ok := own.Validate().(interface{ Unwrap() []error }); ok {
			for _, e := range err.Unwrap() {
				inner := e.(*PolicyError)
				v.found = append(v.found, &PolicyError{v.id, field + "." + inner.Field, inner.Text})
			}
		}
	}
}
