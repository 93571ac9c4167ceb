package invariants

// Invariants returns all that the contract implies. The narrow rules come
// first, so that the first finding names the fault; [Conforms] comes last. Rules
// that the policy makes void are left out.
//
// One trace seldom has a situation for each of them, so all of them have the
// leave of [WhereItApplies].
func (p Policy) Invariants() []Invariant {
	list := append(p.rules(), Conforms(p))
	for i := range list {
		list[i] = WhereItApplies(list[i])
	}
	return list
}

// refreshRules are those about credentials; none where nothing is promised.
func (p *Policy) refreshRules() (list []Invariant) {
	if !p.Refresh.Once {
		return nil
	}
	if p.Refresh.Credential != "" {
		list = append(list, NewCredentialUsed()) // first: it says why another refresh seems to be needed
	}
	list = append(list, RefreshedOnce(*p))
	if p.Refresh.Shared {
		list = append(list, RefreshShared())
	}
	return list
}

// rules lists the narrow rules.
func (p *Policy) rules() []Invariant {
	list := []Invariant{NoPanic(), NoSpin()}
	if p.Attempt > 0 {
		list = append(list, AttemptTimeout(p.Attempt), WholeAttempt(*p)) // before Returns: it is why the action hangs
	}
	list = append(list,
		Returns())
	list = append(list, p.refreshRules()...)
	list = append(list,
		NoRetryAfter(p.refused()...), StopAfterSuccess(), SameArguments(), OneKey(p.Key != ""),
		NoCallOnDeadContext(), NoAttemptAfterEnd(), NoAttemptAfterCancel(),
		CancelReachesTool(), EndsAtCancel(), // in this order: a tool that never learns of it holds the action up
		WithinDeadline(), NoEffectAfterEnd(), // a tool that was not told of the end works on behind it
		NoFirstDelay(), HintHonoured(*p), WaitsInWindow(*p), noLastDelay(p, true),
	)
	if p.Reconcile {
		list = append(list, ReconciledFirst(*p))
	}
	if p.MaxAttempts != Unlimited {
		list = append(list, p.maxAttempts())
	}
	if p.Budget > 0 {
		list = append(list, WithinBudget(*p))
	}
	if !p.Repeatable || p.Key != "" {
		list = append(list, OneEffect())
	}
	return append(list, honestEnding(p), OneTerminal(), NothingLeft())
}
