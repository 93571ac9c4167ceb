package faultsim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rehearse-go/rehearse/trace"
)

// weathered is an adapter over tools that can fail, be throttled and lose replies,
// with the profile.
func weathered(p *Profile, names ...string) Adapter {
	a := homeAdapter()
	a.Policy.MaxAttempts, a.Policy.Backoff.Cap = 50, 10*time.Second
	a.Policy.Retry = append(a.Policy.Retry, trace.Throttled)
	a.Profile = p
	a.Subject = func(s *Stage) Action {
		for _, name := range append([]string{"weather"}, names...) {
			Tool[string, int](s, name, nil, Errors{trace.Transient: errBusy, trace.Invalid: errForbidden,
				trace.Throttled: Hinted(func(d time.Duration) error { return &busyFor{d} })})
		}
		return func(context.Context) (any, error) { return nil, nil }
	}
	return a
}

func profiler(t *testing.T, a Adapter) *drawer {
	t.Helper()
	require.NoError(t, a.validate())
	tools, err := inspect(t, &a)
	require.NoError(t, err)
	d, err := drawerFor(&a, tools)
	require.NoError(t, err)
	return d
}

// of is a profile of the main tool alone.
func of(b Behaviour) *Profile { return &Profile{Tools: map[string]Behaviour{Main: b}} }

func everything() *Profile {
	p := of(Behaviour{
		Streak:  Geometric(0.5),
		Classes: Weights{trace.Transient: 3, trace.Throttled: 1},
		Hang:    0.1,
		Lost:    0.5,
		Latency: Lognormal(200*time.Millisecond, 0.8),
		Hint:    Hints{Share: 0.5, Wait: Uniform(0, 5*time.Second)},
		Outage:  Downtimes{Share: 0.2, Begin: Exponential(time.Second), Length: Pareto(time.Second, 1), Recovery: Constant(2 * time.Second)},
		Quota:   Quota{N: 3, Per: time.Minute},
		Bucket:  Bucket{Burst: 2, Every: time.Second},
	})
	p.Actions, p.AtOnce, p.Pause = Even(1, 3), 0.5, Exponential(time.Second)
	p.Deadline, p.Cancel = sometimes(0.2, Exponential(20*time.Second)), Cancels{Share: 0.3}
	p.Swarm = true
	return p
}

func TestAProfileIsDrawnAsDeclared(t *testing.T) {
	p := of(Behaviour{
		Streak:  Geometric(0.3),
		Classes: Weights{trace.Transient: 3, trace.Throttled: 1},
		Lost:    0.25,
		Hang:    0.1,
		Latency: Exponential(2 * time.Second),
		Hint:    Hints{Share: 0.4, Wait: wholeSeconds()},
	})
	p.Cancel.Share = 0.2
	p.Deadline = Exponential(time.Minute)
	d := profiler(t, weathered(p))
	var streaks, throttled, hung, lost, hinted, cancelled []int
	var waits []int
	var took, ends []float64
	for n := range many {
		plan := d.draw(seeded(trialSeed(1, n))).Actions[0]
		faults := plan.Faults["weather"]
		cancel := plan.Cancel
		streaks = append(streaks, len(failuresOf(faults)))
		ends = append(ends, plan.Deadline.Seconds())
		for i := range faults {
			f := &faults[i]
			cancel += f.Cancel
			if !f.Hang && f.Cancel == 0 && (i < 1 || len(took) < many) {
				took = append(took, f.Latency.Seconds())
			}
		}
		for _, f := range failuresOf(faults) {
			hung = append(hung, number(f.Hang))
			switch {
			case f.Hang:
				lost = append(lost, number(f.Done))
				continue
			case f.Class == trace.Throttled:
				if hinted = append(hinted, number(f.Hint > 0)); f.Hint > 0 {
					waits = append(waits, int(f.Hint/time.Second))
				}
			}
			throttled = append(throttled, number(f.Class == trace.Throttled))
		}
		cancelled = append(cancelled, number(cancel != 0))
	}
	require.Less(t, uneven(streaks, func(n int) float64 { return 0.3 * math.Pow(0.7, float64(n)) }), 1.0)
	for _, c := range []struct {
		what   string
		sample []int
		p      float64
	}{{"throttled", throttled, 0.25}, {"hangs", hung, 0.1}, {"lost", lost, 0.25}, {"hints", hinted, 0.4}, {"cancels", cancelled, 0.2}} {
		require.Less(t, uneven(c.sample, yes(c.p)), 1.0, c.what)
	}
	require.Less(t, uneven(waits, func(n int) float64 { return within(n, 3) * (1 - only(n, 0)) / 3 }), 1.0)
	require.Less(t, astray(took, func(x float64) float64 { return 1 - math.Exp(-max(0, x)/2) }), 1.0)
	require.Less(t, astray(ends, func(x float64) float64 { return 1 - math.Exp(-x/60) }), 1.0)
}

