package faultsim

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rehearse-go/rehearse/internal/near"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// A Stage holds the doubles and the recorder of one trial. Subject functions
// build the code under test on it. Its methods may be called by several
// goroutines at once.
type Stage struct {
	*house
	life  *life // of the process that is built on it; nil: it cannot crash
	build int   // how often the code had been built in this trial before

	member *member // of a fleet whose agents are processes of their own; nil: there is none
}

// A house is what the stages of one trial have in common: there is one for each
// life of the code under test.
type house struct {
	policy *invariants.Policy
	serial bool
	rec    *trace.Recorder
	limit  int          // calls of one action before it counts as running without end
	built  bool         // Subject has returned
	unsent atomic.Int64 // requests whose context was over before they were sent

	mu      sync.Mutex
	tools   []*tool
	some    [2]*tool // storage of the first of them
	acts    []*act   // of the schedule, in its order
	closers []func()
	bodies  []*exchange // responses that have been delivered
	misuse  []error
	ledger  ledger
	batches map[batchKey][]string // the items of an action at a tool, in the order in which it first sent them
	climate climate
	served  *served // of a tool under test; nil: the code calls tools
	name    string  // of the tool under test

	declared    []invariants.Sink // contracts of the sinks
	sinks       []*tool
	models      []*tool
	reason      func(error) trace.Reason // the adapter's; nil: none
	approvers   []*tool
	granted     map[leaveKey]*leave     // what approvers have answered
	approvals   int                     // how many they have given
	loop        *invariants.Loop        // contract of a loop; nil: the code is none
	asks        int                     // calls that models have asked for outside the actions
	jittered    bool                    // the code takes its random numbers from the stage
	issuer      *Issuer                 // nil: tools take any credential
	disk        map[string][]byte       // see Disk
	defines     atomic.Bool             // there are definitions of tools
	definitions map[string]*Definitions // by tool
	life        *life                   // the current one; nil: there are no crashes
	builds      int                     // stages beyond the first
	again       bool                    // an operator can have actions done again
	drainable   bool                    // the process can be told to stop
	released    chan struct{}           // closed when crashed processes may go; nil: none has crashed
	afterlife   atomic.Int64            // calls of crashed processes since
	connects    atomic.Bool             // there are sessions with tools
	sessions    map[string]*Sessions    // by tool
	crowd       *crowd                  // a fleet; nil: there is none
	turnstile   turnstile               // of the calls that are answered at once
	saboteur    *saboteur               // who stands between the code and its tools; nil: nobody
}

// A tool is one double on the stage.
type tool struct {
	name string
	skills
	queue queue  // of a tool that serves one call at a time
	stage *Stage // that it stands on, for draws; nil: of no interest
	build int    // the number of the stage that it was put on last
	calls int    // that have reached it
	met   kinds  // of the faults that it has shown
}

// follows puts the tool in the place of the same one from before a crash.
func (t *tool) follows(old *tool) { t.calls, t.met = old.calls, old.met }

// skills are what a double can show.
type skills interface {
	can(*Fault) bool
	forms() []HintForm // in which it can ask for a wait
	unusable() error   // what is wrong with how it was declared; nil: nothing
}

// An act is one action of the schedule that is under way.
type act struct {
	op      *trace.Op
	plan    *Plan
	cancel  context.CancelFunc
	timers  []*time.Timer
	dog     *time.Timer // fires where the action hangs
	ended   bool
	hung    bool
	calls   int           // of the tools; where nothing but the budget bounds them, those at one instant
	total   int           // of all of them, up to that instant
	moment  time.Duration // of the latest call; see counts
	errs    []callError   // what the doubles answered, latest last
	few     [3]callError  // storage of the first of them
	result  answer        // of the latest success
	emptied bool          // one of its answers held nothing
	spun    bool
	writes  int // to the disk

	asks     int  // calls that models have asked for
	stubborn bool // its models ask for the same from now on

	telling sync.Mutex // held while an answer is noted and recorded, and while the end is: see tells
}

// tells notes and records an answer in one step. An action that ends at that instant
// ends before it or behind it, and is not held to keep an error that was recorded and
// not yet noted.
func (a *act) tells(answer func()) {
	if a != nil {
		a.telling.Lock()
		defer a.telling.Unlock()
	}
	answer()
}

// An answer is the result of a success, written down.
type answer struct {
	of  reflect.Type // nil: not known
	raw []byte

	empty bool // it holds nothing, as planned
}

