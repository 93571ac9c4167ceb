package faultsim

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// A drawnProfile is a profile as it fits the stage.
type drawnProfile struct {
	*Profile
	tools []*profiled // in the order of the stage, models behind them
}

// A profiled tool is one that the profile speaks of.
type profiled struct {
	tool    *drawnTool
	by      *Behaviour
	calls   int     // of an action that needs it, as far as is known
	faults  []Fault // that it can fail with, the plainest first; lost replies are apart
	weights []float64
}

// profile reads the adapter's profile for the tools on the stage; it reports what
// they cannot do.
func (d *drawer) profile(p *Profile, resumes bool) error {
	if p == nil {
		return nil
	}
	if p.Restart.Share > 0 && !resumes {
		return fmt.Errorf("faultsim: profile: Restart.Share is %v, and the adapter has no Resume, so that no process can die: give it one, or take Restart out", p.Restart.Share)
	}
	dp := &drawnProfile{Profile: p}
	for _, name := range slices.Sorted(maps.Keys(p.Tools)) {
		tool := d.named(name)
		if tool == nil {
			return fmt.Errorf("faultsim: profile: Tools speaks of %q, the stage has %q: correct the name, or take it out", name, d.names())
		}
		by := p.Tools[name]
		x := &profiled{tool: tool, by: &by, calls: d.callsOf(tool)}
		if err := x.fit(); err != nil {
			return fmt.Errorf("faultsim: profile: Tools[%q]: %w", name, err)
		}
		if slices.ContainsFunc(dp.tools, func(o *profiled) bool { return o.tool == tool }) {
			return fmt.Errorf("faultsim: profile: Tools has %q and Main, which is the same tool: take one out", tool.name)
		}
		dp.tools = append(dp.tools, x)
	}
	d.declared = dp
	return nil
}

// named is the tool or model of the name; nil: there is none.
func (d *drawer) named(name string) *drawnTool {
	if name == Main && len(d.tools) > 0 {
		return &d.tools[0]
	}
	if t := d.tool(name); t.name != "" {
		return t
	}
	return nil
}

func (d *drawer) names() []string {
	var names []string
	for i := range d.tools {
		names = append(names, d.tools[i].name)
	}
	for i := range d.models {
		names = append(names, d.models[i].name)
	}
	return names
}

// callsOf is how many calls of the tool an action needs where nothing fails, or some
// where nobody knows.
func (d *drawer) callsOf(t *drawnTool) int {
	switch {
	case d.loop != nil:
		return loopTurns
	case d.pages > 1 && t == &d.tools[0]:
		return min(d.pages, longestGarnished)
	}
	return 1
}

