package mcp_test

import (
	"testing"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/scripted/mcp"
	"github.com/rehearse-go/rehearse/trace"
)

func BenchmarkTrialInMemory(b *testing.B) { benchmarkTrial(b, mcp.Serve) }
func BenchmarkTrialOverHTTP(b *testing.B) { benchmarkTrial(b, mcp.ServeHTTP) }

// benchmarkTrial plays a session that is opened, three attempts of which the third
// succeeds, and the session's end, and judges them.
func benchmarkTrial(b *testing.B, serve door) {
	a := over(serve, readPolicy, right)
	sched := faultsim.One(faultsim.Fail(trace.Transient), faultsim.Fail(trace.Transient))
	done := false
	play := func(t *testing.T) {
		if done { // RunTests runs its tests -count times
			return
		}
		done = true
		b.ReportAllocs()
		for b.Loop() {
			if r := faultsim.Trial(t, a, sched); r.Err != nil || len(r.Findings) > 0 {
				b.Error(r.Err, r.Findings)
			}
		}
	}
	// A bubble needs a *testing.T.
	testing.RunTests(func(_, _ string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: b.Name(), F: play}})
}