type callError struct {
	call   int
	err    error
	status bool // an HTTP status or an item of a batch, which a client words in its own way
}

func (s *Stage) start(p *invariants.Policy, rec *trace.Recorder) {
	s.policy, s.rec, s.limit = p, rec, 1000+2*max(mostOf(p), 0)
}

// Close registers a function that stops what the subject keeps running by
// design, such as a client's connections. The trial calls it, last registered
// first, after the actions have ended and before it looks for leaks.
func (s *Stage) Close(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f == nil {
		s.misuse = append(s.misuse, errors.New("faultsim: Stage.Close was given nil: give the function that stops what the subject keeps running"))
		return
	}
	s.closers = append(s.closers, f)
}

// Sleeper is a sleeper on virtual time whose waits are in the trace, for code
// that takes one.
func (s *Stage) Sleeper() trace.SleepFunc {
	sleep := s.rec.Sleeper(nil)
	if s.life != nil {
		return s.mortally(sleep)
	}
	if m := s.member; m != nil {
		return func(ctx context.Context, d time.Duration) error { return sleep(m.owns(ctx), d) }
	}
	return sleep
}

// Publish records a terminal that the code under test publishes for the
// action that ctx carries, such as a row in its store or a message to its user.
func (s *Stage) Publish(ctx context.Context, reason trace.Reason) {
	if s.gone() {
		_ = s.buried()
		return
	}
	ctx = s.member.owns(ctx)
	if s.saboteur == nil || s.saboteur.publishes(s, ctx, reason) {
		s.rec.Publish(ctx, reason)
	}
}

// Observe records what the code hands on of a failure while its action still
// runs, as an agent does that gives each failed call to its model. What the
// action as a whole hands on is for [Adapter].Observe.
func (s *Stage) Observe(ctx context.Context, value any) {
	if s.gone() {
		_ = s.buried()
		return
	}
	s.rec.Observe(s.member.owns(ctx), value)
}

// errNoStage is for doubles without a trial to be in.
var errNoStage = errors.New("a double was put on a Stage that is nil, or that is not of a trial: hand on the *Stage that Subject is called with")