// fit lists what the tool fails with.
func (x *profiled) fit() error {
	for _, f := range slices.Concat(x.tool.retried, x.tool.refused) {
		w := 1.0
		if x.by.Classes != nil {
			w = x.by.Classes[f.Class]
		}
		if !f.Hang && !f.Done && w > 0 {
			x.faults, x.weights = append(x.faults, f), append(x.weights, w)
		}
	}
	for _, c := range slices.Sorted(maps.Keys(x.by.Classes)) {
		if f := (Fault{Class: c}); x.by.Classes[c] > 0 && !x.tool.can(&f) {
			if c == trace.Unknown {
				return fmt.Errorf("Classes has %v, which %s cannot answer with: a trace that was recorded without Recorder.Classify knows no other class, so record with it, or give the tool that class, or take it out", c, x.tool.name)
			}
			return fmt.Errorf("Classes has %v, which %s cannot answer with: give it that class, or take it out", c, x.tool.name)
		}
	}
	fails := x.by.Streak != nil || x.by.Burst != (GilbertElliott{})
	if fails && len(x.faults) == 0 && x.by.Hang < 1 {
		return fmt.Errorf("it fails by its Streak or Burst, and %s has no failure: give it one, or say Hang: 1", x.tool.name)
	}
	hangs := func(f Fault) bool { return f.Hang }
	if x.by.Hang > 0 && !slices.ContainsFunc(slices.Concat(x.tool.retried, x.tool.refused), hangs) {
		return fmt.Errorf("Hang is %v, and no attempt has an end of its own: set Policy.Attempt, or take Hang out", x.by.Hang)
	}
	if x.by.Partial > 0 && x.tool.items == nil {
		return fmt.Errorf("Partial is %v, and %s is no batch whose items can fail: take it out", x.by.Partial, x.tool.name)
	}
	if x.by.Hint.Share > 0 && len(x.tool.hints) == 0 {
		return fmt.Errorf("Hint.Share is %v, and %s cannot ask for a wait: use Hinted in Errors or a form in Route.Hints, or take Hint out", x.by.Hint.Share, x.tool.name)
	}
	for _, f := range x.by.Hint.Forms {
		if !slices.Contains(x.tool.hints, f) {
			return fmt.Errorf("Hint.Forms has %q, and %s asks for waits as %q: take it out", f, x.tool.name, x.tool.hints)
		}
	}
	if x.by.Hint.Share > 0 && (!fails || x.by.Hang == 1 || !slices.ContainsFunc(x.faults, x.asks)) {
		return fmt.Errorf("Hint.Share is %v, and none of the failures that are drawn for %s asks for a wait: give it a Streak or a Burst, a Hang below 1, and a class that asks in Classes and Hint.Classes, or take Hint out", x.by.Hint.Share, x.tool.name)
	}
	throttles := Throttle(time.Second)
	if (x.by.Quota != Quota{} || x.by.Bucket != Bucket{}) && !x.tool.can(&throttles) {
		return fmt.Errorf("it has a Quota or a Bucket, and %s cannot be throttled with a wait: give it trace.Throttled, Hinted", x.tool.name)
	}
	if down := x.down(); x.by.Outage.Share > 0 && (down == 0 || !x.tool.can(&Fault{Class: down})) {
		return fmt.Errorf("Outage: %s cannot answer %v: give it that class, or say another one", x.tool.name, down)
	}
	return nil
}

// asks reports whether the failure can ask for a wait, as the profile has it.
func (x *profiled) asks(f Fault) bool {
	f.Hint, f.Form = time.Second, x.forms()[0]
	return x.by.Hint.asks(f.Class) && x.tool.can(&f)
}

// forms are those in which it asks for a wait.
func (x *profiled) forms() []HintForm {
	if len(x.by.Hint.Forms) > 0 {
		return x.by.Hint.Forms
	}
	return x.tool.hints
}

// down is how the tool answers in an outage.
func (x *profiled) down() trace.Class {
	if c := x.by.Outage.Class; c != 0 {
		return c
	}
	return x.tool.down().Class
}

// byProfile draws a schedule as the profile declares.
func (d *drawer) byProfile(t *source) Schedule {
	if swarm := t.of("swarm"); d.declared.Swarm && coin(swarm) {
		d = d.swarmedProfile(swarm)
	}
	p := d.declared
	s := Schedule{Actions: make([]Plan, d.actions(t.of("actions")))}
	for i := range s.Actions {
		s.Actions[i] = d.profiledPlan(t.nth(i), i)
	}
	s.AtOnce = len(s.Actions) > 1 && chance(t.of("at once"), p.AtOnce)
	for _, x := range p.tools {
		own := t.double(x.tool.name)
		x.failures(own.of("faults"), t, d, &s)
		x.spells(own, d, &s)
	}
	for i := range s.Actions {
		d.endings(t.nth(i).of("caller"), &s, i)
	}
	return s
}

