package invariants

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// A PolicyError is one contradiction in a policy.
type PolicyError struct {
	ID    string // the policy's ID
	Field string // such as "Hint.Limit"
	Text  string // what is wrong, and the fix
}

// Error is one line: the policy, the field, what is wrong and the fix.
func (e *PolicyError) Error() string {
	return fmt.Sprintf("policy %q: %s: %s", e.ID, e.Field, e.Text)
}

// Validate reports everything in the policy that contradicts itself, as joined
// [PolicyError] values; nil where there is nothing.
func (p *Policy) Validate() error {
	v := validator{id: p.ID}
	v.attempts(p)
	v.spend(p)
	v.classes(p)
	v.backoff(&p.Backoff)
	v.hint(&p.Hint)
	v.hedge(p)
	v.refresh(p)
	v.restart(p)
	v.correct(p)
	v.restartBudget(p)
	v.drain(p)
	for _, d := range []struct {
		field string
		value time.Duration
	}{
		{"Attempt", p.Attempt}, {"Budget", p.Budget}, {"Backoff.Base", p.Backoff.Base},
		{"Backoff.Cap", p.Backoff.Cap}, {"Hint.Limit", p.Hint.Limit}, {"Hedge.After", p.Hedge.After},
	} {
		v.want(d.value >= 0, d.field, "is %v; a time cannot be negative: say 0 for none", d.value)
	}
	v.want(p.Late == LateStop || p.Late == LateWait, "Late", "is %q; say LateStop or LateWait", p.Late)
	v.want(p.BudgetLate == LateStop || p.BudgetLate == LateWait, "BudgetLate", "is %q; say LateStop or LateWait", p.BudgetLate)
	v.want(p.Winner == WinnerEither || p.Winner == WinnerSuccess || p.Winner == WinnerCancel, "Winner", "is %q; say WinnerEither, WinnerSuccess or WinnerCancel", p.Winner)
	v.want(p.Budget > 0 || !p.BudgetCuts && p.BudgetLate == LateStop, "Budget", "is 0 while BudgetCuts or BudgetLate speak of it: set a budget or clear them")
	v.path("Key", p.Key)
	v.path("Refresh.Credential", p.Refresh.Credential)
	v.want(p.Key == "" || p.Key != p.Refresh.Credential, "Refresh.Credential", "is %q, where the Key is already: name the place of the credential", p.Key)
	v.advice(p)
	v.tools(p)
	return errors.Join(v.found...)
}

// path is the dotted path of a field, or the name of a header.
func (v *validator) path(field, path string) {
	v.want(path == "" || !slices.Contains(strings.Split(path, "."), ""), field, "is %q, a path with an empty part: write it as in \"order.key\"", path)
}

type validator struct {
	id    string
	found []error
}

func (v *validator) want(ok bool, field, format string, args ...any) {
	if !ok {
		v.found = append(v.found, &PolicyError{v.id, field, fmt.Sprintf(format, args...)})
	}
}

func (v *validator) attempts(p *Policy) {
	v.want(p.MaxAttempts != 0, "MaxAttempts", "is 0, which libraries read as default, unlimited or none: say 1 for a single attempt, or Unlimited with a Budget")
	v.want(p.MaxAttempts >= Unlimited, "MaxAttempts", "is %d: say 1 or more, or Unlimited", p.MaxAttempts)
	v.want(p.MaxAttempts != Unlimited || p.Budget > 0 || p.Spend > 0, "MaxAttempts", "is Unlimited without a Budget, so that a dead tool is called for ever: set Budget, or Price and Spend")
}

func (v *validator) classes(p *Policy) {
	seen := classes(0)
	for _, c := range p.Retry {
		v.want(c > 0 && c <= trace.Unknown, "Retry", "holds class #%d, which does not exist", c)
		v.want(c != trace.OK && c != trace.Declined, "Retry", "holds %v, which is a valid answer and not a failure: take it out", c)
		v.want(c != trace.Cancelled, "Retry", "holds cancelled: what the caller cancelled is never retried; take it out")
		v.want(!seen.has(c), "Retry", "holds %v twice: take one out", c)
		seen |= classSet(c)
		if c > trace.OK && c <= trace.Unknown && c != trace.Declined && c != trace.Cancelled {
			v.want(p.safe(&trace.Outcome{Class: c}), "Retry",
				"holds %v, after which the tool may have done its work, and the action is neither Repeatable nor has a Key: set Repeatable for a read, set Key for a write with an idempotency key, set Reconcile where the tool is asked first, put %v into Undone where it proves that nothing happened, or take it out of Retry", c, c)
		}
	}
	v.undone(p)
	v.desired(p)
}

