package dispatcher_test

import (
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/trace"
)

// The search is down for two minutes, and a model that asks every five seconds finds
// it again within a cooldown and the pause before its next call: 30 s and 5 s. In the
// outage the breaker keeps the load under what three attempts for each call would make,
// and behind it nothing is asked twice.
func TestSearchIsFoundAgain(t *testing.T) {
	const calm, every = 2 * time.Minute, 5 * time.Second
	s := faultsim.Schedule{Calm: calm, Outages: []faultsim.Outage{{Tool: faultsim.Main, To: time.Hour, Class: trace.Transient}}}
	for range 40 {
		s.Actions = append(s.Actions, faultsim.Plan{After: every})
	}
	r := faultsim.Run(t, search, s).Recovery()
	if r.Time > 30*time.Second+every+time.Second {
		t.Errorf("the search was found again %v after it was up", r.Time)
	}
	if r.During >= 1 || r.After > 1 {
		t.Errorf("%.2f attempts a call in the outage and %.2f behind it, wanted under 1 and no more than 1", r.During, r.After)
	}
}
