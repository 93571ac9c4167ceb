package matrix

import (
	"math"
	"slices"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// breakerRows take a breaker through its states, over several actions with
// pauses between them. Their calls are counted in all actions together, since
// they follow from the breaker's contract: so many until it opens, none while it
// is open, and its probes. Which attempt of which action may go through, is the
// business of invariants.CircuitBreaker.
func breakerRows() []Row {
	return []Row{
		ofBreaker("breaker-opens", "So many failures as the contract has reach the tool, and then none.", breakerOpens),
		ofBreaker("breaker-refuses", "While it is open a healthy tool is not called either.", breakerRefuses),
		ofBreaker("breaker-cooldown", "What is refused does not extend the cooldown.", breakerCooldown),
		ofBreaker("breaker-closes", "It closes when its probes have succeeded, and counts anew.", breakerCloses),
		ofBreaker("breaker-reopens", "A probe that fails opens it for a new cooldown.", breakerReopens),
		ofBreaker("breaker-opens-again", "What it let through before does not stand in for what it refuses now, and it opens at the same threshold as before.", breakerOpensAgain),
		ofBreaker("breaker-probes", "Callers that come at once when the cooldown is over find the places of its probes, and no more.", breakerProbes),
		ofBreaker("breaker-probe-left", "A probe that its caller cancels gives its place back.", breakerProbeLeft),
		ofBreaker("breaker-probe-hangs", "A probe that does not end loses its place when its lease is over.", breakerProbeHangs),
		ofBreaker("breaker-callers-leave", "Callers that cancel do not open it.", breakerCallersLeave),
		ofBreaker("breaker-of-another-tool", "The failures of another tool open its own breaker, and close no other door.", breakerOther),
		ofBreaker("breaker-wrong-arguments", "Answers that the tool is not to blame for do not open it.", breakerBlameless),
		ofBreaker("breaker-scattered-failures", "A success between failures begins the count in a row anew.", breakerScattered),
		ofBreaker("breaker-late-success", "A success that was under way as it opened says nothing of now, and does not close it.", breakerLateSuccess),
		ofBreaker("breaker-after-a-good-time", "What was good long ago does not keep it closed in an outage.", breakerGoodTime),
	}
}

// A trip is how a breaker is brought to open.
type trip struct {
	set       Setting
	f         faultsim.Fault // counts as a failure
	threshold int            // failures that open it, where nothing else comes between
	each      int            // attempts that one action makes of them, at least
	wait      time.Duration  // longest wait between two
	cooldown  time.Duration
	successes int
	probes    int
}

// A drill is what a row does with a breaker.
type drill struct {
	actions []faultsim.Plan
	atOnce  bool
	calm    time.Duration // when the faults stop; 0: never
	calls   int           // of the tool, in all actions
	more    int           // so many more are right too
	refused bool          // the last action is
	either  bool          // it may be, or not
}

// ofBreaker makes a row of a drill.
func ofBreaker(name, proves string, do func(trip) (drill, error)) Row {
	plan := func(s Setting) (d drill, err error) {
		t, err := s.trip()
		if err == nil {
			d, err = do(t)
		}
		return d, err
	}
	return Row{
		Name: name, Proves: proves,
		Schedule: func(s Setting) (faultsim.Schedule, error) {
			d, err := plan(s)
			return faultsim.Schedule{Actions: d.actions, AtOnce: d.atOnce, Calm: d.calm}, err
		},
		InAll: func(s Setting) faultsim.Expectation {
			d, _ := plan(s)
			return faultsim.Expectation{Least: d.calls, Most: d.calls + d.more, Reasons: d.ends(s.Breaker)}
		},
	}
}

// ends lists how the last action of the drill may end.
func (d *drill) ends(b *invariants.Breaker) []trace.Reason {
	refused := trace.ReasonBreakerOpen
	if b.Fallback != "" {
		refused = trace.ReasonSuccess
	}
	switch {
	case d.either && refused != trace.ReasonSuccess:
		return []trace.Reason{trace.ReasonSuccess, refused}
	case d.refused:
		return []trace.Reason{refused}
	}
	return []trace.Reason{trace.ReasonSuccess}
}

// trip finds a failure that the breaker counts and the tool can show.
func (s Setting) trip() (t trip, err error) {
	b := s.Breaker
	if b == nil {
		return t, NotFor("the adapter declares no breaker")
	}
	if b.Tool != "" && b.Tool != s.Tools[0] {
		return t, NotFor("the breaker guards %s, which is not the main tool", b.Tool)
	}
	if s.Pages > 1 {
		return t, NotFor("an action makes %d requests of the tool", s.Pages)
	}
	t = trip{set: s, threshold: opensAt(b), cooldown: b.Cooldown, successes: max(b.Successes, 1), probes: max(b.Probes, 1)}
	if t.f, err = s.blamed(); err != nil {
		return t, err
	}
	e, ends := faultsim.Expect(s.Policy, t.failing())
	if !ends {
		return t, NotFor("nothing bounds an action whose tool fails")
	}
	t.each = max(e.Least, 1)
	for n := 1; n < e.Most; n++ {
		_, hi := s.Policy.Backoff.Window(n, t.wait)
		t.wait = max(t.wait, hi)
	}
	if 2*t.wait >= t.cooldown || t.cooldown < 100 {
		return t, NotFor("the cooldown of %v may be over before an action that waits up to %v has ended", t.cooldown, t.wait)
	}
	return t, nil
}

// blamed is a failure that the breaker counts: one that the policy retries
// where there is one.
func (s Setting) blamed() (faultsim.Fault, error) {
	for _, c := range slices.Concat([]trace.Class{trace.Transient}, s.Policy.Retry, trace.Classes()) {
		if f := faultsim.Fail(c); c != trace.OK && s.Breaker.Fails(c) && s.Can(f) {
			return f, nil
		}
	}
	if s.Policy.Attempt > 0 && s.Breaker.Fails(trace.Timeout) && !s.Policy.BudgetCuts {
		return faultsim.Fault{Hang: true}, nil
	}
	return faultsim.Fault{}, NotFor("the tool cannot fail in a way that the breaker counts")
}

// failing is an action whose tool fails at every attempt.
func (t trip) failing() faultsim.Plan {
	n := t.set.Policy.MaxAttempts
	if n == invariants.Unlimited {
		n = 200
	}
	return planned(slices.Repeat([]faultsim.Fault{t.f}, n)...)
}

func planned(faults ...faultsim.Fault) faultsim.Plan {
	return faultsim.Plan{Faults: map[string][]faultsim.Fault{faultsim.Main: faults}}
}

// open are the actions that open the breaker.
func (t trip) open() []faultsim.Plan {
	return slices.Repeat([]faultsim.Plan{t.failing()}, (t.threshold+t.each-1)/t.each)
}

// left is an action whose caller cancels it in flight.
func (t trip) left() (faultsim.Plan, error) {
	d, err := t.set.flight()
	return planned(faultsim.Fault{Latency: d, Cancel: (d / 2).Truncate(10) + beside}), err
}

// after is the action behind a pause.
func after(pause time.Duration, p faultsim.Plan) faultsim.Plan {
	p.After = pause.Truncate(10) + 20
	return p
}

var healthy = planned()

func breakerOpens(t trip) (drill, error) {
	return drill{actions: append(t.open(), t.failing()), calls: t.threshold, refused: true}, nil
}

func breakerRefuses(t trip) (drill, error) {
	return drill{actions: append(t.open(), healthy, after(t.cooldown/2-40, healthy)), calls: t.threshold, refused: true}, nil
}

func breakerCooldown(t trip) (drill, error) {
	half := t.cooldown / 2
	return drill{actions: append(t.open(), after(half-40, healthy), after(half+40, healthy)), calls: t.threshold + 1}, nil
}

// breakerCloses has one failure behind the probes, which a breaker survives that
// counts anew. Where one failure is enough to open it there is none.
func breakerCloses(t trip) (drill, error) {
	d := drill{actions: append(t.open(), after(t.cooldown, healthy)), calls: t.threshold + t.successes}
	d.actions = append(d.actions, slices.Repeat([]faultsim.Plan{healthy}, t.successes-1)...)
	if t.threshold > 2 || t.threshold == 2 && t.set.Breaker.Consecutive > 0 {
		once := planned(t.f)
		e, _ := faultsim.Expect(t.set.Policy, once)
		d.actions, d.calls = append(d.actions, once, healthy), d.calls+e.Most+1
	}
	return d, nil
}

func breakerReopens(t trip) (drill, error) {
	return drill{
		actions: append(t.open(), after(t.cooldown, t.failing()), healthy, after(t.cooldown, healthy)),
		calls:   t.threshold + 2,
	}, nil
}

func breakerOpensAgain(t trip) (drill, error) {
	d := drill{actions: append(t.open(), after(t.cooldown, healthy)), calls: 2*t.threshold + t.successes, refused: true}
	d.actions = append(d.actions, slices.Repeat([]faultsim.Plan{healthy}, t.successes-1)...)
	d.actions = append(append(d.actions, t.open()...), healthy)
	return d, nil
}

// breakerProbes lets twice as many callers come as there are probes. A program
// that makes its callers wait for each other lets the rest through when the
// first have closed the breaker.
func breakerProbes(t trip) (drill, error) {
	d, err := t.set.flight()
	longest := time.Duration(t.each) * (t.wait + t.set.Policy.Attempt)
	slow := planned(faultsim.Fault{Latency: d})
	callers := slices.Repeat([]faultsim.Plan{slow}, 2*t.probes)
	callers[0] = after(t.cooldown+time.Duration(t.threshold)*longest, slow)
	return drill{
		actions: slices.Concat(slices.Repeat([]faultsim.Plan{t.failing()}, t.threshold), callers),
		atOnce:  true, calls: t.threshold + t.probes, more: t.probes, refused: true, either: true,
	}, err
}

func breakerProbeLeft(t trip) (drill, error) {
	left, err := t.left()
	d := drill{actions: append(t.open(), after(t.cooldown, left), healthy), calls: t.threshold + 2}
	return d, err
}

// breakerProbeHangs lets the probes hang beyond their lease, until their callers'
// deadline. So nothing of them counts.
func breakerProbeHangs(t trip) (d drill, err error) {
	lease := t.set.Breaker.Lease
	if lease == 0 {
		return d, NotFor("the breaker has no Lease: a probe keeps its place until its call has ended")
	}
	if limit := t.set.Policy.Attempt; limit > 0 && limit <= lease+200 {
		return d, NotFor("an attempt has ended before the lease of a probe is over")
	}
	hanging := planned(faultsim.Fault{Hang: true})
	hanging.Deadline = (lease + lease/2).Truncate(10) + beside
	if limit := t.set.Policy.Attempt; limit > 0 {
		hanging.Deadline = min(hanging.Deadline, ((lease+limit)/2).Truncate(10)+beside)
	}
	probes := slices.Repeat([]faultsim.Plan{hanging}, t.probes)
	probes[0] = after(t.cooldown+time.Duration(t.threshold*t.each)*(t.wait+t.set.Policy.Attempt), hanging)
	d = drill{
		actions: slices.Concat(slices.Repeat([]faultsim.Plan{t.failing()}, t.threshold), probes, []faultsim.Plan{after(lease+40, healthy)}),
		atOnce:  true, calls: t.threshold + t.probes + 1,
	}
	if d.actions[len(d.actions)-1].After >= hanging.Deadline {
		return d, NotFor("the lease of a probe is too short to be told from the time of an attempt")
	}
	return d, nil
}

func breakerCallersLeave(t trip) (drill, error) {
	left, err := t.left()
	return drill{actions: append(slices.Repeat([]faultsim.Plan{left}, t.threshold+1), healthy), calls: t.threshold + 2}, err
}

func breakerScattered(t trip) (d drill, err error) {
	if t.set.Breaker.Consecutive < 2 {
		return d, NotFor("the breaker counts no failures in a row")
	}
	once := planned(t.f)
	e, _ := faultsim.Expect(t.set.Policy, once)
	for range t.threshold + 1 {
		d.actions, d.calls = append(d.actions, once, healthy), d.calls+e.Most+1
	}
	return d, nil
}

// breakerLateSuccess sends a slow call ahead of the failures that open the breaker.
// All of them are called before the first answers, so that they meet no open door.
func breakerLateSuccess(t trip) (d drill, err error) {
	if t.f.Hang {
		return d, NotFor("the tool fails by hanging only, which takes longer than a slow answer may")
	}
	slow, err := t.set.flight()
	if err != nil {
		return d, err
	}
	slow = min(slow, t.cooldown/4).Truncate(10)
	return drill{
		actions: slices.Concat([]faultsim.Plan{planned(faultsim.Fault{Latency: slow})}, slices.Repeat([]faultsim.Plan{t.failing()}, t.threshold), []faultsim.Plan{after(slow, healthy)}),
		atOnce:  true, calls: 1 + t.threshold, refused: true,
	}, nil
}

// breakerOther opens the breaker of another tool, which is called behind the
// main one.
func breakerOther(t trip) (d drill, err error) {
	other := slices.IndexFunc(t.set.guards, func(b invariants.Breaker) bool { return b.Tool != t.set.Tools[0] })
	if other < 0 || t.set.guards[other].Tool == "" {
		return d, NotFor("no other tool has a breaker")
	}
	b := t.set.guards[other]
	failing := faultsim.Plan{Faults: map[string][]faultsim.Fault{b.Tool: t.failing().Faults[faultsim.Main]}}
	d.actions = append(slices.Repeat([]faultsim.Plan{failing}, (opensAt(&b)+t.each-1)/t.each), healthy)
	d.calls, d.refused = len(d.actions), true
	return d, nil
}

// opensAt is how many failures open the breaker, where nothing else comes between.
func opensAt(b *invariants.Breaker) int {
	switch {
	case b.Consecutive > 0:
		return b.Consecutive
	case b.Least > 0:
		return b.Least
	}
	return b.Window
}

// breakerBlameless asks wrongly more often than the tool may fail.
func breakerBlameless(t trip) (d drill, err error) {
	for _, c := range []trace.Class{trace.Invalid, trace.NotFound, trace.Forbidden, trace.Conflict, trace.Unauthenticated} {
		f := faultsim.Fail(c)
		if t.set.Policy.Retries(c) || t.set.Breaker.Fails(c) || !t.set.Can(f) {
			continue
		}
		wrong := slices.Repeat([]faultsim.Plan{planned(f)}, t.threshold+1)
		return drill{actions: append(wrong, healthy), calls: t.threshold + 2}, nil
	}
	return d, NotFor("the tool cannot refuse in a way that the breaker does not count")
}

// breakerGoodTime fills the window twice before the outage.
func breakerGoodTime(t trip) (d drill, err error) {
	b := t.set.Breaker
	if b.Rate == 0 {
		return d, NotFor("the breaker counts failures in a row, and not in a window")
	}
	failures := int(math.Ceil(b.Rate * float64(b.Window)))
	d.actions = append(slices.Repeat([]faultsim.Plan{healthy}, 2*b.Window), slices.Repeat([]faultsim.Plan{t.failing()}, (failures+t.each-1)/t.each)...)
	d.actions = append(d.actions, healthy)
	d.calls, d.refused = 2*b.Window+failures, true
	return d, nil
}