func (v *validator) undone(p *Policy) {
	seen := classes(0)
	for _, c := range p.Undone {
		v.want(c > 0 && c <= trace.Unknown, "Undone", "holds class #%d, which does not exist", c)
		v.want(c != trace.OK && c != trace.Declined, "Undone", "holds %v, which is no failure: take it out", c)
		v.want(!seen.has(c), "Undone", "holds %v twice: take one out", c)
		seen |= classSet(c)
	}
}

func (v *validator) backoff(b *Backoff) {
	v.want(b.Factor == 0 || b.Factor >= 1 && !math.IsInf(b.Factor, 0), "Backoff.Factor", "is %v: say 1 for a constant wait, more for a growing one, 0 for 2", b.Factor)
	v.want(b.Cap == 0 || b.Cap >= b.Base, "Backoff.Cap", "is %v, below the Base of %v: raise it or lower the base", b.Cap, b.Base)
	v.want(b.CapIs == CapBefore || b.CapIs == CapAfter || b.CapIs == CapBoth, "Backoff.CapIs", "is %q; say CapBefore, CapAfter or CapBoth", b.CapIs)
	j := b.Jitter
	v.want(j.Low >= 0 && j.High >= j.Low && !math.IsInf(j.High, 0), "Backoff.Jitter", "is from %v to %v times the interval: Low must be at least 0 and High at least Low", j.Low, j.High)
	v.want(!j.Decorrelated || j.Low == 0 && j.High == 0, "Backoff.Jitter", "is decorrelated and has Low or High as well, which it does not use: clear them")
	v.want(!j.Decorrelated || b.Base > 0, "Backoff.Base", "is 0 while the jitter is decorrelated, which grows from it: set Base")
	v.want(!j.Decorrelated || (len(b.Delays) == 0 && b.Factor == 0), "Backoff.Jitter", "is decorrelated, which makes its own growth: leave Factor and Delays out")
	v.want(len(b.Delays) == 0 || (b.Base == 0 && b.Factor == 0), "Backoff.Delays", "is set together with Base or Factor: give one or the other")
	for i, d := range b.Delays {
		v.want(d >= 0, "Backoff.Delays", "has %v at place %d: a wait cannot be negative", d, i+1)
	}
}

func (v *validator) hint(h *Hint) {
	v.want(h.Use == HintMax || h.Use == HintReplace || h.Use == HintIgnore, "Hint.Use", "is %q; say HintMax, HintReplace or HintIgnore", h.Use)
	v.want(h.Over == OverStop || h.Over == OverClamp || h.Over == OverIgnore, "Hint.Over", "is %q; say OverStop, OverClamp or OverIgnore", h.Over)
	v.want(h.Limit > 0 || h.Over == OverStop, "Hint.Over", "is %q without a Limit: set Hint.Limit", h.Over)
	v.want(h.Use != HintIgnore || h.Limit == 0 && h.Jitter == 0 && !h.Resets && len(h.Classes) == 0, "Hint.Use", "is HintIgnore, while other fields say what a hint does: clear them or use it")
	seen := classes(0)
	for _, c := range h.Classes {
		v.want(c > trace.OK && c <= trace.Unknown && c != trace.Declined, "Hint.Classes", "holds %v, after which there is no retry to delay: take it out", c)
		v.want(!seen.has(c), "Hint.Classes", "holds %v twice: take one out", c)
		seen |= classSet(c)
	}
	v.want(h.Jitter >= 0 && !math.IsInf(h.Jitter, 0), "Hint.Jitter", "is %v: a wait may exceed a hint, never undercut it", h.Jitter)
}
