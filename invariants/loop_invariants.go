package invariants

import (
	"fmt"
	"slices"

	"github.com/rehearse-go/rehearse/trace"
)

// Invariants returns the rules that the contract implies of a loop whose code calls
// its tools under the policy, each with the leave of [WhereItApplies]. What needs no
// field:
//
//   - of the run: no-panic, no-spin, returns, one-terminal, nothing-left,
//     cancel-reaches-tool, ends-at-cancel, no-effect-after-end; and for every call,
//     those of models, other agents and approvals included, no-call-on-dead-context,
//     no-attempt-after-end, no-attempt-after-cancel and within-deadline
//   - of the conversation: reply-kept, one-result, result-marked, prompt-resent,
//     order-in-place and conversation-taken
//   - of what the model asks for: tools-offered, arguments-whole, refusal-final,
//     error-not-input and order-ignored
//   - of what the user is shown: stream-once, user-secret, user-raw-error,
//     failure-told and guard-stop
//   - the policy's own rules, for the attempts of each ask by itself, with conforms;
//     and one-key and one-effect for all attempts of an intention
//
// and what the fields declare: turns-bounded, physical-attempts (Attempts),
// intention-bounded, failing-bounded, tool-failures-bounded (PerTool),
// failures-escalate (EscalateAfter), prompt-not-flooded (Rejections),
// within-tokens, allowed-tools, protected-in-run, corrected-in-run, approved,
// claim-after-success and stop-after-goal (Goal), evidence-first; and with Model the
// policy's rules for each turn, their names behind "model-".
//
// What the policy implies for an action as a whole is left out where a run is more
// than one series: the first and last delay, the end and its reason.
func (l Loop) Invariants(p Policy) []Invariant {
	if err := l.Validate(); err != nil {
		return []Invariant{unsound("turns-bounded", err)}
	}
	if err := p.Validate(); err != nil {
		return []Invariant{unsound("conforms", err)}
	}
	anew := l
	l.runs = lately(func(tr *trace.Trace) []*run { return anew.runsOf(&p, tr) })
	list := l.whole()
	list = append(list, l.limits(&p)...)
	list = append(list, l.asking(&p)...)
	list = append(list, l.telling(&p)...)
	list = append(list, l.talking(&p)...)
	list = append(list, l.retrying(&p)...)
	for i := range list {
		list[i] = WhereItApplies(list[i])
	}
	return list
}

// whole lists the rules of the run as a whole.
func (l *Loop) whole() []Invariant {
	list, all := []Invariant{NoPanic(), NoSpin(), Returns()}, lately(everyCall)
	for _, inv := range []Invariant{NoCallOnDeadContext(), NoAttemptAfterEnd(), NoAttemptAfterCancel(), WithinDeadline()} {
		list = append(list, inv.on("", all))
	}
	return append(list, CancelReachesTool(), EndsAtCancel(), NoEffectAfterEnd(), OneTerminal(), NothingLeft())
}

// limits lists the rules that count.
func (l *Loop) limits(p *Policy) (list []Invariant) {
	for _, r := range []struct {
		on  bool
		inv func(*Policy) Invariant
	}{
		{l.Turns > 0, l.turnsBounded},
		{l.EscalateAfter > 0, l.escalates},
		{l.PerTool > 0, l.toolFailures},
		{true, l.refusalFinal},
		{l.Failing > 0, l.failingBounded},
		{l.Intention > 0, l.intentionBounded},
		{l.Tokens > 0, l.withinTokens},
	} {
		if r.on {
			list = append(list, r.inv(p))
		}
	}
	if l.Attempts > 0 {
		list = append(list, PhysicalAttempts(l.Attempts))
	}
	return list
}

// asking lists the rules of what is done of what the model asks for.
func (l *Loop) asking(p *Policy) (list []Invariant) {
	list = append(list, l.argumentsWhole(p))
	if len(l.Tools) > 0 {
		list = append(list, AllowedTools(l.Tools...))
	}
	list = append(list, l.toolsOffered(p))
	if len(l.Approve) > 0 {
		list = append(list, l.approved(p))
	}
	if len(l.Protected) > 0 {
		list = append(list, l.protectedInRun(p))
	}
	if l.Correct.Once {
		list = append(list, l.correctedInRun(p))
	}
	return append(list, l.orderIgnored(p), l.errorNoInput(p))
}

// telling lists the rules of what the user is shown.
func (l *Loop) telling(p *Policy) (list []Invariant) {
	if l.Goal != "" {
		list = append(list, l.claimAfterSuccess(p), l.stopAfterGoal(p))
	}
	if len(l.Evidence) > 0 {
		list = append(list, l.evidenceFirst(p))
	}
	return append(list, l.guardStop(p), l.failureTold(p), l.userSecret(p), l.userRawError(p), l.streamOnce(p))
}

// talking lists the rules of what the model is shown.
func (l *Loop) talking(p *Policy) (list []Invariant) {
	if !l.Compacts {
		list = append(list, l.replyKept(p))
	}
	list = append(list, l.oneResult(p), l.resultMarked(p), l.promptResent(p), l.orderInPlace(p), l.conversationTaken(p))
	if l.Rejections > 0 {
		list = append(list, l.promptNotFlooded(p))
	}
	return list
}

// retrying lists the rules of the policies.
func (l *Loop) retrying(p *Policy) (list []Invariant) {
	intentions, asks, turns := lately(intentionsOf), lately(l.asksOf(p)), lately(l.turnsOf(p))
	for _, inv := range p.pick(ofIntentions) {
		list = append(list, inv.on("", intentions))
	}
	for _, inv := range p.pick(ofAsks) {
		list = append(list, inv.on("", asks))
	}
	if l.thinks() {
		for _, inv := range l.Model.pick(ofAsks) {
			if slices.Contains(notOfTurns, inv.Name) {
				continue
			}
			inv.Rule = fmt.Sprintf("for each turn of a model: %s", inv.Rule)
			list = append(list, inv.on("model-", turns))
		}
	}
	return list
}
