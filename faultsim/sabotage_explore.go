package faultsim

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rehearse-go/rehearse/trace"
)

// A Test is a test as data: what it plays, and what it asserts. The zero Test is
// that of [Check].
type Test struct {
	// Schedules are what it plays. Empty: what Check draws for the adapter.
	Schedules []Schedule

	// Judge is what it asserts of a trace: an error is a test that fails, and a
	// panic too. Nil: all rules that the adapter is held to.
	Judge func(*trace.Trace) error

	// Occasions is how often each sin is committed, at most: once in each schedule
	// that gives occasion for it. 0: 20.
	Occasions int
}

const usualOccasions = 20

// A SabotageOutcome is which sins a test notices.
type SabotageOutcome struct {
	Seed   uint64 // base seed of the drawn schedules
	Trials int    // schedules that were played without a sin, to look for occasions
	Sins   []Sin  // all of them, in the order of an action's course
}

// A Sin is one thing that code must not do, and what a test notices of it.
type Sin struct {
	Name  string // in kebab case
	Does  string // what was done, in the past tense: "called again after a refusal"
	Needs string // the occasion that it needs
	Eye   string // what would see it: a field of the declaration, what to assert, or the rule that saw it where a Judge did not

	Occasions int       // how often it was committed; 0: no schedule gave occasion for it
	Noticed   int       // how often the test failed then
	By        []Witness // what noticed it, the most frequent first
	Accepted  string    // why the adapter accepts that it goes unnoticed; empty: it does not

	// Schedule is that of the first time at which it went unnoticed, or was
	// committed, where it was noticed each time.
	Schedule Schedule
	Trace    *trace.Trace // of that trial
}

// Blind reports whether the sin was committed and never noticed.
func (s *Sin) Blind() bool { return s.Occasions > 0 && s.Noticed == 0 }

// A Witness is a rule that noticed a sin: an invariant, or "the test" for a Judge.
type Witness struct {
	Invariant string
	Times     int
}

// judgeName stands for a Test's own Judge among the witnesses.
const judgeName = "the test"

// ExploreSabotage commits sins in the place of the adapter's code, which is right,
// one in each trial, and returns which of them the test notices. It is the engine
// of [Sabotage], and the way to ask about a test that is written by hand:
//
//	o, err := faultsim.ExploreSabotage(t, adapter(), faultsim.Test{
//		Schedules: []faultsim.Schedule{faultsim.One(faultsim.Fail(trace.Transient))},
//		Judge: func(tr *trace.Trace) error {
//			if n := len(tr.Actions()[0].Attempts); n != 2 {
//				return fmt.Errorf("%d attempts", n)
//			}
//			return nil
//		},
//	})
//
// The schedules are played once as they are first. That the test fails then is an
// error: what a sin adds to a failure cannot be told. Trials run one after
// another. It must be called outside a synctest bubble.
func ExploreSabotage(t *testing.T, a Adapter, test Test) (SabotageOutcome, error) {
	t.Helper()
	g, err := newSabotage(t, &a, &test)
	if err != nil {
		return SabotageOutcome{}, err
	}
	o := SabotageOutcome{Seed: g.c.set.seed}
	if o.Trials, err = g.scout(); err != nil {
		return o, err
	}
	for _, k := range g.sins {
		s, err := g.commit(k)
		if err != nil {
			return o, err
		}
		o.Sins = append(o.Sins, s)
	}
	return o, nil
}

// A sabotage is one run over all sins.
type sabotage struct {
	c         *check
	test      *Test
	sins      []*sin
	occasions map[*sin][]Schedule
	sample    any // what an action returns on success; nil: nothing
}

func newSabotage(t *testing.T, a *Adapter, test *Test) (*sabotage, error) {
	if err := errors.Join(a.validate(), a.validateSins()); err != nil {
		return nil, err
	}
	if a.served != nil {
		return nil, fmt.Errorf("faultsim: %q is a tool under test, and sins are those of code that calls tools: sabotage the adapter of a caller", a.Name)
	}
	if test.Occasions < 0 {
		return nil, fmt.Errorf("faultsim: Test.Occasions is %d: say how often each sin is committed, or 0 for %d times", test.Occasions, usualOccasions)
	}
	set, err := readSettings(t.Name())
	if err != nil {
		return nil, err
	}
	set.propose(a.Trials)
	tools, err := inspect(t, a)
	if err != nil {
		return nil, err
	}
	c := newCheck(t, a, set)
	if c.drawer, err = drawerFor(a, tools); err != nil {
		return nil, err
	}
	return &sabotage{c: c, test: test, sins: sinsOf(a), occasions: map[*sin][]Schedule{}}, nil
}

// most is how often each sin is committed.
func (g *sabotage) most() int { return cmp.Or(g.test.Occasions, usualOccasions) }

// scout plays the schedules as they are, until each sin has had occasions enough,
// and returns how many that were.
func (g *sabotage) scout() (trials int, err error) {
	limit := g.c.set.trials
	if err := g.sampleAnswer(); err != nil {
		return 0, err
	}
	if n := len(g.test.Schedules); n > 0 {
		limit = n
	}
	for n := 0; n < limit && !g.enough(); n++ {
		s := g.schedule(n)
		if s.mortal() {
			continue // what is lost with a process is the business of other checks
		}
		v := g.scouting()
		tr, err := g.play(&s, v)
		if err != nil {
			return n, fmt.Errorf("%w\n%s", err, indent("schedule", s.String()))
		}
		if found := g.judge(tr); len(found) > 0 {
			return n, fmt.Errorf("faultsim: the test fails without any sabotage, by %s: mend that first, or correct what it asserts\n%s\n%s",
				g.says(found, tr), indent("schedule", s.String()), tr.Timeline())
		}
		for k := range v.met {
			if len(g.occasions[k]) < g.most() {
				g.occasions[k] = append(g.occasions[k], s)
			}
		}
		trials++
	}
	return trials, nil
}

