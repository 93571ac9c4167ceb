package invariants_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/internal/tracetest"
	. "github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

var benchPolicy = Policy{
	ID: "bench/v1", MaxAttempts: 5, Attempt: time.Second, Budget: time.Minute,
	Retry:   []trace.Class{trace.Transient, trace.Throttled, trace.Timeout},
	Backoff: Backoff{Base: 100 * time.Millisecond, Cap: 8 * time.Second, Jitter: FullJitter},
	Key:     "key",
}

// retrying is a trace of n right actions of ten events each.
func retrying(n int) *trace.Trace {
	s := tracetest.New()
	for i := range n {
		s.Begin("a" + strconv.Itoa(i)).Key("k" + strconv.Itoa(i))
		begin := time.Duration(i) * time.Second
		for _, c := range []trace.Class{trace.Transient, trace.Throttled, trace.Transient} {
			s.At(begin).Until(begin+time.Second).Call("weather", `{"city":"Pune"}`).Answer(c)
			begin += 50 * time.Millisecond
		}
		s.At(begin).Until(begin+time.Second).Call("weather", `{"city":"Pune"}`).Effect().Answer(trace.OK).End()
		s.At(time.Duration(i+1) * time.Second)
	}
	return s.Trace()
}

// twenty is one action of five attempts and twenty events.
func twenty() *trace.Trace {
	s := tracetest.New().Begin("pay").Key("k")
	at := time.Duration(0)
	for n, c := range []trace.Class{trace.Transient, trace.Throttled, trace.Transient, trace.Transient, trace.OK} {
		s.At(at).Until(at+time.Second).Call("bank", `{"n":7}`)
		if n == 4 {
			s.Effect()
		} else {
			s.Answer(c).Ask(50 * time.Millisecond).Publish(0)
			at += 50 * time.Millisecond
			continue
		}
		s.Answer(c)
	}
	return s.End().Trace()
}

func without(events []trace.Event, k trace.Kind) (kept []trace.Event) {
	for _, e := range events {
		if e.Kind != k {
			kept = append(kept, e)
		}
	}
	return kept
}

func BenchmarkJudgingTwentyEvents(b *testing.B) {
	tr := twenty()
	tr.Events = without(tr.Events, trace.KindPublish)
	for len(tr.Events) < 20 { // effects of earlier calls' bookkeeping: events no rule trips on
		last := tr.Events[len(tr.Events)-1]
		tr.Events = append(tr.Events[:len(tr.Events)-1], trace.Event{Kind: trace.KindWait, At: last.At, Ambiguous: true}, last)
	}
	invs := benchPolicy.Invariants()
	if found := Find(tr, invs...); len(found) > 0 || len(tr.Events) != 20 {
		b.Fatal(len(tr.Events), found)
	}
	b.Run("judging", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			Find(tr, invs...)
		}
	})
	b.Run("with the view", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			fresh := trace.Trace{Schema: tr.Schema, Events: tr.Events}
			Find(&fresh, invs...)
		}
	})
}

func BenchmarkJudgingManyEvents(b *testing.B) {
	for _, actions := range []int{1_000, 10_000, 100_000} {
		tr := retrying(actions)
		invs := benchPolicy.Invariants()
		b.Run(fmt.Sprint(len(tr.Events)), func(b *testing.B) {
			for b.Loop() {
				fresh := trace.Trace{Schema: tr.Schema, Events: tr.Events}
				if found := Find(&fresh, invs...); len(found) > 0 {
					b.Fatal(found[0])
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(tr.Events)), "ns/event")
		})
	}
}

func TestJudgingARightTraceAllocatesNothing(t *testing.T) {
	tr, invs := retrying(3), benchPolicy.Invariants()
	if found := Find(tr, WhereItApplies(MaxAttempts(4))); len(found) > 0 {
		t.Fatal(found)
	}
	if n := testing.AllocsPerRun(100, func() { Find(tr, invs...) }); n != 0 {
		t.Errorf("judging allocates %v times", n)
	}
}
