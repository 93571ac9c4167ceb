package faultsim

import (
	"slices"
	"time"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"pgregory.net/rapid"
)

// A drawer draws schedules that fit one adapter. Every decision goes through a
// source, and zeros are the plain case, so that rapid shrinks towards fewer
// attempts, plain failures, no latency, no hint, no cancel, one action.
type drawer struct {
	p       *invariants.Policy
	off     switches // of faults that this schedule does without
	tools   []drawnTool
	single  bool                // one action only
	stormy  bool                // the faults never stop
	within  time.Duration       // so long behind the calm the code works again; 0: no time is declared
	breaker *invariants.Breaker // that comes under strain; nil: none
	guards  []invariants.Breaker
	shared  bool // actions share an allowance
	row     int  // failed actions after which the turn is handed on; 0: it never is
	spreads bool // jitter parts callers that fail together
	canary  bool // plant canaries
	pages   int  // requests of the main tool in an action; below 2: one
	sinks   []drawnSink
	cache   *invariants.Cache // nil: none
	issuer  bool              // credentials can expire
	jitter  bool              // jitter can be pinned
	crashes bool              // the process can crash
	drains  bool              // the process can be told to stop
	again   bool              // an operator can have actions done again
	served  *served           // of a tool under test; nil: the code calls tools
	repeats *invariants.Repeats
	defined []string // tools whose definition is on the stage

	connected []string // tools with sessions

	loop   *invariants.Loop // of a loop that a model drives; nil: the code is none
	models []drawnModel

	approvers []string

	declared *drawnProfile // nil: schedules look for boundaries
}

// A drawnTool is what a tool on the stage can do.
type drawnTool struct {
	name    string
	policy  *invariants.Policy
	most    int     // attempts of one action, by its policy
	retried []Fault // answers that the policy retries, the plainest first
	refused []Fault // answers that end the action
	hints   []HintForm
	can     func(*Fault) bool
	items   *drawnItems // of a batch; nil: it is none
	advised bool        // it has a word on retrying
}

// usedUp is how many failures use up the attempts of an action, or so many that
// breakers and budgets see them as well; where only a budget bounds them, as many.
func (t *drawnTool) usedUp() int {
	const enough = 16
	if t.most == invariants.Unlimited {
		return enough
	}
	return max(1, min(t.most, enough))
}

func newDrawer(a *Adapter, tools []*tool) *drawer {
	d := &drawer{
		p: &a.Policy, guards: a.guards(), canary: a.Observation != nil || a.Loop != nil, pages: a.Pages,
		shared: a.Allowance != nil, row: a.EscalatesAfter, spreads: a.Spreads, cache: a.Cache, crashes: a.Resume != nil, drains: a.HandedBack != nil, again: a.Again != nil,
		served: a.served, repeats: a.Repeats, within: a.RecoversWithin,
	}
	if len(d.guards) > 0 {
		d.breaker = &d.guards[0]
	}
	for _, k := range a.Sinks {
		d.sinks = append(d.sinks, drawnSink{k})
	}
	for _, t := range tools {
		if t.stage != nil {
			d.issuer, d.jitter = t.stage.issuer != nil, t.stage.jittered
			if t.stage.definitions[t.name] != nil {
				d.defined = append(d.defined, t.name)
			}
			if t.stage.sessions[t.name] != nil {
				d.connected = append(d.connected, t.name)
			}
		}
		p := d.p.Of(t.name)
		dt := drawnTool{name: t.name, policy: p, most: p.Most(), hints: t.forms(), can: t.can}
		dt.failures(p)
		dt.advised = dt.advises()
		dt.items = d.itemsOf(t)
		if p.Attempt > 0 || d.served != nil {
			dt.hangs(p)
		}
		d.tools = append(d.tools, dt)
	}
	if len(tools) > 0 {
		d.modelsOf(a, tools[0].stage)
	}
	return d
}

// drawerFor is the drawer of the adapter with its profile, where that fits the stage.
func drawerFor(a *Adapter, tools []*tool) (*drawer, error) {
	d := newDrawer(a, tools)
	return d, d.profile(a.Profile, a.Resume != nil)
}

// failures files the failing answers of the double by what the policy makes of them,
// with the lost replies where it has work that can be lost.
func (t *drawnTool) failures(p *invariants.Policy) {
	for _, c := range trace.Classes() {
		f, lost := Fault{Class: c}, Fault{Class: c, Done: true}
		if c == trace.OK || c == trace.Cancelled || !t.can(&f) {
			continue
		}
		list := &t.refused
		if p.Retries(c) {
			list = &t.retried
		}
		*list = append(*list, f)
		if p.Effect(trace.Outcome{Class: c}) == trace.EffectUnknown && t.can(&lost) {
			*list = append(*list, lost)
		}
	}
}

