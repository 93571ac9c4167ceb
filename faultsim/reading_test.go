package faultsim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/trace"
)

// What goes wrong in the adapter is not told as a fault of the code.
func TestTheAdaptersOwnMistakesAreErrors(t *testing.T) {
	refused := faultsim.One(faultsim.Fail(trace.Forbidden))
	for want, change := range map[string]func(*faultsim.Adapter){
		`Reason of "forecast" panicked: no such error at reading_test.go`: func(a *faultsim.Adapter) { a.Reason = func(error) trace.Reason { panic("no such error") } },
		`Reason of "forecast" returned #200, which is no terminal reason`: func(a *faultsim.Adapter) { a.Reason = func(error) trace.Reason { return 200 } },
		`Attempts of "forecast" panicked: none at reading_test.go`:        func(a *faultsim.Adapter) { a.Attempts = func(error) int { panic("none") } },
	} {
		a := home(3)
		change(&a)
		require.ErrorContains(t, faultsim.Trial(t, a, refused).Err, want)
	}
	a := home(3)
	a.Degraded = func(any) trace.Reason { panic("no") }
	require.ErrorContains(t, faultsim.Trial(t, a, faultsim.Schedule{}).Err, `Degraded of "forecast" panicked: no at reading_test.go`)
	served := labels(func(v *faultsim.Served[parcel, label]) { v.Clash = func(error) bool { panic("no") } })
	s, err := faultsim.Parse("rehearse schedule 1\naction\naction other\n")
	require.NoError(t, err)
	require.ErrorContains(t, faultsim.Trial(t, served, s).Err, `Clash, Busy or Keyless of "label" panicked: no at reading_test.go`)
}
