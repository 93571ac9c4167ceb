package faultsim

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// A failure has the same verdict, and the same trace, a thousand times of a thousand.
func TestOneVerdictAThousandTimes(t *testing.T) {
	runs := 1000
	if raceEnabled {
		runs = 100
	}
	s := One(Fail(trace.Transient), Fault{Class: trace.Transient, Latency: 200 * time.Millisecond}, Fail(trace.Transient))
	for _, procs := range []int{1, 8} {
		before := runtime.GOMAXPROCS(procs)
		var first Result
		for i := range runs / 2 {
			r := Trial(t, loopAdapter(loop{attempts: 4}), s)
			if i == 0 {
				first = r
				require.Equal(t, []string{"attempts-bounded", "conforms"}, names(r.Findings))
			}
			if d := trace.Diff(first.Trace, r.Trace); d != nil {
				t.Errorf("GOMAXPROCS=%d, run %d: %v", procs, i, d)
			}
			require.Equal(t, first.Findings, r.Findings)
		}
		runtime.GOMAXPROCS(before)
	}
}

// lucky makes one attempt more where a random byte says so.
func lucky() Adapter {
	a := homeAdapter()
	build := a.Subject
	a.Subject = func(s *Stage) Action {
		right, wrong := build(s), loop{attempts: 4}
		wrong.tool = Tool(s, "weather too", func(context.Context, string) (int, error) { return 19, nil }, Errors{trace.Transient: errBusy})
		return func(ctx context.Context) (any, error) {
			if fromCrypto()%4 > 0 {
				return right(ctx)
			}
			return wrong.run(ctx, "Pune")
		}
	}
	a.Policy.MaxAttempts = 3
	return a
}

// A failure that hangs on what random numbers were drawn is found again with a seed,
// and kept with it.
func TestFailureOfChanceIsKeptWithItsSeed(t *testing.T) {
	for range 5 {
		a := lucky()
		o, err := Explore(t, a)
		require.NoError(t, err)
		require.NotZero(t, o.Trial)
		require.Equal(t, 1.0, o.Rate)
		require.Nil(t, o.Differs)
		for range 20 {
			require.Contains(t, names(Trial(t, a, o.Schedule).Findings), o.Invariant(), "%v", o.Schedule)
		}
		back, err := Parse(o.Schedule.String())
		require.NoError(t, err)
		require.Equal(t, o.Schedule.Seed, back.Seed)
	}
}

// Trials that run one at a time are seeded as they are drawn.
func TestSerialTrialsAreSeeded(t *testing.T) {
	a := lucky()
	a.Serial = true
	first, err := Explore(t, a)
	require.NoError(t, err)
	again, err := Explore(t, a)
	require.NoError(t, err)
	require.Equal(t, first.Trial, again.Trial)
	require.Equal(t, uint64(first.Trial), first.Drawn.Seed)
	require.Nil(t, trace.Diff(first.Trace, again.Trace))
}

// Jitter that is left to chance is told from a loop that does something else.
func TestUnseededJitterIsLeftOut(t *testing.T) {
	t.Setenv("REHEARSE_TWICE", "1")
	a := drawing(fromV2)
	a.Trials = 300
	o, err := Explore(t, a)
	require.NoError(t, err)
	require.NotNil(t, o.Differs, "nothing declared")
	require.Equal(t, "At", o.Differs.Field)
	a.Unseeded = true
	o, err = Explore(t, a)
	require.NoError(t, err)
	require.Zero(t, o.Trial, "%v", o.Differs)

	for _, text := range []string{ // what the clock does to an action hangs on the waits of those before it
		"action\n weather 1 transient\naction after=100ms\noutage weather to=900ms transient\n",
		"action\n weather 1 transient\naction after=100ms\n weather 1 transient\ncalm at=600ms\n",
		"action\n weather 1 transient\naction\n weather 1 transient\nat-once\nquota weather 3 per=500ms\n",
	} {
		s, err := Parse(scheduleHeader + "\n" + text)
		require.NoError(t, err)
		c := newCheck(t, &a, settings{})
		first := c.trial(&s).tr
		for range 50 {
			require.Nil(t, c.differ(&s, first, c.trial(&s).tr), "%s", text)
		}
	}

	other := drawing(fromV2)
	other.Unseeded, other.Trials = true, 300
	build := other.Subject
	other.Subject = func(s *Stage) Action {
		extra := Tool(s, "news", func(context.Context, int) (int, error) { return 1, nil }, nil)
		act := build(s)
		return func(ctx context.Context) (any, error) {
			if fromV2()%2 == 0 && ctx.Err() == nil {
				_, _ = extra(ctx, 1)
			}
			return act(ctx)
		}
	}
	o, err = Explore(t, other)
	require.NoError(t, err)
	require.NotZero(t, o.Trial, "a call that is made or not is no jitter")
}

