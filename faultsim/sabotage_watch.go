package faultsim

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// A saboteur stands between the code under test and its tools in one trial. It
// follows each series of attempts with the policy's automaton, so that it knows
// what the policy forbids next, and commits one sin at the first occasion. A
// scout commits nothing, and notes the occasions of all sins.
type saboteur struct {
	a      *Adapter
	sins   []*sin // a scout looks for these, another one commits the first
	scouts bool
	sample any // what the action returns on success; nil: not known

	mu        sync.Mutex    // never held while somebody waits
	met       map[*sin]bool // of a scout: those that had an occasion
	claimed   bool          // the sin is being committed
	committed bool
	published bool // the code has published a terminal
	stints    []*stint
	offers    []offer
	latest    *visit // a copy of the latest call that was answered, of any action
}

// An offer is a function tool, for a call that the code does not make.
type offer struct {
	tool string
	call func(context.Context) reply
}

// within makes the call under the limit that its policy has.
func (o *offer) within(ctx context.Context, a *Adapter) {
	ctx, cancel := limited(ctx, a.Policy.Of(o.tool).Attempt)
	defer cancel()
	o.call(ctx)
}

// A stint is one action.
type stint struct {
	a      *act
	ctx    context.Context // that the action was begun with
	leave  context.CancelFunc
	begin  time.Duration
	lanes  []*lane
	calls  int
	busy   int    // calls that are under way
	murky  bool   // some were under way at once
	done   bool   // a tool has answered ok
	ended  bool   // the code has returned
	latest *visit // that was answered last
	reply  reply  // its answer
	why    error  // that the saboteur made the code leave with; nil: it has not
	left   time.Duration
}

// A lane is the calls of one action at one tool.
type lane struct {
	tool   string
	p      *invariants.Policy
	auto   invariants.Series
	before invariants.Series // as it was when the latest answer came
	open   bool              // a series goes on
	d      invariants.Decision
	o      trace.Outcome
	at     time.Duration // of the latest answer
	calls  int
	failed int // in a row
}

type stintKey struct{}

// now is the time of the trial.
func now() time.Duration { return time.Since(epoch) }

// notes reports whether the saboteur commits a sin at an occasion for it; a scout
// notes it. The caller holds v.mu.
func (v *saboteur) notes(k *sin, occasion func() bool) bool {
	if v.scouts {
		if !v.met[k] && occasion() {
			v.met[k] = true
		}
		return false
	}
	if v.claimed || !occasion() {
		return false
	}
	v.claimed = true
	return true
}

// over settles a sin that was begun; false: it came to nothing.
func (v *saboteur) over(done bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.claimed, v.committed = done, v.committed || done
}

// choose is the first sin that has the step and an occasion for it; nil: none is
// to be committed here.
func (v *saboteur) choose(has func(*sin) bool, occasion func(*sin) bool) *sin {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, k := range v.sins {
		if has(k) && v.notes(k, func() bool { return occasion(k) }) {
			return k
		}
	}
	return nil
}

// stint is the action to which a call belongs; nil: not known.
func (v *saboteur) stint(ctx context.Context) *stint {
	if st, ok := ctx.Value(stintKey{}).(*stint); ok {
		return st
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	var open *stint
	for _, st := range v.stints {
		if st.ended {
			continue
		}
		if open != nil {
			return nil
		}
		open = st
	}
	return open
}

// offer notes a tool that can be called with the zero arguments.
func (v *saboteur) offer(tool string, call func(context.Context) reply) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.offers = append(v.offers, offer{tool, call})
}

// meet takes one call of the code to its tool.
func (v *saboteur) meet(c *visit) reply {
	c.v, c.stint = v, v.stint(c.ctx)
	if c.stint == nil {
		return c.send(c.ctx, asIs)
	}
	c.given = c.own()
	v.arrives(c)
	r := v.sends(c)
	v.answered(c, r)
	return v.follows(c, r)
}

// arrives notes a call before it is made.
func (v *saboteur) arrives(c *visit) {
	v.mu.Lock()
	defer v.mu.Unlock()
	st := c.stint
	i := slices.IndexFunc(st.lanes, func(l *lane) bool { return l.tool == c.t.name })
	if i < 0 {
		i = len(st.lanes)
		st.lanes = append(st.lanes, &lane{tool: c.t.name, p: v.a.Policy.Of(c.t.name)})
	}
	c.lane = st.lanes[i]
	st.murky = st.murky || st.busy > 0
	st.busy++
}

// answered notes the answer, and asks the automaton what may come next.
func (v *saboteur) answered(c *visit, r reply) {
	v.mu.Lock()
	defer v.mu.Unlock()
	st, l := c.stint, c.lane
	st.busy--
	if r.o.Class == 0 {
		return // it was not sent
	}
	copied := *c
	v.latest = &copied
	st.latest, st.reply, st.done = c, r, st.done || r.o.Class == trace.OK
	if !l.open {
		l.auto, l.failed = l.p.Start(st.begin, st.deadline()), 0
		if at := st.a.plan.Cancel; at != 0 {
			l.auto.Cancel(st.begin + max(at, 0))
		}
	}
	l.failed++
	l.before = l.auto
	l.o, l.at = r.o, now()
	l.d = l.auto.Next(r.o, l.at)
	l.open = l.d.Do != invariants.Stop
}