// wholeSeconds is one, two or three seconds.
func wholeSeconds() Distribution[time.Duration] {
	return Empirical(time.Second, 2*time.Second, 3*time.Second)
}

// sometimes is a distribution in a share of the draws, and nothing in the others.
func sometimes(share float64, d Distribution[time.Duration]) Distribution[time.Duration] {
	return frequent{share, d}
}

type frequent struct {
	share float64
	Distribution[time.Duration]
}

func (d frequent) Quantile(u float64) time.Duration {
	if u < 1-d.share {
		return 0
	}
	return d.Distribution.Quantile((u - (1 - d.share)) / d.share)
}

func number(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

func failuresOf(faults []Fault) (list []Fault) {
	for _, f := range faults {
		if f.Hang || f.class() != trace.OK {
			list = append(list, f)
		}
	}
	return list
}

func TestWhatAProfileDrawsFitsAndReadsBack(t *testing.T) {
	a := weathered(everything())
	d := profiler(t, a)
	x := newTrial(&a, &Schedule{}, nil, nil)
	x.idle = true
	_, err := x.run(t)
	require.NoError(t, err)
	outages := 0
	for n := range 4_000 {
		s := d.draw(seeded(trialSeed(1, n)))
		require.NoError(t, x.stage.fits(&s), "%v", s)
		back, err := Parse(s.String())
		require.NoError(t, err, "%v", s)
		require.Equal(t, s.String(), back.String())
		if len(s.Outages) > 0 {
			outages++
		}
	}
	rare(t, "outages", outages, 4_000, 0.2*swarmed)
}

func TestAProfileShrinksToNothing(t *testing.T) {
	gen := profiler(t, weathered(everything())).schedules()
	rapid.MakeFuzz(func(rt *rapid.T) {
		s := gen.Draw(rt, "schedule")
		require.Len(t, s.Actions, 1)
		require.Zero(t, s.Actions[0].Cancel)
		require.Zero(t, s.Actions[0].Deadline)
		require.Empty(t, failuresOf(s.Actions[0].Faults["weather"]))
	})(t, make([]byte, 1<<16))
}

// Another tool, a longer streak and a class less move nothing elsewhere.
func TestDecisionsOfAProfileAreAddressed(t *testing.T) {
	b := Behaviour{Streak: Geometric(0.5), Latency: Exponential(time.Second), Hint: Hints{Share: 0.5, Wait: Exponential(time.Minute)}}
	longer, fewer := b, b
	longer.Streak = Geometric(0.25)
	fewer.Classes = Weights{trace.Throttled: 1}
	two := func(b Behaviour) *Profile {
		return &Profile{Actions: Fixed(2), Tools: map[string]Behaviour{"weather": b}}
	}
	with := two(b)
	with.Tools["news"] = longer
	plain, more := profiler(t, weathered(two(b))), profiler(t, weathered(with, "news"))
	long, few := profiler(t, weathered(two(longer))), profiler(t, weathered(two(fewer)))
	moved := 0
	for n := range 1_000 {
		draw := func(d *drawer, i int) []Fault {
			return d.draw(seeded(trialSeed(1, n))).Actions[i].Faults["weather"]
		}
		for i := range 2 {
			s := draw(plain, i)
			require.Equal(t, s, draw(more, i))
			l, f := draw(long, i), draw(few, i)
			require.GreaterOrEqual(t, len(l), len(s))
			require.Equal(t, s[:len(s)-1], l[:len(s)-1], "the attempts of the shorter streak are the same")
			require.Len(t, f, len(s))
			for k := range s {
				require.Equal(t, s[k].Latency, f[k].Latency)
				moved += number(s[k].Class != f[k].Class)
			}
		}
	}
	require.Greater(t, moved, 500)
}

func TestCheckDrawsByTheProfile(t *testing.T) {
	a := homeAdapter()
	a.Profile = of(Behaviour{Streak: Geometric(0.5), Latency: Exponential(2 * time.Second), Classes: Weights{trace.Transient: 1}})
	a.Profile.Cancel.Share = 0.2
	Check(t, a)

	a.Policy.MaxAttempts = 2 // and the code makes three
	o, err := Explore(t, a)
	require.NoError(t, err)
	require.Equal(t, "attempts-bounded", o.Invariant())
	require.Len(t, o.Schedule.Actions[0].Faults["weather"], 2)

	a.Profile = of(Behaviour{Streak: AtMost(1, Geometric(0.5)), Classes: Weights{trace.Transient: 1}})
	o, err = Explore(t, a)
	require.NoError(t, err)
	require.Zero(t, o.Trial, "with one failure in a row it cannot be seen")
}

func TestAProfileThatCannotBeDrawnSaysWhy(t *testing.T) {
	for want, p := range map[string]*Profile{
		"profile: AtOnce is 2: a share is from 0 to 1":                              {AtOnce: 2},
		"profile: Actions: Fixed(-1): a count":                                      {Actions: Fixed(-1)},
		"profile: Cancel.When has \"late\": say some of":                            {Cancel: Cancels{When: []Moment{"late"}}},
		"profile: Cancel has an At and a When":                                      {Cancel: Cancels{When: Moments(), At: Constant(1)}},
		"Tools[\"*\"]: Streak: Geometric(0)":                                        of(Behaviour{Streak: Geometric(0)}),
		"Tools[\"*\"]: there is a Streak and a Burst":                               of(Behaviour{Streak: Fixed(1), Burst: AirborneLink()}),
		"Tools[\"*\"]: Burst: ToBad is NaN: a share":                                of(Behaviour{Burst: GilbertElliott{ToBad: math.NaN()}}),
		"Tools[\"*\"]: Burst: ToBad and ToGood are 0":                               of(Behaviour{Burst: GilbertElliott{Bad: 1}}),
		"Tools[\"*\"]: Burst: Good and Bad are 0":                                   of(Behaviour{Burst: GilbertElliott{ToBad: 1}}),
		"Tools[\"*\"]: Classes lists ok, which is no failure":                       of(Behaviour{Classes: Weights{trace.OK: 1, trace.Transient: 1}}),
		"Tools[\"*\"]: Classes has weights that come to +Inf: give smaller ones":    of(Behaviour{Classes: Weights{trace.Transient: 1e308, trace.Forbidden: 1e308}}),
		"Tools[\"*\"]: Classes has no weight above 0":                               of(Behaviour{Classes: Weights{}}),
		"Tools[\"*\"]: Hint.Forms has \"soon\"":                                     of(Behaviour{Hint: Hints{Forms: []HintForm{"soon"}}}),
		"Tools[\"*\"]: Hint.Classes lists timeout, which asks for no wait":          of(Behaviour{Hint: Hints{Classes: []trace.Class{trace.Timeout}}}),
		"Tools[\"*\"]: Outage has a Share and no Length":                            of(Behaviour{Outage: Downtimes{Share: 1}}),
		"Tools[\"*\"]: Outage.Class is ok":                                          of(Behaviour{Outage: Downtimes{Class: trace.OK}}),
		"Tools[\"*\"]: Quota: a quota of *: N is 0":                                 of(Behaviour{Quota: Quota{Per: 1}}),
		"Tools[\"*\"]: Bucket: its Tool is \"news\": leave it empty":                of(Behaviour{Bucket: Bucket{Tool: "news", Burst: 1, Every: 1}}),
		"Restart.Share is 0.5, and the adapter has no Resume":                       {Restart: Restarts{Share: 0.5}},
		"Tools speaks of \"nobody\", the stage has [\"weather\"]":                   {Tools: map[string]Behaviour{"nobody": {}}},
		"Tools has \"weather\" and Main, which is the same tool":                    {Tools: map[string]Behaviour{"weather": {}, Main: {}}},
		"Tools[\"*\"]: Classes has reset, which weather cannot answer":              of(Behaviour{Streak: Fixed(1), Classes: Weights{trace.Reset: 1}}),
		"Tools[\"*\"]: Partial is 0.5, and weather is no batch":                     of(Behaviour{Streak: Fixed(1), Partial: 0.5}),
		"Tools[\"*\"]: Hint.Forms has \"date\", and weather asks for":               of(Behaviour{Streak: Fixed(1), Hint: Hints{Forms: []HintForm{HintDate}}}),
		"Tools[\"*\"]: Outage: weather cannot answer reset: give it":                of(Behaviour{Outage: Downtimes{Share: 1, Length: Constant(1), Class: trace.Reset}}),
		"Tools[\"*\"]: Lost is -1: a share is from 0 to 1":                          of(Behaviour{Lost: -1}),
		"Tools[\"*\"]: Classes[transient] is -1: a weight is a number of 0 or more": of(Behaviour{Classes: Weights{trace.Transient: -1}}),
	} {
		_, err := Explore(t, weathered(p))
		require.ErrorContains(t, err, want)
		require.NotContains(t, fmt.Sprint(err), "\n\n")
	}
	for _, b := range []Behaviour{{}, {Streak: Fixed(1), Hang: 1}, {Streak: Fixed(1), Classes: Weights{trace.Transient: 1}}} {
		b.Hint.Share = 0.5
		_, err := Explore(t, weathered(of(b)))
		require.ErrorContains(t, err, "Hint.Share is 0.5, and none of the failures that are drawn for weather asks for a wait: give it a Streak or a Burst")
	}
	quick := weathered(of(Behaviour{Streak: Fixed(1), Hang: 1}))
	quick.Policy.Attempt = 0
	quick.Policy.Retry = []trace.Class{trace.Transient}
	_, err := Explore(t, quick)
	require.ErrorContains(t, err, "Hang is 1, and no attempt has an end of its own: set Policy.Attempt")
}

// A fitted profile asks for waits where the service did, and nowhere else.
func TestHintsAreOfTheClassesThatAsk(t *testing.T) {
	for _, x := range []struct {
		classes []trace.Class
		want    string
	}{
		{nil, "[transient throttled]"},
		{[]trace.Class{trace.Transient}, "[transient]"},
	} {
		p := of(Behaviour{Streak: Fixed(3), Hint: Hints{Share: 1, Classes: x.classes}})
		a := weathered(p)
		a.Subject = func(s *Stage) Action {
			ask := Hinted(func(d time.Duration) error { return &busyFor{d} })
			Tool[string, int](s, "weather", nil, Errors{trace.Transient: ask, trace.Throttled: ask})
			return func(context.Context) (any, error) { return nil, nil }
		}
		d := profiler(t, a)
		asked := map[trace.Class]bool{}
		for n := range 50 {
			for _, f := range d.draw(seeded(trialSeed(1, n))).Actions[0].Faults["weather"] {
				if f.Hint > 0 {
					asked[f.Class] = true
				}
			}
		}
		require.Equal(t, x.want, fmt.Sprint(slices.Sorted(maps.Keys(asked))))
	}
}

func TestEachPageHasAStreakOfItsOwn(t *testing.T) {
	a := weathered(of(Behaviour{Streak: Fixed(1), Classes: Weights{trace.Transient: 1}}))
	a.Pages = 3
	s := profiler(t, a).draw(seeded(1))
	require.Equal(t, 5, strings.Count(s.String(), "\n"), "each of the pages fails once:\n%v", s)
}

func TestBatchesOfAProfileFailInTheirItems(t *testing.T) {
	a := batchAdapter(nil)
	a.Profile = of(Behaviour{Streak: Fixed(20), Partial: 0.4, Classes: Weights{trace.Transient: 1}})
	d := profiler(t, a)
	var partial []int
	for n := 0; len(partial) < many; n++ {
		for _, f := range failuresOf(d.draw(seeded(trialSeed(1, n))).Actions[0].Faults["records"]) {
			partial = append(partial, number(f.Class == trace.Partial && f.Items != ""))
		}
	}
	require.Less(t, uneven(partial, yes(0.4)), 1.0)
}

func TestProcessesDieAsOftenAsTheProfileSays(t *testing.T) {
	a := jobAdapter()
	a.Profile = of(Behaviour{Streak: Geometric(0.7), Classes: Weights{trace.Transient: 1}, Latency: Exponential(time.Second)})
	a.Profile.Restart = Restarts{Share: 0.3, Down: Uniform(time.Second, time.Minute)}
	Check(t, a)
	a.Profile = &Profile{Restart: a.Profile.Restart}
	d := profiler(t, a)
	var dead []int
	var down []float64
	for n := range many {
		p := d.draw(seeded(trialSeed(1, n))).Actions[0]
		if dead = append(dead, number(p.deaths() > 0)); p.deaths() > 0 {
			down = append(down, p.Restart.Seconds())
		}
	}
	require.Less(t, uneven(dead, yes(0.3)), 1.0)
	require.Less(t, astray(down, func(x float64) float64 { return evenly((x - 1) / 59) }), 1.0)
}

func TestOutagesComeAsOftenAsTheProfileSays(t *testing.T) {
	d := profiler(t, weathered(of(Behaviour{Outage: Downtimes{Share: 0.2, Length: Constant(time.Second)}})))
	var down []int
	for n := range many {
		down = append(down, len(d.draw(seeded(trialSeed(1, n))).Outages))
	}
	require.Less(t, uneven(down, yes(0.2)), 1.0)
}

// An outage begins and lasts as is declared, and the tool comes back in eighths of its
// recovery, of which fewer and fewer are down.
func TestOutagesAreAsTheProfileSays(t *testing.T) {
	d := profiler(t, weathered(of(Behaviour{Outage: Downtimes{
		Share: 1, Begin: Exponential(2 * time.Second), Length: Uniform(time.Second, 3*time.Second), Recovery: Uniform(8*time.Second, 16*time.Second),
	}})))
	var begins, lengths, eighths []float64
	var down [recovering][]int
	for n := range many {
		list := d.draw(seeded(trialSeed(1, n))).Outages
		first, rest := list[0], list[1:]
		begins, lengths = append(begins, first.From.Seconds()), append(lengths, (first.To-first.From).Seconds())
		if len(rest) == 0 {
			continue // how long the recovery takes does not show
		}
		eighth := rest[0].To - rest[0].From
		eighths = append(eighths, eighth.Seconds())
		var is [recovering]int
		for _, o := range rest {
			is[(o.From-first.To)/eighth] = 1
		}
		for n := range is {
			down[n] = append(down[n], is[n])
		}
	}
	require.Less(t, astray(begins, func(x float64) float64 { return 1 - math.Exp(-x/2) }), 1.0)
	require.Less(t, astray(lengths, func(x float64) float64 { return evenly((x - 1) / 2) }), 1.0)
	require.Less(t, astray(eighths, func(x float64) float64 { return evenly(x - 1) }), 1.0)
	never := 1.0 // such recoveries are left out
	for n := range recovering {
		never *= (float64(n) + 0.5) / recovering
	}
	for n := range down {
		require.Less(t, uneven(down[n], yes((1-(float64(n)+0.5)/recovering)/(1-never))), 1.0, "eighth %d", n+1)
	}
}

// throttled is an adapter of code that tries three times, and waits as long as the tool
// asks for, or does not.
func throttled(honours bool) Adapter {
	a := homeAdapter()
	a.Policy.Attempt = 0
	a.Policy.Retry = []trace.Class{trace.Transient, trace.Throttled}
	a.Subject = func(s *Stage) Action {
		tool := Tool(s, "weather", func(context.Context, string) (int, error) { return 19, nil },
			Errors{trace.Transient: errBusy, trace.Throttled: Hinted(func(d time.Duration) error { return &busyFor{d} })})
		return func(ctx context.Context) (any, error) {
			wait := 100 * time.Millisecond
			for n := 1; ; n++ {
				out, err := tool(ctx, "Pune")
				if err == nil || n == 3 {
					return out, err
				}
				asked, own := wait, wait
				if b, ok := errors.AsType[*busyFor](err); ok && honours {
					asked = b.wait
				}
				select {
				case <-time.After(max(asked, own)):
				case <-ctx.Done():
					return nil, ctx.Err()
				}
				wait *= 2
			}
		}
	}
	return a
}

func TestCheckUnderATokenBucket(t *testing.T) {
	p := of(Behaviour{
		Streak: Geometric(0.6), Classes: Weights{trace.Transient: 1}, Bucket: Bucket{Burst: 2, Every: 1300 * time.Millisecond},
		Outage: Downtimes{Share: 0.3, Begin: Exponential(time.Second), Length: Exponential(time.Second), Recovery: Constant(2 * time.Second)},
	})
	p.Actions, p.Pause = Even(1, 4), Exponential(time.Second)
	a := throttled(true)
	a.Profile = p
	Check(t, a)

	a = throttled(false)
	a.Profile = p
	o, err := Explore(t, a)
	require.NoError(t, err)
	require.Equal(t, "hint-honoured", o.Invariant(), "%v", o.Findings)
	require.Len(t, o.Schedule.Buckets, 1)
}

// What would be drawn in no trial says so, and is not passed over.
func TestAProfileOfWhichNothingComesIsRefused(t *testing.T) {
	for want, p := range map[string]*Profile{
		`Tools["*"]: Classes is about failures, and Streak and Burst are missing`:     of(Behaviour{Classes: Weights{trace.Transient: 1}}),
		`Tools["*"]: Hang is about failures, and Streak and Burst are missing`:        of(Behaviour{Hang: 0.5}),
		`Tools["*"]: Lost is about failures`:                                          of(Behaviour{Lost: 0.5}),
		`Tools["*"]: Classes[transient] is -1: a weight is a number of 0 or more`:     of(Behaviour{Streak: Fixed(1), Classes: Weights{trace.Transient: -1, trace.Invalid: 1}}),
		`AtOnce is 0.5, and Actions is missing`:                                       {AtOnce: 0.5},
		`Actions is 0 in each trial, which has one at least: say 1 to 12`:             {Actions: Fixed(0)},
		`Actions is 100 or more, and a trial has 12 at most: say less`:                {Actions: Fixed(100)},
		`Burst: ToBad and Good are 0, so that nothing fails: give ToBad a share`:      of(Behaviour{Burst: BurstsOf(0, 3)}),
		`Burst: BurstsOf(0.9, 1) is no chain (ToBad is 9`:                             of(Behaviour{Burst: BurstsOf(0.9, 1)}),
		`Burst: BurstsOf(1, 2) is no chain (ToBad is +Inf`:                            of(Behaviour{Burst: BurstsOf(1, 2)}),
		`Burst: BurstsOf(0.2, 0.5) is no chain (ToGood is 2: a share is from 0 to 1)`: of(Behaviour{Burst: BurstsOf(0.2, 0.5)}),
	} {
		a := weathered(p)
		require.ErrorContains(t, a.validate(), want)
	}
	fine := weathered(&Profile{Actions: Geometric(0.5), AtOnce: 0.5, Tools: map[string]Behaviour{Main: {Latency: Constant(time.Second)}}})
	require.NoError(t, fine.validate())
}