// hangs files an answer that never comes: the caller sees a timeout.
func (t *drawnTool) hangs(p *invariants.Policy) {
	list := &t.refused
	if p.Retries(trace.Timeout) {
		list = &t.retried
	}
	*list = append(*list, Fault{Hang: true})
	if lost := (Fault{Hang: true, Done: true}); t.can(&lost) {
		*list = append(*list, lost)
	}
}

// first returns, for each tool that has one, its first failure of a kind: one
// that is retried, where there is one.
func (d *drawer) first(kind func(Fault) bool) map[string]Fault {
	found := make(map[string]Fault, len(d.tools))
	for i := range d.tools {
		for _, f := range slices.Concat(d.tools[i].retried, d.tools[i].refused) {
			if kind(f) {
				found[d.tools[i].name] = f
				break
			}
		}
	}
	return found
}

// schedules is the generator of [Schedules]: what Check draws, from rapid's stream.
func (d *drawer) schedules() *rapid.Generator[Schedule] {
	return rapid.Custom(func(t *rapid.T) Schedule { return d.draw(&source{rapid: t}) })
}

// draw draws a schedule: by the profile, where there is one, or else in half of the
// trials with some kinds of faults only.
func (d *drawer) draw(t *source) Schedule {
	if d.declared != nil {
		return d.byProfile(t)
	}
	if swarm := t.of("swarm"); coin(swarm) {
		return d.swarmed(swarm).whole(t)
	}
	return d.whole(t)
}

// whole draws a schedule from all that the drawer knows. Each step has a source of
// its own, so that what only some adapters have moves nothing of the others'.
func (d *drawer) whole(t *source) Schedule {
	shape := t.of("shape")
	if d.served != nil {
		return d.forServed(t)
	}
	if d.breaker != nil && !d.single && coin(shape) {
		return d.forBreaker(t)
	}
	if d.loop != nil {
		return d.forLoop(t)
	}
	if d.shared && !d.single && coin(shape) {
		return d.forAllowance(t)
	}
	if d.row > 0 && !d.single && oneIn(shape, 2) {
		return d.turn(t)
	}
	if d.spreads && !d.single && oneIn(shape, 3) {
		return d.wave(t)
	}
	n := 1
	if !d.single && oneIn(shape, 3) {
		n = 2 + below(shape, 2)
	}
	s := Schedule{Actions: make([]Plan, n)}
	for i := range s.Actions {
		s.Actions[i] = d.plan(t.nth(i))
	}
	s.AtOnce = n > 1 && coin(shape)
	d.garnish(t.of("garnish"), &s)
	d.serial(t.of("serial"), &s)
	d.seldom(t.of("seldom"), &s)
	d.streams(t.of("streams"), &s)
	if d.canary {
		d.plant(t.of("plant"), &s)
	}
	d.empties(t.of("empties"), &s)
	if d.pages > 1 {
		d.turnPages(t.of("pages"), &s)
	}
	d.records(t.of("records"), &s)
	d.lookups(t.of("lookups"), &s)
	d.endless(t.of("endless"), &s)
	d.afterCancel(t.of("after cancel"), &s)
	d.perils(t.of("perils"), &s)
	d.calm(t.of("calm"), &s)
	return s
}

// perils adds what befalls a program besides the answers of its tools.
func (d *drawer) perils(t *source, s *Schedule) {
	n := len(s.Actions)
	if d.issuer {
		d.credentials(t.of("credentials"), s)
	}
	if jitter := t.of("jitter"); d.jitter && coin(jitter) {
		s.Jitter = jitterPins[1+below(jitter, len(jitterPins)-1)]
	}
	d.advise(t.of("advice"), s)
	if crash := t.of("crash"); d.crashes && !s.AtOnce && coin(crash) {
		d.crash(crash, &s.Actions[below(crash, n)])
	}
	if drain := t.of("drain"); d.drains && !s.AtOnce && coin(drain) {
		d.drain(drain, &s.Actions[below(drain, n)])
	}
	if again := t.of("again"); d.again && !s.AtOnce && coin(again) {
		d.retried(again, s)
	}
	if len(d.defined) > 0 {
		d.schemas(t.of("schemas"), s)
	}
	if len(d.connected) > 0 {
		d.losses(t.of("losses"), s)
	}
}

func (d *drawer) plan(t *source) Plan {
	p := Plan{Faults: map[string][]Fault{}}
	for i := range d.tools {
		if faults := d.streak(t.double(d.tools[i].name), &d.tools[i]); len(faults) > 0 {
			p.Faults[d.tools[i].name] = faults
		}
	}
	d.callers(t.of("caller"), &p)
	return p
}

