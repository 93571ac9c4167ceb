package invariants

// Invariants returns all that the contract implies. The narrow rules come
// first, so that the first finding names the fault; [Conforms] comes last. Rules
// that the policy makes void are left out.
func (p Policy) Invariants() []Invariant {
	list := []Invariant{NoPanic(), NoSpin()}
	if p.Attempt > 0 {
		list = append(list, AttemptTimeout(p.Attempt)) // before Returns: it is why the action hangs
	}
	list = append(list,
		Returns(), NoRetryAfter(p.refused()...), StopAfterSuccess(), SameArguments(), OneKey(p.Key != ""),
		NoCallOnDeadContext(), NoAttemptAfterEnd(), NoAttemptAfterCancel(),
		CancelReachesTool(), EndsAtCancel(), // in this order: a tool that never learns of it holds the action up
		WithinDeadline(), NoFirstDelay(), HintHonoured(p), WaitsInWindow(p), noLastDelay(&p, true),
	)
	if p.MaxAttempts != Unlimited {
		list = append(list, MaxAttempts(p.MaxAttempts))
	}
	if p.Budget > 0 {
		list = append(list, WithinBudget(p))
	}
	if !p.Repeatable || p.Key != "" {
		list = append(list, OneEffect())
	}
	return append(list, desiredEnding(&p), OneTerminal(), NothingLeft(), Conforms(p))
}