// register puts a double on the stage.
func (s *Stage) register(t *tool) {
	if s == nil || s.house == nil {
		panic(errNoStage)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.named(t.name)
	t.build = s.build
	switch {
	case t.name == "":
		s.misuse = append(s.misuse, errors.New("faultsim: a tool on the stage has no name: give it one, for schedules and reports"))
	case t.name == Main:
		s.misuse = append(s.misuse, fmt.Errorf("faultsim: a tool on the stage is named %q, which stands for the first tool in schedules: give it another name", Main))
	case s.built:
		s.misuse = append(s.misuse, fmt.Errorf("faultsim: tool %q was put on the stage by an action: do that in Subject, where schedules and rows can see it", t.name))
	case before >= 0 && s.tools[before].build < t.build:
		t.follows(s.tools[before]) // on the stage again after a crash
		s.tools[before] = t
		return
	case before < 0 && t.build > 0:
		s.misuse = append(s.misuse, fmt.Errorf("faultsim: tool %q is put on the stage after a crash only: put it there in Subject as well, where schedules can see it", t.name))
	case before >= 0 || s.besides(t.name) != nil:
		s.misuse = append(s.misuse, fmt.Errorf("faultsim: the stage has two tools named %q: give each its own name", t.name))
	}
	if err := t.unusable(); err != nil {
		s.misuse = append(s.misuse, fmt.Errorf("faultsim: tool %q: %w", t.name, err))
	}
	if s.tools == nil {
		s.tools = s.some[:0]
	}
	s.tools = append(s.tools, t)
}

// misused notes what ends the trial with an error, and returns it; nil: nothing.
func (s *Stage) misused(err error) error {
	if err == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.misuse = append(s.misuse, err)
	return err
}

// main is the name of the adapter's main tool.
func (s *Stage) main() string {
	if len(s.tools) == 0 {
		return ""
	}
	return s.tools[0].name
}

// longestPauses bounds the pauses of a schedule. Their sum would otherwise run
// past the last instant that the clock knows.
const longestPauses = 2 * breakerActions * longestTime

// fits reports why the schedule cannot be played on this stage; nil: it can.
func (s *Stage) fits(sched *Schedule) error {
	if err := s.spellsFit(sched); err != nil {
		return err
	}
	pauses := time.Duration(0)
	for i := range sched.Actions {
		if err := s.served.fits(&sched.Actions[i], i+1); err != nil {
			return err
		}
		d := sched.Actions[i].After
		if d < 0 {
			return fmt.Errorf("faultsim: the pause before action %d is %v: times are counted forward; 0 is none", i+1, d)
		}
		if d > longestTime || pauses+d > longestPauses {
			return fmt.Errorf("faultsim: After is %v before action %d: a pause takes a year (%v) at most, and all together %v", d, i+1, longestTime, longestPauses)
		}
		pauses += d
		if d := sched.Actions[i].Deadline; d < 0 {
			return fmt.Errorf("faultsim: the deadline of action %d is %v: count it from the action's begin, or leave it 0 for none", i+1, d)
		}
		if err := s.crashesFit(sched, i); err != nil {
			return err
		}
		if err := s.againFits(sched, i); err != nil {
			return err
		}
		for name, faults := range inOrder(sched.Actions[i].Faults) {
			t := s.double(name)
			if t == nil {
				return &UnfitError{s.unknown(name), i + 1, name, 0}
			}
			for n := range faults {
				if err := faults[n].validate(); err != nil {
					if len(sched.Actions) > 1 {
						err = fmt.Errorf("in action %d: %w", i+1, err)
					}
					return fmt.Errorf("faultsim: %s attempt %d: %w", t.name, n+1, err)
				}
				if text := s.helpless(t, &faults[n]); text != "" {
					return &UnfitError{fmt.Sprintf("%s attempt %d %s: nothing that the code does would help", t.name, n+1, text), i + 1, name, n + 1}
				}
				if !t.can(&faults[n]) {
					return &UnfitError{fmt.Sprintf("%s cannot answer as attempt %d plans: %s", t.name, n+1, describe(&faults[n])), i + 1, name, n + 1}
				}
			}
		}
	}
	return nil
}

// helpless words a fault that makes a second effect of a write without a key,
// whatever the code does; empty: it does not.
func (s *Stage) helpless(t *tool, f *Fault) string {
	p := s.policy.Of(t.name)
	switch {
	case p.Key != "" || p.Repeatable:
		return ""
	case f.Twice:
		return "is delivered twice, and there is no Key by which the tool could know it"
	case f.works() && !f.Hang && f.class() != trace.OK && p.Effect(trace.Outcome{Class: f.class()}) == trace.EffectNotDone:
		return fmt.Sprintf("answers %v, which means that nothing was done, and does its work all the same", f.class())
	}
	return ""
}

// inOrder yields the lists of a plan in a fixed order.
func inOrder(lists map[string][]Fault) iter.Seq2[string, []Fault] {
	if len(lists) < 2 {
		return maps.All(lists)
	}
	return func(yield func(string, []Fault) bool) {
		for _, name := range slices.Sorted(maps.Keys(lists)) {
			if !yield(name, lists[name]) {
				return
			}
		}
	}
}

// named is the place of the tool of that name; -1: there is none.
func (s *Stage) named(name string) int {
	return slices.IndexFunc(s.tools, func(t *tool) bool { return t.name == name })
}

func (s *Stage) lookup(name string) *tool {
	for i, t := range s.tools {
		if t.name == name || name == Main && i == 0 {
			return t
		}
	}
	return nil
}

func (s *Stage) names() string {
	if len(s.tools) == 0 {
		return "none: does Subject call faultsim.Tool or Stage.Client?"
	}
	return strings.Join(quoted(namesOf(s.everybody())), ", ")
}

// unknown words a schedule that speaks of a double which is not there.
func (s *Stage) unknown(name string) string {
	return fmt.Sprintf("the schedule speaks of tool %q, the stage has %s%s", name, s.names(), near.Meant(name, namesOf(s.everybody())))
}

func describe(f *Fault) string {
	var b strings.Builder
	f.write(&b)
	return b.String()
}

// arrive finds the fault of a call that has arrived, and starts the cancel
// that it plans. A call of no known action is answered at once.
func (s *Stage) arrive(t *tool, p trace.Pending) (Fault, *act) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.calls++
	a := s.act(p.Action())
	if a == nil {
		return Fault{}, nil
	}
	if a.counts(s) {
		s.spin(a)
		return Fault{Hang: true, Deaf: true}, a
	}
	f := a.fault(t.name, p.Attempt())
	if f == (Fault{}) && s.main() == t.name {
		f = a.fault(Main, p.Attempt())
	}
	down := false
	if s.climate.s.Calm > 0 {
		f = s.climate.s.stilled(f, time.Since(s.climate.begin))
	}
	if sched := s.climate.s; len(sched.Outages)+len(sched.Quotas)+len(sched.Buckets) > 0 && !s.climate.calms() {
		f, down = s.climate.fault(func(name string) bool { return s.double(name) == s.double(t.name) }, f)
	}
	if s.issuer != nil && !down { // a tool that is down looks at no credential
		f = s.issuer.check(t, p.Credential(), f)
	}
	if s.definitions != nil && !down && f.Class != trace.Unauthenticated { // a tool that is down, or knows nobody, looks at no arguments
		if d := s.definitions[t.name]; d != nil {
			f = d.check(t, p, f)
		}
	}
	t.met |= f.kinds()
	if f.Cancel > 0 && !a.ended {
		a.cancelAfter(s, f.Cancel)
	}
	if f.Crash > 0 && !a.ended {
		a.crashAfter(s, f.Crash)
	}
	if f.Drain > 0 && !a.ended {
		a.drainAfter(s, f.Drain)
	}
	return f, a
}