// deadline is the instant at which the caller's context ends; 0: never.
func (st *stint) deadline() time.Duration {
	if d := st.a.plan.Deadline; d > 0 {
		return st.begin + d
	}
	return 0
}

// room reports whether the caller leaves the action alone for so long.
func (st *stint) room(d time.Duration) bool {
	if st.ctx.Err() != nil {
		return false
	}
	end := st.deadline()
	if at := st.a.plan.Cancel; at > 0 && (end == 0 || st.begin+at < end) {
		end = st.begin + at
	}
	return end == 0 || now()+d < end
}

// call makes a physical call of the tool, with the arguments of the visit.
func (c *visit) call(ctx context.Context, ch change) reply {
	c.v.mu.Lock()
	c.lane.calls++
	c.stint.calls++
	c.v.mu.Unlock()
	r := c.send(ctx, ch)
	if r.o.Class == 0 {
		c.v.mu.Lock()
		c.lane.calls--
		c.stint.calls--
		c.v.mu.Unlock()
	}
	return r
}

// clear reports whether the automaton knows where the series is, and nothing but
// its own decision is due.
func (c *visit) clear() bool {
	return !c.stint.murky && c.lane.p.Hedge.Max <= 1 && c.stint.ctx.Err() == nil && c.stint.why == nil
}

// plain reports whether the schedule has the tool answer the call at once that
// comes behind so many others.
func (c *visit) plain(ahead int) bool {
	return !c.disturbed() && c.planned(c.lane.calls+1+ahead) == Fault{}
}

// planned is what the schedule plans for the action's attempt at the tool.
func (c *visit) planned(n int) Fault {
	f := c.stint.a.fault(c.t.name, n)
	if f == (Fault{}) && c.s.main() == c.t.name {
		f = c.stint.a.fault(Main, n)
	}
	return f
}

// disturbed reports whether more than the plan of its attempts decides what the
// tool answers.
func (c *visit) disturbed() bool {
	sched := c.s.climate.s
	return len(sched.Outages)+len(sched.Quotas)+len(sched.Buckets)+len(sched.Serial) > 0 ||
		c.s.issuer != nil && c.lane.o.Class == trace.Unauthenticated ||
		c.s.definitions[c.t.name] != nil && c.lane.o.Class == trace.Invalid || c.s.sessions[c.t.name] != nil
}

// mends reports whether something else is due after the latest answer, before the
// tool is called again.
func (c *visit) mends() bool {
	l := c.lane
	return l.p.Refresh.Once && l.o.Class == trace.Unauthenticated ||
		l.p.Correct.Once && l.o.Class == trace.Invalid ||
		l.p.Reconcile && l.p.Effect(l.o) == trace.EffectUnknown
}

// wait is how long a program waits that goes on after the latest answer, although
// its policy does not.
func (c *visit) wait() time.Duration {
	l := c.lane
	lo, hi := l.p.Backoff.Window(l.failed, 0)
	w := lo + (hi-lo)/2
	if l.p.Hint.Use != invariants.HintIgnore {
		hint := l.o.Hint
		if l.p.Hint.Limit > 0 {
			hint = min(hint, l.p.Hint.Limit)
		}
		w = max(w, hint)
	}
	return w
}

// goOn waits and calls the tool once more, as the code would; false: the caller
// was gone before.
func (c *visit) goOn(wait time.Duration) (reply, bool) {
	if !lasts(c.stint.ctx, wait) {
		return reply{}, false
	}
	ctx, cancel := c.fresh()
	defer cancel()
	r := c.call(ctx, asIs)
	return r, r.ok
}

// lasts waits, and reports whether ctx has not ended.
func lasts(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// fresh is a context as the code would make it for one more attempt: with the
// values of the one that it has made, and as much time.
func (c *visit) fresh() (context.Context, context.CancelFunc) {
	return limited(lent{c.stint.ctx, c.ctx}, c.given)
}

// detached makes the call once more, whatever has become of the caller.
func (c *visit) detached() {
	ctx, cancel := limited(c.free(), c.given)
	defer cancel()
	c.call(ctx, asIs)
}

// limited is a context with a time limit; 0: none.
func limited(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d > 0 {
		return context.WithTimeout(ctx, d)
	}
	return context.WithCancel(ctx)
}

// free is a context that nobody ends.
func (c *visit) free() context.Context { return context.WithoutCancel(c.ctx) }

// lent is one context with the values of another.
type lent struct {
	context.Context
	values context.Context
}

func (l lent) Value(key any) any { return l.values.Value(key) }

// own is the time that the code gives the attempt itself; 0: only the caller's.
func (c *visit) own() time.Duration {
	end, ok := c.ctx.Deadline()
	if !ok {
		return 0
	}
	if callers, ok := c.stint.ctx.Deadline(); ok && !end.Before(callers) {
		return 0
	}
	return time.Until(end)
}

// perform runs an action of the code.
func (v *saboteur) perform(s *Stage, ctx context.Context, a *act, action Action) (any, error) {
	inner, leave := context.WithCancel(ctx)
	st := &stint{a: a, ctx: ctx, leave: leave, begin: now()}
	v.mu.Lock()
	v.stints = append(v.stints, st)
	v.mu.Unlock()
	out, err := action(context.WithValue(inner, stintKey{}, st))
	return v.ends(s, st, out, err)
}