// callers draws when the caller of the action gives up.
func (d *drawer) callers(t *source, p *Plan) {
	if d.may(deadlines) && oneIn(t, 2) {
		p.Deadline = d.deadline(t, p)
		p.partCancels()
	}
	if p.Deadline == 0 && d.may(cancels) && oneIn(t, 3) {
		p.Cancel = d.moment(t)
		if oneIn(t, 2) {
			p.Cancel = -1
		}
	}
}

// partCancels keeps the cancels of an action that has a deadline as well off its
// instant: deadlines fall on odd nanoseconds, and these cancels two beside a ten,
// where no answer of any action falls either. See odd.
func (p *Plan) partCancels() {
	for _, faults := range p.Faults {
		for n := range faults {
			switch at := &faults[n].Cancel; {
			case *at%10 == 9:
				*at--
			case *at > 0:
				*at += 2 - *at%10
			}
		}
	}
}

// longest is the number of attempts in the longest streak that is drawn.
const longest = 256

// streak draws the faults of a tool's attempts: none up to one more than the
// policy allows, now and then with an answer in between that ends the action.
// Where the policy allows many attempts, a whole run of plain failures is
// drawn now and then: an overflow of the backoff shows only late in it.
func (d *drawer) streak(t *source, tool *drawnTool) []Fault {
	if len(tool.retried)+len(tool.refused) == 0 && tool.items == nil {
		return nil
	}
	allowed := tool.most
	most := min(allowed, 16) + 1
	if allowed == invariants.Unlimited {
		most = 8
	}
	if allowed > most && len(tool.retried) > 0 && oneIn(t, 4) {
		return slices.Repeat(tool.retried[:1], min(allowed+1, longest))
	}
	n := below(t, most+1)
	faults := make([]Fault, 0, n)
	for i := range n {
		faults = append(faults, d.fault(t.nth(i), tool, i+1))
	}
	return faults
}

// endless lets a tool fail thousands of times now and then, where the policy
// bounds the attempts by a budget only: a wait that wraps around late, or a
// counter that does, shows then.
func (d *drawer) endless(t *source, s *Schedule) {
	if d.p.MaxAttempts != invariants.Unlimited || len(d.tools) == 0 || len(d.tools[0].retried) == 0 || !oneIn(t, 6) {
		return
	}
	s.Actions[0].Faults[d.tools[0].name] = slices.Repeat(d.tools[0].retried[:1], thousands)
}

// afterCancel lets, where the policy declares which of the two wins, a tool ignore
// the caller's cancel now and then, and succeed behind it.
func (d *drawer) afterCancel(t *source, s *Schedule) {
	if d.p.Winner == invariants.WinnerEither || len(d.tools) == 0 || !oneIn(t, 2) {
		return
	}
	p := &s.Actions[0]
	p.Cancel, p.Deadline = 0, 0
	late := time.Duration(1+below(t, 64)) * time.Millisecond
	if a := d.p.Attempt; a > 0 {
		late = min(late, a/2).Truncate(10)
	}
	p.Faults[d.tools[0].name] = []Fault{{Latency: late, Deaf: true, Cancel: odd(max(1, late-[...]time.Duration{1, late / 2}[below(t, 2)]))}}
}

// thousands is the number of attempts in a streak that only a budget ends.
const thousands = 5000

func (d *drawer) fault(t *source, tool *drawnTool, n int) Fault {
	if tool.items != nil && coin(t) {
		return d.item(t, tool, n)
	}
	list := tool.retried
	if len(list) == 0 || len(tool.refused) > 0 && oneIn(t, 3) {
		list = tool.refused
	}
	f := list[below(t, len(list))]
	if len(tool.hints) > 0 && d.may(hints) && slices.Contains(askers, f.Class) && coin(t) {
		hinted := f
		hinted.Hint = d.hint(t, n)
		hinted.Form = tool.hints[below(t, len(tool.hints))]
		if tool.can(&hinted) {
			f = hinted
		}
	}
	if !f.Hang && d.may(latencies) && coin(t) {
		f.Latency = d.latency(t)
	}
	if d.may(cancels) && oneIn(t, 3) {
		f.Cancel = d.cancel(t, &f, n)
	}
	return f
}

