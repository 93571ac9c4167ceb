package faultsim

import (
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// BenchmarkTrialOverBare compares a trial with its bare subject in a bubble,
// in short turns within one run. The figure that counts is the ratio.
func BenchmarkTrialOverBare(b *testing.B) {
	a, s := speedAdapter(), speedSchedule()
	content := a.content()
	const turn = 200
	inTest(b, func(t *testing.T) {
		var bare, trials time.Duration
		var old *trace.Trace
		for b.Loop() {
			start := time.Now()
			for range turn {
				bareTrial(t)
			}
			bare += time.Since(start)
			start = time.Now()
			for range turn {
				x := newTrial(&a, &s, content, old)
				x.drawn = true
				tr, err := x.run(t)
				if err != nil {
					t.Fatal(err)
				}
				old = tr
			}
			trials += time.Since(start)
		}
		b.ReportMetric(float64(trials)/float64(bare), "ratio")
		b.ReportMetric(0, "ns/op")
	})
}
