package faultsim

import (
	"cmp"
	"context"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// ran runs the trials of a property whose subject breaks no rule.
func ran(t *testing.T, a Adapter, set settings) demand {
	t.Helper()
	require.NoError(t, a.validate())
	set.trials = cmp.Or(set.trials, enoughTrials)
	set.seed = cmp.Or(set.seed, nameSeed(t.Name()))
	c := newCheck(t, &a, set)
	f, err := c.search()
	require.NoError(t, err)
	require.Nil(t, f)
	return c.demand()
}

// labels are those that are wanted and not met.
func (m demand) labels() (list []string) {
	for _, g := range m.gaps {
		list = append(list, g.Label)
	}
	return list
}

// needless is a rule of the user's own about what no trial does.
var needless = invariants.Invariant{Name: "no-refund-twice", Rule: "money is paid back once", Check: func(tr *trace.Trace) (v invariants.Verdict) {
	for at := range tr.Attempts() {
		if at.Tool == "refund" {
			v.Applied++
		}
	}
	return v
}}

// withTool puts a second tool on the stage, for use by the code under test.
func withTool(name string, build func(s *Stage, second weatherTool, home Action) Action) Adapter {
	a := homeAdapter()
	home := a.Subject
	a.Subject = func(s *Stage) Action {
		run := home(s)
		second := Tool(s, name, func(context.Context, string) (int, error) { return 1, nil }, Errors{trace.Transient: errBusy})
		return build(s, second, run)
	}
	return a
}

func TestRunThatCouldNotFailFails(t *testing.T) {
	unused := withTool("wheather", func(_ *Stage, _ weatherTool, run Action) Action { return run })
	idle := homeAdapter()
	idle.Invariants = []invariants.Invariant{needless}
	stale := homeAdapter()
	stale.Unreachable = map[string]string{"fault weather forbidden": "Pune is open to all"}
	rare := homeAdapter()
	rare.Label = func(tr *trace.Trace) []string { return []string{"asks for " + string(tr.Actions()[0].Name)} }
	rare.Require = map[string]float64{"streak 3": 0.5, "ask for forecast": 0.1, "rule no-retry-after-refusal": 0.9}
	for name, a := range map[string]Adapter{
		"tool-never-called": unused, "rule-never-applies": idle, "unreachable-and-met": stale, "share-too-low": rare,
	} {
		t.Run(name, func(t *testing.T) {
			m := ran(t, a, settings{})
			require.NotEmpty(t, m.gaps)
			golden(t, "vacuous-"+name, uncounted(m.report())+"\n")
		})
	}
	t.Run("share-undecided", func(t *testing.T) {
		a := homeAdapter()
		a.Require = map[string]float64{"actions at once": 0.067}
		m := ran(t, a, settings{trials: 100})
		require.Equal(t, 100*extraTrials, m.Trials)
		golden(t, "vacuous-share-undecided", uncounted(m.report())+"\n")
	})
}

// A tool that is called must have been reached by the faults that are planned for it.
func TestFaultsThatNeverReachTheirToolFail(t *testing.T) {
	kind := func(c trace.Class) int { return int(c) }
	for _, reached := range []bool{false, true} {
		d := doubleTally{Name: "weather", Planned: 400, Called: 480}
		d.Due[kind(trace.Transient)], d.Due[kind(trace.Forbidden)], d.Due[kind(trace.Invalid)] = 200, enoughDue, enoughDue-1
		name := "vacuous-called-in-no-action"
		if reached {
			d.Met[kind(trace.Transient)], name = 150, "vacuous-fault-never-reached"
		}
		a := homeAdapter()
		c := newCheck(t, &a, settings{trials: enoughTrials, seed: nameSeed("x")})
		c.doubles, c.met = []string{"weather"}, tally{Trials: enoughTrials, Doubles: []*doubleTally{&d}}
		m := demand{c: c, Coverage: c.coverage()}
		m.doubles()
		golden(t, name, m.report()+"\n")
		a.Unreachable = map[string]string{m.gaps[0].Label: "Pune is open to all"}
		m.gaps = nil
		m.doubles()
		require.Empty(t, m.gaps)
	}
}

// uncounted is the text without its counts, which change with what is drawn.
func uncounted(text string) string {
	return regexp.MustCompile(`\d+ of|\d+(\.\d+)?%\)|(below|between|and) [\d.]+%|seed \d+`).ReplaceAllStringFunc(text, func(s string) string {
		return regexp.MustCompile(`[\d.]+`).ReplaceAllString(s, "#")
	})
}

// What is declared, or need not be, is not demanded.
func TestRunThatNeedNotMeetItPasses(t *testing.T) {
	unused := func(_ *Stage, _ weatherTool, run Action) Action { return run }
	for name, a := range map[string]Adapter{
		"as it is": homeAdapter(),
		"a tool that may not be called": func() Adapter {
			a := withTool("scraper", unused)
			a.Allowed = []string{"weather"}
			return a
		}(),
		"a tool that no trial calls": func() Adapter {
			a := withTool("audit", unused)
			a.Unreachable = map[string]string{"tool audit": "it is called at night"}
			return a
		}(),
		"a rule with leave": func() Adapter {
			a := homeAdapter()
			a.Invariants = []invariants.Invariant{invariants.WhereItApplies(needless)}
			return a
		}(),
		"a rule that no trial is about": func() Adapter {
			a := homeAdapter()
			a.Invariants = []invariants.Invariant{needless}
			a.Unreachable = map[string]string{"rule no-refund-twice": "nothing is paid for here"}
			return a
		}(),
		"a refusal that may be corrected is the only one": func() Adapter {
			a := homeAdapter()
			a.Policy.Correct = invariants.Correct{Once: true, FromError: true}
			a.Subject = func(s *Stage) Action {
				l := loop{attempts: 3, tool: Tool(s, "weather", func(context.Context, string) (int, error) { return 19, nil }, Errors{trace.Transient: errBusy, trace.Invalid: errForbidden})}
				return func(ctx context.Context) (any, error) { return l.run(ctx, "Pune") }
			}
			return a
		}(),
		"a share that is reached": func() Adapter {
			a := homeAdapter()
			a.Label = func(tr *trace.Trace) []string { return []string{"traced", "traced"} }
			a.Require = map[string]float64{"traced": 1, "streak 2": 0.1, "tool weather": 0.5, "fault weather transient": 0.1}
			return a
		}(),
	} {
		t.Run(name, func(t *testing.T) { require.Empty(t, ran(t, a, settings{}).labels()) })
	}
}

// A smoke run demands nothing that it is too short for, and says so.
func TestShortRunsDemandNoMoreThanTheyCanTell(t *testing.T) {
	a := withTool("audit", func(_ *Stage, _ weatherTool, run Action) Action { return run })
	a.Invariants = []invariants.Invariant{needless}
	a.Require = map[string]float64{"streak 3": 0.4}
	m := ran(t, a, settings{trials: 20, brief: true})
	require.Equal(t, 20, m.Trials)
	require.Empty(t, m.labels())
	require.Contains(t, m.table(), "not demanded: 20 trials are too few")
	require.Contains(t, m.table(), "not decided: streak 3 was met in ")
	a.Require = map[string]float64{"rule no-refund-twice": 0.9}
	require.Equal(t, []string{"rule no-refund-twice"}, ran(t, a, settings{trials: 20, brief: true}).labels())
}

// A run whose length is given does not fail for what more trials would have decided.
func TestShareThatMoreTrialsWouldDecideIsLogged(t *testing.T) {
	a := homeAdapter()
	a.Require = map[string]float64{"actions at once": 0.067}
	for name, set := range map[string]settings{
		"shard": {trials: 300, shard: shard{1, 3}},
		"asked": {trials: 100, brief: true},
	} {
		m := ran(t, a, set)
		require.Equal(t, 100, m.Trials, name)
		require.Empty(t, m.labels(), name)
		require.Contains(t, m.table(), "not decided: actions at once was met in ", name)
	}
	c := newCheck(t, &a, settings{trials: 100})
	require.True(t, c.mayExtend())
	c.campaign = newCampaign(io.Discard, 0)
	require.False(t, c.mayExtend())
}

// A run does not go on for a share where go test would end it before its verdict.
func TestShareIsLeftUndecidedBeforeTheTestEnds(t *testing.T) {
	end, limited := t.Deadline()
	if !limited {
		t.Skip("go test has no -timeout")
	}
	a := homeAdapter()
	a.Require = map[string]float64{"actions at once": 0.067}
	c := newCheck(t, &a, settings{trials: 100, seed: 1})
	c.began = time.Now().Add(-time.Until(end)) // half of the time is over
	_, err := c.search()
	require.NoError(t, err)
	m := c.demand()
	require.Equal(t, 100, m.Trials)
	require.Contains(t, m.report(), "more trials would come too near to go test's own -timeout\n    advice: give go test a longer -timeout, or 0 for none\n")
}

func TestTableOfWhatWasMet(t *testing.T) {
	m := ran(t, homeAdapter(), settings{})
	require.Contains(t, m.table(), "forecast: met in 500 trials:\n    tool      weather ")
	m.Coverage = Coverage{Trials: 1000, Labels: map[string]int{
		"tool weather": 983, "fault weather transient": 512, "fault weather lost reply": 31, "streak 1": 700, "streak 2": 400, "streak 16": 1,
		"cancel in flight": 64, "cancel in backoff": 61, "end success": 420, "rule returns": 1000, "rule no-panic": 1000, "rule conforms": 983, "saved late": 7,
	}}
	m.open = []string{"saved late was met in 7 of 1000 trials"}
	golden(t, "coverage-table", m.table()+"\n")
}

// Who ran which trial, and in how many parts, makes no difference.
func TestCoverageIsThatOfTheTrials(t *testing.T) {
	a := homeAdapter()
	a.Label = func(tr *trace.Trace) []string { return []string{strings.Repeat("i", len(tr.Actions()))} }
	run := func(serial bool, parts ...int) (v Coverage) {
		b := a
		b.Serial = serial
		from := 0
		for _, to := range parts {
			c := newCheck(t, &b, settings{trials: to, seed: 5})
			require.NoError(t, c.prepare())
			_, r := c.firstFailing(from, to)
			require.Nil(t, r)
			v.Add(c.coverage())
			from = to
		}
		return v
	}
	whole := run(false, 300)
	require.Equal(t, 300, whole.Trials)
	require.Positive(t, whole.Labels["iii"])
	require.Equal(t, whole, run(true, 300))
	require.Equal(t, whole, run(false, 7, 200, 300))
}

func TestSchedulesForToolsThatAreNotCalledFail(t *testing.T) {
	a := withTool("wheather", func(_ *Stage, _ weatherTool, run Action) Action { return run })
	plan := func(cancel time.Duration) Schedule {
		return Schedule{Actions: []Plan{{Cancel: cancel, Faults: map[string][]Fault{"wheather": {Fail(trace.Transient)}}}}}
	}
	golden(t, "unmet-schedule", Trial(t, a, plan(0)).Unmet+"\n")
	require.Empty(t, Trial(t, a, plan(-1)).Unmet)
	require.Empty(t, Trial(t, a, One(Fail(trace.Transient))).Unmet)
	a.Unreachable = map[string]string{"tool wheather": "it is spare"}
	require.Empty(t, Trial(t, a, plan(0)).Unmet)
}

func TestCoverageThatCannotBeWanted(t *testing.T) {
	a := homeAdapter()
	a.Require = map[string]float64{"streak 33": 0.1, "streak 3": 1.5, "rule conform": 0.1, "tool weather": 0.1}
	a.Unreachable = map[string]string{"rule conforms": " ", "conforms": "why", "tool weather": "it is far"}
	golden(t, "coverage-errors", a.validate().Error()+"\n")

	a = homeAdapter()
	a.Unreachable = map[string]string{"fault wether hang": "it is far"}
	_, err := Explore(t, a)
	require.ErrorContains(t, err, `"fault wether hang" is of no double on the stage, or of no kind of fault: the stage has "weather"; did you mean "fault weather hang"?`)

	for label, want := range map[string]string{
		"":             `Label gives ""`,
		"a\nb":         `Label gives "a\nb"`,
		"rule of mine": `Label gives "rule of mine", which is a label of rehearse's own`,
		"streak 3":     `Label gives "streak 3", which is a label of rehearse's own`,
	} {
		a := homeAdapter()
		a.Label = func(*trace.Trace) []string { return []string{label} }
		_, err := Explore(t, a)
		require.ErrorContains(t, err, want)
	}
	a = homeAdapter()
	a.Label = func(*trace.Trace) []string { panic(errors.New("no such action")) }
	_, err = Explore(t, a)
	require.ErrorContains(t, err, "Label panicked: no such action")
}

func TestUnknownToolsAreGuessed(t *testing.T) {
	_, err := Explore(t, homeAdapter())
	require.NoError(t, err)
	r := Trial(t, homeAdapter(), Schedule{Actions: []Plan{{Faults: map[string][]Fault{"wether": {Fail(trace.Transient)}}}}})
	require.EqualError(t, r.Err, `the schedule speaks of tool "wether", the stage has "weather"; did you mean "weather"?`)
}

// A cache that tells of no hit has rules that nothing can break.
func TestACacheThatTellsOfNoHitIsTold(t *testing.T) {
	a := homeAdapter()
	a.Cache = &invariants.Cache{}
	m := ran(t, a, settings{})
	require.NotEmpty(t, m.gaps)
	require.Equal(t, "rule cached-failure", m.gaps[0].Label)
	require.Equal(t, "tell of each answer that the cache gives, by Stage.Hit; or say in Unreachable why no trial does", m.gaps[0].Advice)
}