// What the doubles do at one instant is not for the code to put in order.
func TestTiesAtTheToolDoNotCount(t *testing.T) {
	a := homeAdapter()
	c := newCheck(t, &a, settings{twice: true})
	s, err := Parse(scheduleHeader + "\naction\n weather 1 transient done work=1.1s\n weather 2 transient done work=1s\n")
	require.NoError(t, err)
	first, differ := *c.trial(&s), 0
	for range 100 {
		second := *c.trial(&s)
		require.Nil(t, c.twice(&s, first, second, false).other)
		if c.differ(&s, first.tr, second.tr) != nil {
			differ++
		}
	}
	require.NotZero(t, differ)

	call := func(action, tool string, at time.Duration) trace.Event {
		return trace.Event{Kind: trace.KindCall, Action: action, Tool: tool, At: at}
	}
	tr := &trace.Trace{Events: []trace.Event{call("a", "weather", 1), call("b", "weather", 1), call("b", "news", 1), call("a", "weather", 2), call("a", "weather", 2)}}
	counted := Schedule{Buckets: []Bucket{{Main, 1, time.Second}}}
	require.True(t, tied(&counted, tr, 0))
	require.False(t, tied(&Schedule{}, tr, 0), "nothing counts the calls")
	require.True(t, tied(&counted, tr, 2), "it follows from what the action was granted at that instant")
	require.False(t, tied(&Schedule{Buckets: []Bucket{{"files", 1, time.Second}}}, tr, 2), "nobody calls what counts")
	require.False(t, tied(&counted, tr, 3), "of one action")
}

// untilTie compares runs of the schedule, all of which break the rule, until two of
// them differ at a tie, and nowhere else.
func untilTie(t *testing.T, c *check, s *Schedule, rule string) (runs repetition) {
	t.Helper()
	for n := 0; n < 50 && runs.tie == nil; n++ {
		runs = c.compared(s, rule)
		require.True(t, runs.steady(), "%s", c.tell(&runs))
	}
	require.NotNil(t, runs.tie)
	return runs
}

// A failure is as deterministic as its schedule lets it be.
func TestTiesAreNoChanceOfTheCode(t *testing.T) {
	a := loopAdapter(loop{attempts: 4})
	c := newCheck(t, &a, settings{})
	s, err := Parse(scheduleHeader + "\naction\n weather 1 transient done work=1.1s\n weather 2 transient done work=1s\n weather 3 transient\n")
	require.NoError(t, err)
	runs := untilTie(t, c, &s, "attempts-bounded")
	require.Regexp(t, `^deterministic: 100 runs failed, and differ only where the schedule puts two things at one instant: event \d+ differs`, c.tell(&runs))
}

func TestSavedCaseOfTheFirstVersionIsPlayed(t *testing.T) {
	k, err := parseCase("rehearse case 1\n# why\ninvariant conforms\n\nrehearse schedule 1\naction\n")
	require.NoError(t, err)
	require.Equal(t, "conforms", k.invariant)
	c := newCheck(t, &Adapter{}, settings{})
	require.Empty(t, c.since(&k), "it is not known under which policy it was found")
}

func TestCaseRoundTrips(t *testing.T) {
	k := savedCase{invariant: "two words", found: "trial 2 of 1000, seed 7", policy: `{"id":"x"}`, beside: `{"cache":{}}`, schedule: printed()[2]}
	back, err := parseCase(k.text("TestX", "why\nso"))
	require.NoError(t, err)
	require.Equal(t, k, back)
}

