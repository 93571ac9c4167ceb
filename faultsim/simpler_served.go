package faultsim

import "slices"

// simplerCalls gives the first key and the plain arguments to all calls of a
// tool under test that share others: one at a time they would no longer be repeats.
func simplerCalls(s Schedule, yield func(step) bool) bool {
	var keys []int
	other := 0
	for i := range s.Actions {
		if p := &s.Actions[i]; p.Key > 0 && !slices.Contains(keys, p.Key) {
			keys = append(keys, p.Key)
		}
		if s.Actions[i].Other {
			other++
		}
	}
	for _, k := range keys {
		first := func(c *Schedule) {
			for i := range c.Actions {
				if c.Actions[i].Key == k {
					c.Actions[i].Key = 0
				}
			}
		}
		if !yield(first) {
			return false
		}
	}
	plain := func(c *Schedule) {
		for i := range c.Actions {
			c.Actions[i].Other = false
		}
	}
	return other < 2 || yield(plain)
}
