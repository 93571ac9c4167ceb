package zoo

import (
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
)

func TestScratchSabotage(t *testing.T) {
	for _, s := range Right() {
		if s.Adapter.Repeats != nil {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			began := time.Now()
			s.Adapter.Trials = 300
			o, err := faultsim.ExploreSabotage(t, s.Adapter, faultsim.Test{Occasions: 5})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%v\n%s", time.Since(began), o)
			for _, s := range o.Sins {
				if s.Noticed < s.Occasions {
					t.Errorf("BLIND %s %d of %d\n%s\n%s", s.Name, s.Noticed, s.Occasions, s.Trace.Timeline(), s.Schedule)
				}
			}
		})
	}
}