// A case that was found under another policy says what has changed, and is played.
func TestCaseTellsOfAChangedPolicy(t *testing.T) {
	c := newChild(t, "one-too-many")
	_, passed := c.run(t, "^TestChild$")
	require.False(t, passed)
	path := filepath.Join(c.dir, c.cases(t)[0])
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	changed := strings.NewReplacer(`"maxAttempts":3`, `"maxAttempts":5`, `,"repeatable":true`, "", `"base":"100ms"`, `"base":"100ms","cap":"1s"`).Replace(string(text))
	require.NoError(t, os.WriteFile(path, []byte(changed), 0o644))
	out, passed := c.run(t, "^TestChild$")
	require.False(t, passed)
	require.Contains(t, out, "found under policy home/v1, which has changed since: backoff.cap 1s → nothing, maxAttempts 5 → 3, repeatable nothing → true\n")
}

func TestFailureIsPrintedAsAGoTest(t *testing.T) {
	c := newChild(t, "one-too-many")
	out, _ := c.run(t, "^TestChild$", "-rehearse.gotest")
	golden(t, "failure-as-go-test", outline(out))
}

// Which other rules trials break does not depend on how far other workers were.
func TestChildTwoFaults(t *testing.T) {
	childOnly(t)
	Check(t, loopAdapter(loop{attempts: 4, keep: true}))
}

func TestOtherInvariantsAreNamed(t *testing.T) {
	var named []string
	for _, cpu := range []string{"1", "8"} {
		c := newChild(t, "two faults")
		c.env = append(c.env, "GOMAXPROCS="+cpu)
		out, _ := c.run(t, "^TestChildTwoFaults$")
		_, others, _ := strings.Cut(out, "\n        other trials also break: ")
		others, _, _ = strings.Cut(others, "\n")
		for other := range strings.SplitSeq(others, ", ") {
			require.Contains(t, []string{"attempts-bounded", "no-retry-after-refusal"}, other)
			require.NotContains(t, out, ": "+other+": forecast", "the one that comes first is not among the others")
		}
		named = append(named, others)
	}
	require.Equal(t, named[0], named[1])
}

// A trial that passes and is another one each time fails where trials run twice.
func TestChildTwice(t *testing.T) {
	childOnly(t)
	a := drawing(fromV2)
	a.Policy.Backoff.Jitter = invariants.FullJitter
	Check(t, a)
}

// TestChildTwiceInParallel runs beside other tests, where nothing can be seeded.
func TestChildTwiceInParallel(t *testing.T) {
	childOnly(t)
	t.Parallel()
	a := drawing(fromMath)
	if scenario == "choice in parallel" {
		a = subjectAdapter(func(ctx context.Context, _ *Stage, tool trace.Func[string, int]) (any, error) {
			return (&loop{tool: tool, attempts: 3}).run(ctx, []string{"Pune", "Oslo"}[fromMath()%2])
		})
	}
	Check(t, a)
}

func TestRunningTwiceFindsWhatDiffers(t *testing.T) {
	c := newChild(t, "twice")
	out, passed := c.run(t, "^TestChildTwice$", "-rehearse.trials=50")
	require.True(t, passed, out)
	for _, on := range []string{"flag", "variable"} {
		c := newChild(t, "twice")
		args := []string{"-rehearse.twice"}
		if on == "variable" {
			args, c.env = nil, append(c.env, "REHEARSE_TWICE=1")
		}
		out, passed = c.run(t, "^TestChildTwice$", append(args, "-rehearse.trials=50")...)
		require.False(t, passed)
		require.Contains(t, out, "not-deterministic: forecast: one schedule gave two traces: event ")
		require.Regexp(t, `of 100 further runs, [1-9]\d? differ from the first\n\s+run it again: go test -run '\^TestChildTwice\$' \S+ -rehearse.trials=50 -rehearse.twice\n`, out)
		require.Empty(t, c.cases(t), "it breaks no rule, and is no case")
	}
	out, passed = newChild(t, "jitter in parallel").run(t, "^TestChildTwiceInParallel$", "-rehearse.twice", "-rehearse.trials=50")
	require.True(t, passed, "jitter is not seeded there:\n%s", out)
	out, passed = newChild(t, "choice in parallel").run(t, "^TestChildTwiceInParallel$", "-rehearse.twice", "-rehearse.trials=50")
	require.False(t, passed)
	require.Contains(t, out, "differ from the first, and their random numbers were not seeded, since tests run in parallel\n")
	c.env = append(c.env, "REHEARSE_TWICE=often")
	out, _ = c.run(t, "^TestChildTwice$")
	require.Contains(t, out, `REHEARSE_TWICE="often" is neither true nor false`)
}
