package invariants

// Invariants returns the rules that the contract implies of a loop whose code
// calls its tools under the policy, each with the leave of [WhereItApplies].
func (l Loop) Invariants(p Policy) []Invariant {
	if err := l.Validate(); err != nil {
		return []Invariant{unsound("turns-bounded", err)}
	}
	list := []Invariant{NoPanic(), NoSpin(), Returns(), NoAttemptAfterEnd(), NoEffectAfterEnd(), OneTerminal(), NothingLeft()}
	for i := range list {
		list[i] = WhereItApplies(list[i])
	}
	return list
}