// latency draws a time to answer, in tens of nanoseconds that keep it apart from
// the timers of the code under test; see odd for what the caller does.
func (d *drawer) latency(t *source) time.Duration {
	if a := d.p.Attempt; a > 0 && oneIn(t, 2) {
		// Just inside the attempt's time, just outside, or far outside.
		return max(1, a+[...]time.Duration{-10, 10, a, -a / 2}[below(t, 4)])
	}
	if h := d.p.Hedge; h.Max > 1 && coin(t) {
		// Just before the hedge, just behind it, or behind a second one.
		return (h.After + [...]time.Duration{-10, 10, h.After / 2, 2 * h.After}[below(t, 4)]).Truncate(10)
	}
	return time.Duration(1+below(t, 256))*time.Millisecond + 70
}

// hint draws a wait that the tool asks for: under, around and over the own
// backoff, and at the limit of the policy.
func (d *drawer) hint(t *source, n int) time.Duration {
	_, hi := d.p.Backoff.Window(n, 0)
	hi = min(max(hi, time.Second), longestPromise)
	switch limit := d.p.Hint.Limit; below(t, 4) {
	case 0:
		return time.Second
	case 1:
		return (hi/time.Second + 2) * time.Second
	case 2:
		if limit > time.Second {
			return limit.Truncate(time.Second)
		}
		return 2 * time.Second
	default:
		return (max(limit, hi)/time.Second + 3) * time.Second
	}
}

// cancel draws when the caller cancels, from the attempt's arrival: in flight,
// a nanosecond before or after the answer, or during the wait that follows.
func (d *drawer) cancel(t *source, f *Fault, n int) time.Duration {
	_, hi := d.p.Backoff.Window(n, 0)
	answer := d.seen(f)
	wait := min(max(hi, f.Hint), time.Hour).Truncate(40)
	return odd(max(1, answer+[...]time.Duration{1, -1, wait/2 + 3, -answer / 2, wait/4 + 3, wait - 1, wait + 1, 1}[below(t, 8)]))
}

// odd keeps what the caller does off the tens of nanoseconds, on which the
// answers fall: events at one instant come in random order. An offset of a
// nanosecond stays off them, whatever came before, also where an HTTP-date
// brings the time back to a whole second. Actions at once keep off each other
// by being 3 ns apart.
func odd(at time.Duration) time.Duration {
	if at%10 == 0 {
		at += 5
	}
	return at
}

// seen is when the caller sees the fault's outcome, from the attempt's arrival.
func (d *drawer) seen(f *Fault) time.Duration {
	if a := d.p.Attempt; f.Hang || a > 0 && f.takes() > a {
		return a
	}
	return f.takes()
}

// deadline draws the caller's deadline: around the instant of an attempt, or
// anywhere in the time that the action can take.
func (d *drawer) deadline(t *source, p *Plan) time.Duration {
	if coin(t) {
		return d.moment(t)
	}
	at := time.Duration(0)
	if len(d.tools) > 0 {
		faults := p.Faults[d.tools[0].name]
		for n := range faults[:below(t, len(faults)+1)] {
			lo, hi := d.p.Backoff.Window(n+1, 0)
			at += d.seen(&faults[n]) + max(lo, faults[n].Hint)
			if coin(t) {
				at += hi - lo
			}
			at = min(at, longestTime/2)
		}
	}
	return odd(max(1, at.Truncate(10)+[...]time.Duration{1, -1, 11, time.Millisecond + 11}[below(t, 4)]))
}

// seldom brings about more often what the draws before it bring about too seldom to
// be met for certain in 500 trials: deadlines that fall into a wait that the tool asks
// for, outages and quotas.
func (d *drawer) seldom(t *source, s *Schedule) {
	for i := range s.Actions {
		p := &s.Actions[i]
		if at := d.hintedWait(p); at > 0 && p.Deadline > 0 && coin(t.nth(i)) {
			p.Deadline = at
		}
	}
	if len(s.Outages)+len(s.Quotas)+len(s.Buckets) == 0 {
		d.spells(t, s)
	}
}

// hintedWait is an instant within the first wait that the main tool asks for; 0: it
// asks for none.
func (d *drawer) hintedWait(p *Plan) time.Duration {
	if len(d.tools) == 0 || len(d.tools[0].hints) == 0 {
		return 0
	}
	at, faults := time.Duration(0), p.Faults[d.tools[0].name]
	for n := range faults {
		f := &faults[n]
		if at += d.seen(f); f.Hint > 0 {
			return odd((at + f.Hint/2).Truncate(10) + 13)
		}
		_, hi := d.p.Backoff.Window(n+1, 0)
		at = min(at+hi, longestTime/2)
	}
	return 0
}

// moment draws an instant within the time that the action can take.
func (d *drawer) moment(t *source) time.Duration {
	_, hi := d.p.Backoff.Window(1, 0)
	whole := max(8*hi, 2*d.p.Attempt, 100*time.Millisecond)
	return (whole / 1024 * time.Duration(below(t, 1024))).Truncate(10) + 13
}