// scouting is a scout of one trial.
func (g *sabotage) scouting() *saboteur {
	return &saboteur{a: g.c.a, sins: g.sins, scouts: true, sample: g.sample, met: map[*sin]bool{}}
}

// sampleAnswer learns what the action returns where nothing fails.
func (g *sabotage) sampleAnswer() error {
	v := g.scouting()
	_, err := g.play(&Schedule{}, v)
	g.sample = v.sample
	return err
}

// enough reports whether each sin has had occasions enough.
func (g *sabotage) enough() bool {
	return !slices.ContainsFunc(g.sins, func(k *sin) bool { return len(g.occasions[k]) < g.most() })
}

// schedule is the one of trial n.
func (g *sabotage) schedule(n int) Schedule {
	if len(g.test.Schedules) > 0 {
		return g.test.Schedules[n]
	}
	return g.c.draw(n)
}

// mortal reports whether a process dies in it, or an action is done again.
func (s *Schedule) mortal() bool {
	return slices.ContainsFunc(s.Actions, func(p Plan) bool { return p.Again || p.deaths() > 0 })
}

// commit plays the schedules that give occasion for the sin.
func (g *sabotage) commit(k *sin) (Sin, error) {
	s := Sin{Name: k.name, Does: k.does, Needs: k.needs, Eye: k.eye, Accepted: g.c.a.Accept[AcceptedSin+k.name]}
	by, asleep := map[string]int{}, map[string]int{}
	for _, sched := range g.occasions[k] {
		v := &saboteur{a: g.c.a, sins: []*sin{k}, sample: g.sample}
		tr, err := g.play(&sched, v)
		if errors.As(err, new(*FrozenError)) {
			return s, fmt.Errorf("while it %s: %w\n%s", k.does, err, indent("schedule", sched.String()))
		}
		if err != nil || !v.committed {
			continue // a function of the adapter's would not have it, or a race came between
		}
		found := g.judge(tr)
		s.Occasions++
		for _, name := range found {
			by[name]++
		}
		if len(found) > 0 {
			s.Noticed++
		} else {
			for _, name := range g.sharper(&sched, tr) {
				asleep[name]++
			}
		}
		if s.Trace == nil || len(found) == 0 && s.Noticed == s.Occasions-1 {
			s.Schedule, s.Trace = sched, tr
		}
	}
	for _, name := range append(g.c.names(), judgeName) { // in their order, narrow ones first
		if by[name] > 0 {
			s.By = append(s.By, Witness{name, by[name]})
			delete(by, name)
		}
	}
	slices.SortStableFunc(s.By, func(a, b Witness) int { return b.Times - a.Times })
	switch name := most(asleep, g.c.names()); {
	case !s.Blind() || name == "":
	case g.test.Judge == nil:
		s.Eye = fmt.Sprintf("the rule %s, which saw it, and whose findings Accept takes", name)
	case !strings.HasPrefix(s.Eye, "a judge "):
		s.Eye = fmt.Sprintf("a judge that asks the rule %s, which saw it", name) // what to declare is declared
	}
	return s, nil
}

// play runs one schedule with a saboteur.
func (g *sabotage) play(s *Schedule, v *saboteur) (*trace.Trace, error) {
	x := g.c.newTrial(s, nil)
	x.house.saboteur, x.brief = v, true
	return watched(g.c.t, x)
}

// sharper lists the rules that the trace breaks, accepted ones too, and that the code
// keeps where no sin is committed.
func (g *sabotage) sharper(s *Schedule, tr *trace.Trace) []string {
	clean, err := g.play(s, nil)
	if err != nil {
		return nil
	}
	var names []string
	for i := range g.c.invs {
		inv := &g.c.invs[i]
		if len(inv.Check(tr).Findings) > 0 && len(inv.Check(clean).Findings) == 0 {
			names = append(names, inv.Name)
		}
	}
	return names
}

// most is the name that was counted most often, of two the first in the list, and the
// catch-all only where there is no other; empty: none was.
func most(counts map[string]int, names []string) (name string) {
	for _, n := range names {
		if n != catchAll && counts[n] > counts[name] {
			name = n
		}
	}
	if name == "" && counts[catchAll] > 0 {
		return catchAll
	}
	return name
}

// judge returns what notices something in the trace, each once.
func (g *sabotage) judge(tr *trace.Trace) []string {
	if g.test.Judge != nil {
		if g.asked(tr) != nil {
			return []string{judgeName}
		}
		return nil
	}
	r := g.c.judge(tr, nil, nil)
	var names []string
	for _, f := range r.found {
		if !slices.Contains(names, f.Invariant) {
			names = append(names, f.Invariant)
		}
	}
	return names
}

// asked asks the test's own Judge.
func (g *sabotage) asked(tr *trace.Trace) (failed error) {
	defer func() {
		if p := recover(); p != nil {
			failed = fmt.Errorf("it panicked: %v at %s", p, panicSite())
		}
	}()
	return g.test.Judge(tr)
}

// says names what failed, with the words of the test's own Judge.
func (g *sabotage) says(found []string, tr *trace.Trace) string {
	if g.test.Judge == nil {
		return strings.Join(found, ", ")
	}
	return fmt.Sprintf("%s (%v)", judgeName, g.asked(tr))
}
