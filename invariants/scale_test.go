package invariants_test

import (
	"runtime"
	"runtime/debug"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/internal/growth"
	"github.com/rehearse-go/rehearse/internal/tracetest"
	. "github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// fullSet is a contract that declares nearly everything that a caller of tools can,
// none of which ever bites.
func fullSet() []Invariant {
	p := benchPolicy
	p.MaxAttempts, p.Budget = Unlimited, 1000*time.Hour
	p.Price, p.Spend = 1, 1<<30
	return Contract{
		Policy: p, Breakers: []Breaker{{Consecutive: 1 << 30, Cooldown: time.Minute}}, Allowance: &Allowance{Calls: 1 << 30},
		Allowed: []string{"weather", "bank"}, EscalatesAfter: 1 << 30, Spreads: true,
		Cache: &Cache{TTL: time.Minute}, Sinks: []Sink{{Name: "audit"}},
	}.Invariants()
}

// shapes are traces of about n events each, which differ in what grows.
var shapes = []struct {
	name string
	make func(n int) *trace.Trace
}{
	{"many actions", manyActions},
	{"one action", oneAction},
	{"at once", atOnce},
}

// manyActions are actions of ten events, one after another, whose waits differ.
func manyActions(n int) *trace.Trace {
	s := tracetest.New()
	for i := range n / 10 {
		begin := time.Duration(i) * time.Second
		s.At(begin).Begin("a" + strconv.Itoa(i)).Key("k" + strconv.Itoa(i))
		for range 3 {
			s.At(begin).Until(begin+time.Second).Call("weather", `{"city":"Pune"}`).Answer(trace.Transient)
			begin += 50*time.Millisecond + time.Duration(i)
		}
		s.At(begin).Until(begin+time.Second).Call("weather", `{"city":"Pune"}`).Answer(trace.OK).End()
	}
	return s.Trace()
}

// oneAction is a single action that is retried all along.
func oneAction(n int) *trace.Trace {
	s := tracetest.New().Begin("pay").Key("k")
	at := time.Duration(0)
	for range n/2 - 2 {
		s.At(at).Until(at+time.Second).Call("bank", `{"n":7}`).Answer(trace.Transient)
		at += 50 * time.Millisecond
	}
	return s.At(at).Until(at+time.Second).Call("bank", `{"n":7}`).Effect().Answer(trace.OK).End().Trace()
}

// atOnce is as many actions at once as there are, of eight events each.
func atOnce(n int) *trace.Trace {
	s := tracetest.New()
	actions := n / 8
	name := func(i int) string { return "a" + strconv.Itoa(i) }
	for i := range actions {
		s.On(name(i)).At(time.Duration(3 * i)).Begin(name(i))
	}
	for attempt := range 3 {
		for i := range actions {
			at := time.Duration(attempt)*(50*time.Millisecond+time.Duration(i)) + time.Duration(3*i)
			s.On(name(i)).Key(name(i)).At(at).Until(at+time.Second).Call("weather", `{"city":"Pune"}`).Answer([]trace.Class{trace.Transient, trace.Throttled, trace.OK}[attempt])
			if attempt == 2 {
				s.End()
			}
		}
	}
	return s.Trace()
}

// judged is how long it takes to judge the trace, its computed view included.
func judged(t testing.TB, tr *trace.Trace, invs []Invariant) time.Duration {
	began := time.Now()
	fresh := trace.Trace{Schema: tr.Schema, Events: tr.Events}
	if found := Find(&fresh, invs...); len(found) > 0 {
		t.Fatal(found[0])
	}
	return time.Since(began)
}

// Ten times the events take about ten times as long, and not a hundred times.
func TestJudgingGrowsWithTheTrace(t *testing.T) {
	const n = 2_000
	for _, shape := range shapes {
		t.Run(shape.name, func(t *testing.T) {
			small, large, invs := shape.make(n), shape.make(10*n), fullSet()
			timing := func(tr *trace.Trace) func() time.Duration {
				return func() time.Duration { return judged(t, tr, invs) }
			}
			require.Less(t, growth.Times(25, timing(small), timing(large)), 25.0)
		})
	}
}

// Actions that are refused for want of budget are judged in about the time that they
// take to list.
func TestRefusalsGrowWithTheTrace(t *testing.T) {
	spent := func(n int) (*trace.Trace, []Invariant) {
		s := tracetest.New()
		for i := range n {
			at := time.Duration(i) * time.Second
			s.At(at).Begin("a" + strconv.Itoa(i))
			if i < n/2 {
				s.Call("weather", `{"city":"Pune"}`).Answer(trace.OK).End()
			} else {
				s.FailFor(trace.ReasonBudget)
			}
		}
		return s.Trace(), []Invariant{WithinAllowance(Allowance{Calls: n / 2})}
	}
	timing := func(n int) func() time.Duration {
		tr, invs := spent(n)
		return func() time.Duration { return judged(t, tr, invs) }
	}
	require.Less(t, growth.Times(25, timing(1_000), timing(10_000)), 25.0)
}

// BenchmarkJudgingAMillion judges traces of a million events by nearly everything that
// a caller of tools can declare, in a process that may have a gibibyte: MB is what it
// takes in the end, the trace included.
func BenchmarkJudgingAMillion(b *testing.B) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(1 << 30))
	for _, shape := range shapes {
		b.Run(shape.name, func(b *testing.B) {
			tr, invs := shape.make(1_000_000), fullSet()
			debug.FreeOSMemory()
			for b.Loop() {
				judged(b, tr, invs)
			}
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			b.ReportMetric(float64(m.Sys-m.HeapReleased)/(1<<20), "MB")
		})
	}
}