// swarmedProfile is the drawer of one schedule whose profile does without some kinds
// of faults.
func (d *drawer) swarmedProfile(t *source) *drawer {
	one, dp := *d, *d.declared
	one.off = switches(t.bits(8)) & allSwitches
	dp.tools = slices.Clone(dp.tools)
	for i, x := range dp.tools {
		own, c := t.double(x.tool.name), *x
		c.faults, c.weights = nil, nil
		for n, f := range x.faults {
			if coin(own) {
				c.faults, c.weights = append(c.faults, f), append(c.weights, x.weights[n])
			}
		}
		if len(c.faults) == 0 {
			c.faults, c.weights = x.faults, x.weights
		}
		dp.tools[i] = &c
	}
	one.declared = &dp
	return &one
}

// actions draws how many actions there are.
func (d *drawer) actions(t *source) int {
	switch {
	case d.single:
		return 1
	case d.declared.Actions != nil:
		return min(max(valueOf(t, d.declared.Actions), 1), MostActions)
	case d.served != nil:
		return 2 + below(t, 4)
	}
	return 1
}

// profiledPlan draws an action without its faults.
func (d *drawer) profiledPlan(t *source, i int) Plan {
	p := Plan{Faults: map[string][]Fault{}}
	if d.served != nil && d.repeats.By == invariants.ByKey {
		d.ask(t.of("key"), &p)
	}
	if i > 0 {
		if pause := timeOf(t.of("pause"), d.declared.Pause); pause > 0 {
			p.After = pause.Truncate(10) + 10
		}
	}
	return p
}

// endings draws how the caller or the process ends an action.
func (d *drawer) endings(t *source, s *Schedule, i int) {
	p, plan := d.declared, &s.Actions[i]
	if d.may(deadlines) {
		if at := timeOf(t.of("deadline"), p.Deadline); at > 0 {
			plan.Deadline = odd(max(1, at.Truncate(10)+1))
		}
	}
	if d.may(cancels) && chance(t.of("cancel"), p.Cancel.Share) {
		d.leaves(t.of("moment"), plan)
	}
	if d.served != nil && plan.hangs() && plan.Deadline == 0 && plan.Cancel == 0 {
		d.departs(t.of("departs"), plan) // nobody else ends it
	}
	if restart := t.of("restart"); d.may(restarts) && !s.AtOnce && len(d.tools) > 0 && chance(restart, p.Restart.Share) {
		d.crash(restart, plan)
		if plan.Restart = 0; p.Restart.Down != nil {
			plan.Restart = odd(max(1, timeOf(restart.of("down"), p.Restart.Down)))
		}
	}
}

// longestDrawn is the longest time that a profile draws: sums of some are still within
// the year that a trial plays.
const longestDrawn = longestTime / 4

// timeOf draws a time of a schedule.
func timeOf(t *source, d Distribution[time.Duration]) time.Duration {
	return min(valueOf(t, d), longestDrawn)
}

// latencyAt keeps a time off the timers of the code under test.
func latencyAt(d time.Duration) time.Duration { return d.Truncate(100) + 70 }

// failures draws the answers of the tool in all actions. Whether an attempt fails is
// drawn at own, and what it then looks like at the attempt's address below t.
func (x *profiled) failures(own, t *source, d *drawer, s *Schedule) {
	bad := chance(own.of("state"), x.by.Burst.inBad())
	for i := range s.Actions {
		answers := t.nth(i).double(x.tool.name)
		answer := func(n int, failed bool) Fault { return x.answer(answers.nth(n), d, failed) }
		var faults []Fault
		if x.by.Burst == (GilbertElliott{}) {
			faults = x.streaks(own.nth(i), answer)
		} else {
			faults, bad = x.bursts(own.nth(i), bad, answer)
		}
		for len(faults) > 0 && faults[len(faults)-1] == (Fault{}) {
			faults = faults[:len(faults)-1]
		}
		if len(faults) > 0 {
			s.Actions[i].Faults[x.tool.name] = faults
		}
	}
}

