package invariants

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Validate reports everything in the contract that contradicts itself; nil where
// there is nothing.
func (l Loop) Validate() error {
	v := loopValidator{id: l.ID}
	v.numbers(&l)
	v.names(&l)
	v.together(&l)
	if l.thinks() {
		if err := l.Model.Validate(); err != nil {
			v.complain("Model", "is no policy that can hold: %v", strings.ReplaceAll(err.Error(), "\n", "; "))
		}
	}
	return errors.Join(v.found...)
}

type loopValidator struct {
	id    string
	found []error
}

func (v *loopValidator) complain(field, format string, args ...any) {
	v.found = append(v.found, fmt.Errorf("loop %q: %s: %s", v.id, field, fmt.Sprintf(format, args...)))
}

func (v *loopValidator) numbers(l *Loop) {
	for _, n := range []struct {
		field string
		value int
	}{
		{"Turns", l.Turns}, {"Attempts", l.Attempts}, {"Intention", l.Intention}, {"Failing", l.Failing}, {"PerTool", l.PerTool},
		{"EscalateAfter", l.EscalateAfter}, {"Rejections", l.Rejections}, {"Tokens", l.Tokens},
	} {
		if n.value < 0 {
			v.complain(n.field, "is %d: say 0 for no bound", n.value)
		}
	}
	if l.Leave != LeaveOnce && l.Leave != LeaveRun {
		v.complain("Leave", "is %q: say LeaveOnce or LeaveRun", l.Leave)
	}
	if l.Count != CountTurns && l.Count != CountEach {
		v.complain("Count", "is %q: say CountTurns or CountEach", l.Count)
	}
}

func (v *loopValidator) names(l *Loop) {
	for _, list := range []struct {
		field string
		texts []string
		fix   string
	}{
		{"Tools", l.Tools, "a tool without a name: name it as it stands in traces"},
		{"Approve", l.Approve, "a tool without a name: name it as it stands in traces"},
		{"AfterGoal", l.AfterGoal, "a tool without a name: name it as it stands in traces"},
		{"Evidence", l.Evidence, "an empty text, which occurs everywhere: take it out"},
		{"Never", l.Never, "an empty text, which occurs everywhere: take it out"},
		{"Orders", l.Orders, "an empty text, which occurs everywhere: take it out"},
		{"Correct.Fields", l.Correct.Fields, "an empty path: name a field of the arguments, such as \"unit\""},
	} {
		if slices.Contains(list.texts, "") {
			v.complain(list.field, "holds %s", list.fix)
		}
	}
	for _, path := range l.Protected {
		if slices.Contains(strings.Split(path, "."), "") {
			v.complain("Protected", "holds %q, a path with an empty part: write it as in \"amount\" or \"pay.amount\"", path)
		}
	}
}

// known complains of a tool that the run may not call anyway.
func (v *loopValidator) known(l *Loop, field, tool string) {
	if tool != "" && len(l.Tools) > 0 && !slices.Contains(l.Tools, tool) {
		v.complain(field, "speaks of the tool %q, which Tools does not allow: add it there, or take it out here", tool)
	}
}

// together looks at fields that need each other.
func (v *loopValidator) together(l *Loop) {
	for _, tool := range l.Approve {
		v.known(l, "Approve", tool)
	}
	for _, tool := range l.AfterGoal {
		v.known(l, "AfterGoal", tool)
	}
	v.known(l, "Goal", l.Goal)
	if l.Goal == "" && len(l.AfterGoal) > 0 {
		v.complain("AfterGoal", "is set while Goal is empty: name the tool whose success is the goal, or clear it")
	}
	if l.Goal == "" && l.Claims != nil {
		v.complain("Claims", "is set while Goal is empty, so that no claim can be early: name the tool whose success is the goal, or clear it")
	}
	if c := l.Correct; !c.Once && (c.FromError || len(c.Fields) > 0) {
		v.complain("Correct.Once", "is false while other fields say how arguments are corrected: set it, or clear them")
	}
	if l.Leave == LeaveRun && len(l.Approve) == 0 {
		v.complain("Leave", "says for how long leave is good, and no tool needs any: list them in Approve, or clear it")
	}
	if l.Count == CountEach && l.Failing == 0 && l.PerTool == 0 && l.EscalateAfter == 0 {
		v.complain("Count", "says how failures count while nothing bounds them: set Failing, PerTool or EscalateAfter, or clear it")
	}
	if l.Intention > 0 && l.Attempts > 0 && l.Intention > l.Attempts {
		v.complain("Intention", "is %d, above the %d attempts of the whole run: lower it, or raise Attempts", l.Intention, l.Attempts)
	}
}

// thinks reports whether there is a policy for the calls of models.
func (l *Loop) thinks() bool {
	m := &l.Model
	return m.MaxAttempts != 0 || m.ID != "" || len(m.Retry) > 0 || m.Attempt != 0 || m.Budget != 0
}