// act is the recorder's action of that number; nil: it is none of the
// schedule's. What is called while Subject builds is an action of its own,
// which the recorder counts first.
func (s *Stage) act(number int) *act {
	if len(s.acts) == 0 {
		return nil
	}
	if i := number - s.acts[0].op.Number(); i >= 0 && i < len(s.acts) {
		return s.acts[i]
	}
	return nil
}

func (a *act) fault(tool string, attempt int) Fault {
	if list := a.plan.Faults[tool]; attempt >= 1 && attempt <= len(list) {
		return list[attempt-1]
	}
	return Fault{}
}

// counts counts a call, and reports whether the action calls without end: more
// often than its policy could explain or, where nothing but a budget bounds the
// attempts, more often at one instant, or so often that nobody waits for it.
func (a *act) counts(s *Stage) bool {
	if s.policy.MaxAttempts == invariants.Unlimited {
		if now := time.Since(epoch); now != a.moment {
			a.moment, a.total, a.calls = now, a.total+a.calls, 0
		}
	}
	a.calls++
	return a.calls > s.limit || a.total > mostCalls
}

// mostCalls is more than any budget explains.
const mostCalls = 100_000

// spin records, once, that an action calls without end. The call that follows
// never returns, since nothing else stops such a loop.
func (s *Stage) spin(a *act) {
	if a.spun {
		return
	}
	a.spun = true
	a.op.Trouble(trace.KindSpin, fmt.Sprintf("the action has called its tools %d times without an end in sight", a.total+a.calls))
}

// spins reports whether the action has been found to call without end.
func (s *Stage) spins(a *act) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return a.spun
}

// cancelAfter plans the caller's cancel. The order of the two calls matters:
// the trace shows the cancel before what it causes.
func (a *act) cancelAfter(s *Stage, d time.Duration) {
	a.timers = append(a.timers, time.AfterFunc(d, func() {
		s.mu.Lock()
		over := a.ended
		s.mu.Unlock()
		if !over {
			a.op.Cancel()
			a.cancel()
		}
	}))
}

// answered notes what a double answered, for the judging of the action's end.
func (s *Stage) answered(a *act, result answer, e callError) {
	if a == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.err != nil {
		if a.errs == nil {
			a.errs = a.few[:0]
		}
		a.errs = append(a.errs, e)
	} else {
		a.result, a.emptied = result, a.emptied || result.empty
	}
}

// cause finds the call whose error err keeps: by identity in its chain, or by
// its text. -1: there were errors, and err keeps none; 0: it cannot be told.
func (s *Stage) cause(a *act, err error, wraps bool) int {
	s.mu.Lock()
	errs := a.errs[:len(a.errs):len(a.errs)] // a late attempt may add to the list
	s.mu.Unlock()
	if err == nil || len(errs) == 0 {
		return 0
	}
	for i := len(errs) - 1; i >= 0; i-- {
		if keeps(err, errs[i].err, wraps) {
			return errs[i].call
		}
	}
	if errs[len(errs)-1].status {
		return 0
	}
	return -1
}

// keeps reports whether the error keeps the cause: by itself or, where that is
// enough or cannot be told, by its words. Whether it can is for the value to say: of a
// type with a field that holds anything errors.Is compares one that holds a list, and
// panics.
func keeps(err, cause error, wraps bool) bool {
	if reflect.ValueOf(cause).Comparable() {
		if errors.Is(err, cause) {
			return true
		}
		if wraps {
			return false
		}
	}
	return strings.Contains(err.Error(), cause.Error())
}
