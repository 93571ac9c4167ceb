package faultsim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rehearse-go/rehearse/internal/double"
	"github.com/rehearse-go/rehearse/trace"
)

// Sessions are the sessions with a tool: connections that are opened, lost and
// opened again. Make them with [Stage.Sessions]. The methods may be called by
// several goroutines at once.
type Sessions struct {
	s      *Stage
	tool   string
	dialed int
}

// A Session is one that [Sessions.Dial] has opened. Its methods may be called by
// several goroutines at once.
type Session struct {
	of     *Sessions
	number int
	over   bool // lost or closed
	closed bool
	calls  map[int]context.CancelFunc // those under way, by their numbers
}

// Sessions puts sessions with the tool on the stage, which must be a [Tool] or a
// [Batch] that can answer trace.NotConnected. From then on every call of it goes
// over one of them: its context is made by [Session.Over].
//
// A session is lost where a call over it is answered as reset or not-connected, as
// the schedule plans. What is called over it after that is refused at once as
// not-connected, and the tool does nothing; calls that are under way already are
// answered as planned. In an outage of class trace.NotConnected no session can be
// opened either.
//
//	sessions := s.Sessions("orders")
//	place := faultsim.Tool(s, "orders", fake, errs)
//	dial := func(ctx context.Context) (*client, error) {
//		c, err := sessions.Dial(ctx)
//		if err != nil {
//			return nil, err
//		}
//		return &client{place: func(ctx context.Context, o order) (receipt, error) { return place(c.Over(ctx), o) }, close: c.Close}, nil
//	}
func (s *Stage) Sessions(tool string) *Sessions {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := &Sessions{s: s, tool: tool}
	switch {
	case s.built:
		s.misuse = append(s.misuse, fmt.Errorf("faultsim: Stage.Sessions of %q was called by an action: do that in Subject, where schedules and rows can see it", tool))
	case s.sessions[tool] != nil && s.sessions[tool].s != s: // built anew after a crash
		x.dialed = s.sessions[tool].dialed
	case s.sessions[tool] != nil:
		s.misuse = append(s.misuse, fmt.Errorf("faultsim: Stage.Sessions of %q was called twice: keep what the first call returned", tool))
	}
	if s.sessions == nil {
		s.sessions = map[string]*Sessions{}
	}
	s.sessions[tool] = x
	s.connects.Store(true)
	return x
}

// Dial opens a session. It is in the trace as a call of trace.RoleConnect, and
// takes no time. The error is the tool's own for trace.NotConnected.
func (x *Sessions) Dial(ctx context.Context) (*Session, error) {
	if ctx == nil {
		return nil, x.s.misused(fmt.Errorf("faultsim: a session with %s was dialled with a nil context: hand the caller's context on", x.tool))
	}
	if x.s.gone() {
		return nil, x.s.buried()
	}
	x.s.mu.Lock()
	x.dialed++
	n := x.dialed
	x.s.mu.Unlock()
	p := x.s.reached(ctx, trace.Call{Tool: x.tool, Role: trace.RoleConnect, Session: n})
	if ended := double.Ended(ctx); ended != 0 {
		p.Answer(trace.Outcome{Class: ended}, nil, ctx.Err())
		return nil, ctx.Err()
	}
	a, spins, down := x.arrive(p)
	if spins {
		double.Timing{Hang: true, Deaf: true}.Play(ctx, nil, p) // for ever: nothing else stops such a loop
	}
	if down != nil {
		// The returned error may be this one, and then it tells of no attempt.
		a.tells(func() {
			x.s.answered(a, answer{}, callError{call: p.Number(), err: errDial, status: true})
			p.Answer(trace.Outcome{Class: trace.NotConnected}, nil, down)
		})
		return nil, down
	}
	p.Answer(trace.Outcome{Class: trace.OK}, nil, nil)
	return &Session{of: x, number: n, calls: map[int]context.CancelFunc{}}, nil
}

// errDial stands for the failure of a dial, which no returned error keeps.
var errDial = errors.New("faultsim: a dial has failed")

// arrive says what becomes of a dial. spins: the action dials without end; down:
// the error of a tool that cannot be reached.
func (x *Sessions) arrive(p trace.Pending) (a *act, spins bool, down error) {
	x.s.mu.Lock()
	defer x.s.mu.Unlock()
	t := x.s.lookup(x.tool)
	if a = x.s.act(p.Action()); a == nil || t == nil {
		return nil, false, nil
	}
	if a.counts(x.s) {
		x.s.spin(a)
		return a, true, nil
	}
	at := time.Since(x.s.climate.begin)
	if x.s.climate.calms() {
		return a, false, nil
	}
	for i := range x.s.climate.s.Outages {
		if o := &x.s.climate.s.Outages[i]; o.Class == trace.NotConnected && x.s.lookup(o.Tool) == t && at >= o.From && at < o.To {
			return a, false, x.s.rendered(t.name, t.skills.(Errors), &Fault{Class: o.Class})
		}
	}
	return a, false, nil
}

type sessionKey struct{}

// Over is ctx for a call of the tool over the session.
func (c *Session) Over(ctx context.Context) context.Context {
	return context.WithValue(ctx, sessionKey{}, c)
}

