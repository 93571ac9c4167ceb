package invariants

type Loop struct {
	Turns     int
	Model     Policy
	Goal      string
	Tools     []string
	Protected []string
}

func (l Loop) Invariants(p Policy) []Invariant { return []Invariant{NoPanic(), NoSpin(), Returns()} }
func (l Loop) Validate() error                 { return nil }