// streaks draws the answers of an action: for each success that it needs, the failures
// before it.
func (x *profiled) streaks(t *source, answer func(n int, failed bool) Fault) (faults []Fault) {
	for call := range x.calls {
		for range min(valueOf(t.nth(call), x.by.Streak), longest) {
			faults = append(faults, answer(len(faults), true))
		}
		faults = append(faults, answer(len(faults), false))
	}
	return faults
}

// answer draws one answer of the tool.
func (x *profiled) answer(t *source, d *drawer, failed bool) (f Fault) {
	if failed {
		f = x.failure(t, d)
	}
	if x.by.Latency != nil && !f.Hang && d.may(latencies) {
		f.Latency = latencyAt(timeOf(t.of("latency"), x.by.Latency))
	}
	return f
}

// failure draws one failure of the tool.
func (x *profiled) failure(t *source, d *drawer) Fault {
	if x.tool.items != nil && d.may(partials) && chance(t.of("partial"), x.by.Partial) {
		return x.tool.items.draw(t.of("items"))
	}
	var f Fault
	if len(x.faults) > 0 {
		f = x.faults[pick(fraction(t.of("class")), x.weights)]
	}
	if chance(t.of("hang"), x.by.Hang) {
		f = Fault{Hang: true}
	}
	lost := f
	lost.Done = true
	if slices.Contains(x.lostReplies(), lost) && chance(t.of("lost"), x.by.Lost) {
		return lost
	}
	if x.by.Hint.asks(f.Class) {
		return x.hinted(t.of("hint"), d, f)
	}
	return f
}

// lostReplies lists the failures behind which the tool may have done its work.
func (x *profiled) lostReplies() []Fault {
	return slices.DeleteFunc(slices.Concat(x.tool.retried, x.tool.refused), func(f Fault) bool { return !f.Done })
}

// hinted lets the failure ask for a wait.
func (x *profiled) hinted(t *source, d *drawer, f Fault) Fault {
	h := &x.by.Hint
	if !d.may(hints) || !chance(t, h.Share) {
		return f
	}
	g, forms := f, x.forms()
	g.Form = forms[below(t, len(forms))]
	if g.Hint = time.Second; h.Wait != nil {
		g.Hint = timeOf(t.of("wait"), h.Wait)
	}
	if unit := time.Second; g.Form != HintMillis {
		g.Hint = (g.Hint + unit - 1).Truncate(unit)
	} else {
		g.Hint = g.Hint.Truncate(time.Millisecond)
	}
	if g.Hint > 0 && x.tool.can(&g) {
		return g
	}
	return f
}

// spells draws what the tool does by the time.
func (x *profiled) spells(t *source, d *drawer, s *Schedule) {
	if !d.may(spells) {
		return
	}
	if q := x.by.Quota; q != (Quota{}) {
		s.Quotas = append(s.Quotas, Quota{x.tool.name, q.N, q.Per})
	}
	if b := x.by.Bucket; b != (Bucket{}) {
		s.Buckets = append(s.Buckets, Bucket{x.tool.name, b.Burst, b.Every})
	}
	if down := t.of("outage"); chance(down, x.by.Outage.Share) {
		x.outage(down, s)
	}
}

// slices of the time in which a tool comes back.
const recovering = 8

// outage draws an outage, and how the tool comes back from it.
func (x *profiled) outage(t *source, s *Schedule) {
	o := &x.by.Outage
	from := timeOf(t.of("begin"), o.Begin).Truncate(10)
	to := from + max(10, timeOf(t.of("length"), o.Length).Truncate(10))
	s.Outages = append(s.Outages, Outage{x.tool.name, from, to, x.down()})
	slice := (timeOf(t.of("recovery"), o.Recovery) / recovering).Truncate(10)
	for n := range recovering {
		begin := to + time.Duration(n)*slice
		if slice > 0 && chance(t.nth(n), 1-(float64(n)+0.5)/recovering) {
			s.Outages = append(s.Outages, Outage{x.tool.name, begin, begin + slice, x.down()})
		}
	}
}
