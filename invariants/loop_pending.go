package invariants

// Invariants is being written.
func (l Loop) Invariants(p Policy) []Invariant { return []Invariant{NoPanic(), NoSpin(), Returns()} }
