package zoo

import (
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// Where many callers have met at the cap, their jitter must still part them
// (field case F007). One trace cannot show it, since a wait of exactly the cap
// is in every window: so many trials are compared.
func TestJitterIsLeftAtTheCap(t *testing.T) {
	for _, tt := range []struct {
		name   string
		law    func(n int) time.Duration
		spread bool
	}{
		{"left", equalJitter, true},
		{"gone", jitterBelowCap, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := agents(jittered(8, invariants.EqualJitter), failures(), tryTimes(8, tt.law))
			seen := map[time.Duration]bool{}
			for range 20 {
				seen[lastWait(t, a)] = true
			}
			if spread := len(seen) > 1; spread != tt.spread {
				t.Errorf("20 callers wait %d different times at the cap", len(seen))
			}
		})
	}
}

// lastWait is the wait before the eighth attempt of an action that always fails.
func lastWait(t *testing.T, a faultsim.Adapter) time.Duration {
	t.Helper()
	faults := make([]faultsim.Fault, 8)
	for i := range faults {
		faults[i] = faultsim.Fail(trace.Transient)
	}
	r := faultsim.Trial(t, a, faultsim.One(faults...))
	if len(r.Findings) > 0 {
		t.Errorf("the waits are in their windows, and yet: %s", r.Findings[0])
	}
	attempts := r.Trace.Actions()[0].Attempts
	if len(attempts) != 8 {
		t.Fatalf("%d attempts, wanted 8", len(attempts))
	}
	return attempts[7].Begin - attempts[6].End
}
