package faultsim

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

var errB = errors.New("busy")

func retryHome(ctx context.Context, tool trace.Func[string, int]) (int, error) {
	wait := 100 * time.Millisecond
	for n := 1; ; n++ {
		out, err := tool(ctx, "Pune")
		if err == nil || n == 3 {
			return out, err
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return 0, ctx.Err()
		}
		wait *= 2
	}
}

func inTest(b *testing.B, f func(t *testing.T)) {
	done := false
	testing.RunTests(func(_, _ string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: b.Name(), F: func(t *testing.T) {
		if !done { // RunTests runs its tests -count times
			f(t)
			done = true
		}
	}}})
}

// BenchmarkBare is the home subject alone in a bubble, called as a trial calls
// it: by somebody who may cancel.
func BenchmarkBare(b *testing.B) {
	inTest(b, func(t *testing.T) {
		for b.Loop() {
			bareTrial(t)
		}
	})
}

func bareTrial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		n := 0
		_, err := retryHome(ctx, func(ctx context.Context, s string) (int, error) {
			if n++; n < 3 {
				return 0, errB
			}
			return 19, nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

func speedAdapter() Adapter {
	return Adapter{
		Name:   "forecast",
		Policy: invariants.Policy{ID: "home/v1", MaxAttempts: 3, Retry: []trace.Class{trace.Transient}, Backoff: invariants.Backoff{Base: 100 * time.Millisecond}, Repeatable: true, Late: invariants.LateWait},
		Subject: func(s *Stage) Action {
			tool := Tool(s, "weather", func(ctx context.Context, city string) (int, error) { return 19, nil }, Errors{trace.Transient: errB})
			return func(ctx context.Context) (any, error) { return retryHome(ctx, tool) }
		},
	}
}

func speedSchedule() Schedule { return One(Fail(trace.Transient), Fail(trace.Transient)) }

// BenchmarkTrial is one trial of the home subject, and BenchmarkJudgedTrial
// also judges it.
func BenchmarkTrial(b *testing.B) { benchmarkTrial(b, nil) }

func BenchmarkJudgedTrial(b *testing.B) {
	a := speedAdapter()
	benchmarkTrial(b, a.invariants())
}

func benchmarkTrial(b *testing.B, invs []invariants.Invariant) {
	a, s := speedAdapter(), speedSchedule()
	c := a.content()
	inTest(b, func(t *testing.T) {
		var old *trace.Trace
		for b.Loop() {
			x := newTrial(&a, &s, c, old)
			x.drawn = true
			tr, err := x.run(t)
			if err != nil || len(invariants.Find(tr, invs...)) > 0 {
				t.Fatal("a right subject failed")
			}
			old = tr
		}
	})
}

// BenchmarkDrawnSchedule is what a trial of Check costs before it begins.
func BenchmarkDrawnSchedule(b *testing.B) {
	a := speedAdapter()
	inTest(b, func(t *testing.T) {
		tools, err := inspect(t, &a)
		if err != nil {
			t.Fatal(err)
		}
		d := newDrawer(&a, tools)
		for n := 0; b.Loop(); n++ {
			d.draw(seeded(trialSeed(1, n)))
		}
	})
}

// BenchmarkWorkers is a property's trials on one core and on two, turn by turn, and how
// many times as much two of them do. Beside it stands what there is to be had: the same
// subject alone in bubbles of its own, without a schedule, a trace and a judgement, and
// a loop that shares nothing with its neighbour.
func BenchmarkWorkers(b *testing.B) {
	if runtime.NumCPU() < 2 {
		b.Skip("it takes two processors")
	}
	a := homeAdapter()
	inTest(b, func(t *testing.T) {
		c := &check{t: t, a: &a, set: settings{trials: 10_000, seed: 1}, invs: a.invariants(), content: a.content()}
		tools, err := inspect(t, &a)
		if err != nil {
			t.Fatal(err)
		}
		c.drawer = newDrawer(&a, tools)
		trials := func() {
			if n, r := c.firstFailing(0, c.set.trials); r != nil {
				t.Fatalf("trial %d failed", n)
			}
		}
		before := runtime.GOMAXPROCS(2)
		defer runtime.GOMAXPROCS(before)
		trials()
		bare := func() {
			for range 5_000 {
				bareTrial(t)
			}
		}
		var one, two []time.Duration
		var bubbles, machine pair
		for b.Loop() {
			runtime.GOMAXPROCS(1)
			one = append(one, timed(trials))
			runtime.GOMAXPROCS(2)
			two = append(two, timed(trials))
			bubbles.run(bare)
			machine.run(spin)
		}
		b.ReportMetric(10_000/median(one).Seconds(), "trials/s-one")
		b.ReportMetric(10_000/median(two).Seconds(), "trials/s-two")
		b.ReportMetric(float64(median(one))/float64(median(two)), "times-as-much")
		b.ReportMetric(bubbles.times(), "times-bare")
		b.ReportMetric(machine.times(), "times-machine")
	})
}

// A pair times some work alone on one processor and twice beside each other on two.
type pair struct{ alone, beside []time.Duration }

func (p *pair) run(f func()) {
	runtime.GOMAXPROCS(1)
	p.alone = append(p.alone, timed(f))
	runtime.GOMAXPROCS(2)
	p.beside = append(p.beside, timed(func() {
		var wg sync.WaitGroup
		wg.Go(f)
		wg.Go(f)
		wg.Wait()
	}))
}

// times is how many times as much two do.
func (p *pair) times() float64 { return 2 * float64(median(p.alone)) / float64(median(p.beside)) }

func timed(f func()) time.Duration {
	began := time.Now()
	f()
	return time.Since(began)
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// spin is work of some 0.1 s that needs nothing but a processor.
func spin() {
	n := uint64(1)
	for range 50_000_000 {
		n ^= n << 13
		n ^= n >> 7
		n ^= n << 17
	}
	spun.Store(n)
}

var spun atomic.Uint64 // so that the loop is not left out

// BenchmarkNote is what it takes to read the labels off a trial and to count them, as
// part of a trial.
func BenchmarkNote(b *testing.B) {
	inTest(b, func(t *testing.T) {
		a := homeAdapter()
		s := One(Fail(trace.Transient), Fault{Class: trace.Transient, Latency: time.Second, Cancel: 2 * time.Second})
		c := newCheck(t, &a, settings{})
		x := c.newTrial(&s, nil)
		tr, err := x.run(t)
		r := c.judge(tr, err, make([]bool, len(c.invs)))
		var y tally
		for b.Loop() {
			y.note(&s, x, &r)
		}
	})
}