// Close closes the session. Calls that are under way over it end at once as reset,
// and their callers do not know what became of them; a tool that cannot answer so
// says not-connected.
func (c *Session) Close() {
	if c.of.s.gone() {
		_ = c.of.s.buried()
		return
	}
	c.of.s.mu.Lock()
	closed := c.closed
	c.over, c.closed = true, true
	calls := c.calls
	c.calls = nil
	c.of.s.mu.Unlock()
	if closed {
		return
	}
	c.of.s.rec.Closed(c.number)
	for _, stop := range calls {
		stop()
	}
}

// sessionOf is the session that a call of the tool goes over; nil: the tool has
// none.
func (s *Stage) sessionOf(ctx context.Context, tool string) (*Session, error) {
	if !s.connects.Load() {
		return nil, nil
	}
	s.mu.Lock()
	x := s.sessions[tool]
	s.mu.Unlock()
	if x == nil {
		return nil, nil
	}
	if c, ok := ctx.Value(sessionKey{}).(*Session); ok && (c.of == x || s.member != nil && c.of.s == s && c.of.tool == tool) {
		return c, nil
	}
	return nil, s.misused(fmt.Errorf("faultsim: %s was called without a session: call it with Session.Over(ctx), of one that its Sessions have opened", tool))
}

// id is the number of the session; 0: none.
func (c *Session) id() int {
	if c == nil {
		return 0
	}
	return c.number
}

// takes registers a call over the session, which stop ends, and reports whether
// the session is still there.
func (c *Session) takes(call int, stop context.CancelFunc) bool {
	c.of.s.mu.Lock()
	defer c.of.s.mu.Unlock()
	if c.over {
		return false
	}
	c.calls[call] = stop
	return true
}

// leaves takes the answer of a call in, with which the session may be lost, and
// reports whether the program has closed it.
func (c *Session) leaves(call int, class trace.Class) (closed bool) {
	c.of.s.mu.Lock()
	defer c.of.s.mu.Unlock()
	delete(c.calls, call)
	c.over = c.over || class == trace.Reset || class == trace.NotConnected
	return c.closed
}

// overSession plays the fault over a session.
func (c *call[In, Out]) overSession(over *Session, a *act, f *Fault) (out Out, o trace.Outcome, err error) {
	caller, n := c.ctx, c.p.Number()
	ctx, stop := context.WithCancel(caller)
	defer stop()
	c.ctx = ctx
	if !over.takes(n, stop) && (a == nil || !c.s.spins(a)) {
		*f = f.despite(Fault{Class: trace.NotConnected})
	}
	out, o, err = c.answer(f)
	if over.leaves(n, o.Class) && o.Class == trace.Cancelled && caller.Err() == nil {
		lost := Fault{Class: trace.Reset}
		if !c.t.can(&lost) {
			lost.Class = trace.NotConnected
		}
		return c.failure(&lost)
	}
	return out, o, err
}

// sessionsFit reports sessions with a tool that is not there or has no words for
// their loss, and a contract of sessions that are not there.
func (s *Stage) sessionsFit(declared bool) error {
	if !s.connects.Load() {
		if declared {
			return errors.New("faultsim: the adapter declares Session, and Subject has no sessions: open them with Stage.Sessions, or take the contract out")
		}
		return nil
	}
	var errs []error
	for name := range s.sessions {
		t := s.lookup(name)
		if t == nil {
			errs = append(errs, fmt.Errorf("faultsim: Stage.Sessions speaks of tool %q, the stage has %s: name one of them", name, s.names()))
			continue
		}
		if words, ok := t.skills.(Errors); !ok || !words.can(&Fault{Class: trace.NotConnected}) {
			errs = append(errs, fmt.Errorf("faultsim: Stage.Sessions needs a Tool that can answer not-connected, and %q cannot: give its Errors an entry for it", name))
		}
	}
	return errors.Join(errs...)
}

// validateSession reports what makes the contract unusable.
func (a *Adapter) validateSession() error {
	if a.Session == nil {
		return nil
	}
	if err := a.Session.Validate(); err != nil {
		return fmt.Errorf("adapter %q: %w", a.Name, err)
	}
	return nil
}

// losses lets, every second time, a session be lost with an early attempt, and
// now and then be out of reach for a while, so that dials fail.
func (d *drawer) losses(t *source, s *Schedule) {
	if !coin(t) {
		return
	}
	tool := &d.tools[below(t, len(d.tools))]
	if !slices.Contains(d.connected, tool.name) {
		return
	}
	loss := Fault{Class: trace.NotConnected}
	if reset := (Fault{Class: trace.Reset, Done: true}); coin(t) && tool.can(&reset) {
		loss = reset
		loss.Done = coin(t)
	}
	if coin(t) {
		loss.Latency = time.Duration(1+below(t, 64))*time.Millisecond + 70
	}
	plan := &s.Actions[below(t, len(s.Actions))]
	if faults := plan.Faults[tool.name]; len(faults) <= longestGarnished {
		plan.Faults[tool.name] = slices.Insert(faults, below(t, min(len(faults), 2)+1), loss)
	}
	if oneIn(t, 2) {
		from := coinOr(t, d.moment(t))
		s.Outages = append(s.Outages, Outage{tool.name, from, from + d.moment(t) + 10, trace.NotConnected})
	}
}
