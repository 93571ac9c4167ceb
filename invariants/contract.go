package invariants

// Invariants returns all that the contract implies. The narrow rules come
// first, so that the first finding names the fault; [Conforms] comes last. Rules
// that the policy makes void are left out.
func (p Policy) Invariants() []Invariant {
	list := []Invariant{
		NoPanic(), NoSpin(), Returns(),
		NoRetryAfter(p.refused()...), StopAfterSuccess(), SameArguments(), OneKey(p.Key != ""),
		NoCallOnDeadContext(), NoAttemptAfterCancel(), EndsAtCancel(), CancelReachesTool(), NoAttemptAfterEnd(),
		WithinDeadline(), HintHonoured(p), WaitsInWindow(p), NoFirstDelay(), noLastDelay(p.Budget),
	}
	if p.MaxAttempts != Unlimited {
		list = append(list, MaxAttempts(p.MaxAttempts))
	}
	if p.Budget > 0 {
		list = append(list, WithinBudget(p))
	}
	if p.Attempt > 0 {
		list = append(list, AttemptTimeout(p.Attempt))
	}
	if !p.Repeatable || p.Key != "" {
		list = append(list, OneEffect())
	}
	return append(list, honestEnding(p.Budget), OneTerminal(), NothingLeft(), Conforms(p))
}
