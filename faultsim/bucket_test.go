package faultsim

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/trace"
)

func TestABucketGrantsABurstAndThenItsRate(t *testing.T) {
	s := Schedule{Buckets: []Bucket{{Main, 2, time.Second}}}
	ms := time.Millisecond
	require.Equal(t, []trace.Outcome{up, up, over(800 * ms), over(1), up, over(500 * ms), up, up, over(time.Second - 2)},
		seen(t, askingAt(0, 100*ms, 200*ms, time.Second-1, time.Second, 1500*ms, 4*time.Second, 4*time.Second+1, 4*time.Second+2), s))
}

// An outage takes no token, and a bucket goes before a quota.
func TestABucketInAnOutage(t *testing.T) {
	s := Schedule{
		Outages: []Outage{{Main, 0, time.Second, trace.Transient}},
		Quotas:  []Quota{{Main, 1, time.Minute}},
		Buckets: []Bucket{{Main, 1, 10 * time.Second}},
	}
	require.Equal(t, []trace.Outcome{down, up, over(9 * time.Second), over(48 * time.Second)},
		seen(t, askingAt(0, time.Second, 2*time.Second, 12*time.Second), s))
}

// What a bucket refuses uses up nothing of a quota.
func TestABucketGoesBeforeAQuota(t *testing.T) {
	s := Schedule{Quotas: []Quota{{Main, 2, time.Minute}}, Buckets: []Bucket{{Main, 1, 10 * time.Second}}}
	require.Equal(t, []trace.Outcome{up, over(9 * time.Second), over(8 * time.Second), up, over(39 * time.Second), up},
		seen(t, askingAt(0, time.Second, 2*time.Second, 10*time.Second, 21*time.Second, time.Minute), s))
}

// What a call finds is what was expected of it, whatever came before, and whatever the
// player has looked at besides.
func TestThePlayerFindsTheClimateOfTheStage(t *testing.T) {
	draw := seeded(1)
	some := func(n int) time.Duration { return time.Duration(1+below(draw, n)) * time.Second }
	found := map[trace.Class]int{}
	for range 500 {
		from := some(20)
		s := Schedule{
			Outages: []Outage{{Main, from, from + some(10), trace.Transient}},
			Quotas:  []Quota{{Main, 1 + below(draw, 5), some(20)}},
			Buckets: []Bucket{{Main, 1 + below(draw, 3), some(5)}, {Main, 1 + below(draw, 3), some(5)}},
		}
		c, pl, course := climate{s: &s}, player{sched: &s}, turn{climate: climate{s: &s}}
		for n := 1; n <= 20; n++ {
			other := course
			pl.spell(Fault{}, &other)
			f, _ := c.faultAt(course.at, isMain, Fault{})
			got, _ := pl.spell(Fault{}, &course)
			require.Equal(t, f, got, "call %d at %v of\n%s", n, course.at, s)
			found[f.class()]++
			course.at += some(3)
		}
	}
	require.Greater(t, min(found[trace.OK], found[trace.Transient], found[trace.Throttled]), 500)
}

func TestABucketReadsBackAndShrinks(t *testing.T) {
	const text = "rehearse schedule 1\naction\nbucket \"a b\" 3 every=200ms\n"
	s, err := Parse(text)
	require.NoError(t, err)
	require.Equal(t, []Bucket{{"a b", 3, 200 * time.Millisecond}}, s.Buckets)
	require.Equal(t, text, s.String())
	none, one, shorter := false, false, false
	for c := range smallerThan(s, &drawer{}) {
		none = none || len(c.Buckets) == 0
		one = one || len(c.Buckets) == 1 && c.Buckets[0].Burst == 1
		shorter = shorter || len(c.Buckets) == 1 && c.Buckets[0].Every < 200*time.Millisecond
	}
	require.Equal(t, []bool{true, true, true}, []bool{none, one, shorter})
	for line, want := range map[string]string{
		"bucket":                     `line 3: a bucket reads bucket TOOL N every=, such as "bucket weather 5 every=200ms"`,
		"bucket weather 0 every=1s":  `line 3: the bucket holds "0" tokens, which is no number from 1 to 100000`,
		"bucket weather 1 per=1s":    `line 3: unknown option "per" of a bucket; known is every=`,
		"bucket weather 1 every=-1s": `line 3: every=-1s is negative: times are counted forward`,
	} {
		_, err := Parse("rehearse schedule 1\naction\n" + line + "\n")
		require.EqualError(t, err, want)
	}
}

func TestBucketsThatCannotBePlayed(t *testing.T) {
	for want, b := range map[string]Bucket{
		"a bucket has no Tool":                               {Burst: 1, Every: 1},
		"a bucket of *: Burst is 0 and Every is 1s":          {Main, 0, time.Second},
		"a bucket of *: Burst is 1 and Every is 0s":          {Main, 1, 0},
		"a bucket of *: Burst is 1000000: a trial":           {Main, 1_000_000, 1},
		"a bucket of *: Burst is 2 and Every is 8760h0m0s, ": {Main, 2, longestTime},
	} {
		require.ErrorContains(t, Trial(t, askingAt(0), Schedule{Buckets: []Bucket{b}}).Err, want)
	}
	_, unfit := errors.AsType[*UnfitError](Trial(t, askingAt(0), Schedule{Buckets: []Bucket{{"other", 1, 1}}}).Err)
	require.True(t, unfit, "it cannot ask for a wait")
}

// An expectation knows when each attempt finds a token.
func TestExpectFirstFollowsABucket(t *testing.T) {
	p := homePolicy()
	p.Retry = append(p.Retry, trace.Throttled)
	bucket := func(every time.Duration, faults ...Fault) Schedule {
		s := One(faults...)
		s.Buckets = []Bucket{{Main, 1, every}}
		return s
	}
	e, ok := ExpectFirst(p, bucket(time.Minute))
	require.True(t, ok)
	require.Equal(t, Expectation{1, 1, []trace.Reason{trace.ReasonSuccess}}, e, "there is a token at first")
	e, ok = ExpectFirst(p, bucket(100*time.Millisecond, Fail(trace.Transient)))
	require.True(t, ok)
	require.Equal(t, Expectation{2, 2, []trace.Reason{trace.ReasonSuccess}}, e, "the next one is there after the first wait")
	e, ok = ExpectFirst(p, bucket(100*time.Millisecond+1, Fail(trace.Transient)))
	require.True(t, ok)
	require.Equal(t, Expectation{3, 3, []trace.Reason{trace.ReasonSuccess}}, e, "a nanosecond later it is not")
}
