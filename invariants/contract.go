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

// rules lists the narrow rules.
func (p *Policy) rules() []Invariant {
	list := []Invariant{NoPanic(), NoSpin()}
	list = append(list, OperatorRetry(*p))
	switch p.Restart { // before the rules that say the same without a crash
	case RestartResumes:
		list = append(list, SurvivesRestart(*p))
	case RestartInterrupts:
		list = append(list, InterruptedAuditable(*p))
	}
	if p.Attempt > 0 {
		list = append(list, AttemptTimeout(p.Attempt), WholeAttempt(*p)) // before Returns: it is why the action hangs
	}
	list = append(list,
		Returns(), NoRetryAfter(p.refused()...), StopAfterSuccess(), SameArguments(), OneKey(p.Key != ""),
		NoCallOnDeadContext(), NoAttemptAfterEnd(), NoAttemptAfterCancel(),
		CancelReachesTool(), EndsAtCancel(), // in this order: a tool that never learns of it holds the action up
		WithinDeadline(), NoFirstDelay(), HintHonoured(*p), WaitsInWindow(*p), noLastDelay(p, true),
	)
	if p.Reconcile {
		list = append(list, ReconciledFirst(*p))
	}
	if p.MaxAttempts != Unlimited {
		list = append(list, MaxAttempts(p.MaxAttempts))
	}
	if p.Budget > 0 {
		list = append(list, WithinBudget(*p))
	}
	if !p.Repeatable || p.Key != "" {
		list = append(list, OneEffect())
	}
	return append(list, honestEnding(p), OneTerminal(), NothingLeft())
}
