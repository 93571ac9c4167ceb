package faultsim

import (
	"fmt"
	"slices"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// mayIdle says of rules why no trial of a right program need ever be able to break
// them; empty: the schedules bring about what they are about. Of rules that are not
// listed they always do. A rule is about what the policy declares, what the doubles
// can show, or what a program may do and need not.
var mayIdle = map[string]func(*drawer) string{
	// What the adapter declares.
	"one-key":                   (*drawer).keyless,
	"operator-retry":            func(d *drawer) string { return unless(d.again, "the adapter has no Again") },
	"no-attempt-while-draining": func(d *drawer) string { return unless(d.drains, "the adapter has no HandedBack") },
	"survives-restart":          func(d *drawer) string { return unless(d.crashes, "the adapter has no Resume") },
	"interrupted-auditable":     func(d *drawer) string { return unless(d.crashes, "the adapter has no Resume") },
	"drain-counted":             (*drawer).drainless,
	"no-retry-after-refusal":    (*drawer).refuseless,
	"hint-honoured":             (*drawer).hintless,
	"advice-heeded":             (*drawer).adviceless,
	"same-arguments":            (*drawer).retryless,
	"waits-in-window":           (*drawer).retryless,
	"no-overlap":                (*drawer).overlapless,
	"arguments-whole":           (*drawer).pieceless,
	"prompt-resent":             (*drawer).modelRetryless,
	"model-hint-honoured":       (*drawer).modelHintless,
	"model-no-overlap":          (*drawer).modelRetryless,
	"model-same-arguments":      (*drawer).modelRetryless,
	"model-waits-in-window":     (*drawer).modelRetryless,

	// What is below a tool that is itself under test.
	"at-once-as-declared":          func(d *drawer) string { return unless(len(d.tools) > 0, "no tool below takes time") },
	"passing-failure-forgotten":    fromBelow(trace.Transient, trace.Throttled, trace.NotConnected),
	"definite-failure-as-declared": fromBelow(trace.Invalid, trace.NotFound, trace.Conflict, trace.Forbidden, trace.Declined),

	// What a program may do and need not.
	"drain-hands-back":      own("it is about actions that end in their time of grace, and a process may hand all of them back"),
	"no-effect-after-end":   own("it is about calls that are left at work, and a program need leave none"),
	"one-terminal":          own("it is about ends that the program publishes, and it need publish none"),
	"session-left-alone":    own("it is about sessions that the program closes, and it need close none"),
	"tool-failures-bounded": own("it is about asks that fail in a row, and a model may have nothing else to ask for after a failure"),
	"failures-escalate":     own("it is about asks that fail in a row, and a model may have nothing else to ask for after a failure"),
	"stream-once":           own("it is about words that are shown as they come, and a program may show them when they are whole"),
	"error-not-input":       own("it is about calls that follow a failure, and a run need make none"),
	"order-ignored":         own("it is about calls that follow a failure, and a run need make none"),
	"order-in-place":        own("it is about prompts that follow a failure, and a run may end with it"),
	"user-secret":           own("it is about what the user is shown after a failure, and a run may end with an error"),
	"user-raw-error":        own("it is about what the user is shown after a failure, and a run may end with an error"),
}

func own(why string) func(*drawer) string { return func(*drawer) string { return why } }

func unless(is bool, why string) string {
	if is {
		return ""
	}
	return why
}

// fromBelow: a tool below has to answer with one of the classes.
func fromBelow(classes ...trace.Class) func(*drawer) string {
	return func(d *drawer) string {
		return unless(slices.ContainsFunc(d.tools, func(t drawnTool) bool {
			return slices.ContainsFunc(classes, func(c trace.Class) bool { f := Fail(c); return t.can(&f) })
		}), fmt.Sprintf("no tool below can answer %v", classes))
	}
}

func (d *drawer) keyless() string {
	return unless(keyOf(d.p) != "", "the policy has no Key")
}

func (d *drawer) drainless() string {
	if !d.drains {
		return "the adapter has no HandedBack"
	}
	return "it is about attempts that a drain cuts off, and a process may wait for their answer"
}

// refuseless: no tool can answer as its policy refuses. Where a repeat is not safe,
// an outcome that nobody knows is no refusal.
func (d *drawer) refuseless() string {
	return unless(slices.ContainsFunc(d.tools, func(t drawnTool) bool {
		p := d.p.Of(t.name)
		return t.items == nil && slices.ContainsFunc(t.refused, func(f Fault) bool {
			return !remedied(p, f.class()) && (p.Repeatable || p.Key != "" || p.Effect(trace.Outcome{Class: f.class()}) != trace.EffectUnknown)
		})
	}), "no tool can answer with a class that the policy refuses")
}

// remedied reports whether the policy lets a call follow the refusal, once what it was
// refused for is mended.
func remedied(p *invariants.Policy, c trace.Class) bool {
	return p.Correct.Once && c == trace.Invalid || p.Refresh.Once && c == trace.Unauthenticated
}

// pieceless: no model can write arguments that break off, in a whole reply or in one
// that streams. An API may have no place for the first.
func (d *drawer) pieceless() string {
	return unless(slices.ContainsFunc(d.models, func(m drawnModel) bool {
		return m.can(&Fault{Move: MoveGarble}) || m.can(&Fault{Body: 1})
	}), "no model can write arguments that break off")
}

func (d *drawer) hintless() string {
	return unless(slices.ContainsFunc(d.tools, func(t drawnTool) bool { return t.asks(d.p.Of(t.name)) }),
		"no tool can ask for a wait, with an answer that the policy retries and of which it reads hints")
}

// asks reports whether a failure that the policy retries can carry a wait that it
// reads.
func (t *drawnTool) asks(p *invariants.Policy) bool {
	return len(t.hints) > 0 && t.most != 1 && p.Hint.Use != invariants.HintIgnore && slices.ContainsFunc(t.retried, func(f Fault) bool {
		read := len(p.Hint.Classes) == 0 || slices.Contains(p.Hint.Classes, f.class())
		f.Hint = 1
		return read && slices.Contains(askers, f.Class) && t.can(&f)
	})
}

func (d *drawer) adviceless() string {
	return unless(slices.ContainsFunc(d.tools, func(t drawnTool) bool { return t.advised }), "no tool has a word on retrying")
}

func (d *drawer) retryless() string {
	return unless(slices.ContainsFunc(d.tools, func(t drawnTool) bool { return t.retries() }), "no tool is called twice by the policy")
}

// retries reports whether the tool can fail in a way that has it called again.
func (t *drawnTool) retries() bool { return t.most != 1 && (len(t.retried) > 0 || t.items != nil) }

func (d *drawer) overlapless() string {
	return unless(slices.ContainsFunc(d.tools, func(t drawnTool) bool { return t.items == nil && t.retries() }),
		"no tool is called twice by the policy, with all that it was asked for before")
}

func (d *drawer) modelHintless() string {
	return unless(slices.ContainsFunc(d.models, func(m drawnModel) bool { return m.asks(&d.loop.Model) }), "no model can ask for a wait")
}

func (d *drawer) modelRetryless() string {
	return unless(slices.ContainsFunc(d.models, func(m drawnModel) bool { return m.retries() }), "no model is asked twice by the policy")
}
