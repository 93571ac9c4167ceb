package faultsim

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// A crowd is a fleet in its trial.
type crowd struct {
	f         *Fleet
	x         *trial
	at        []time.Duration // when each agent begins
	reception atomic.Pointer[reception]
	pulse     atomic.Int64 // calls and actions up to now: while it moves, the trial lives

	members []*member     // of the agents, each nil where they share a process
	busy    atomic.Int64  // agents that have not ended
	done    chan struct{} // closed when the last of them has

	mu sync.Mutex // keeps the actions and their agents in one order
	of []int      // the agent of each action, from 0
}

// A member is an agent that is a process of its own: what its code calls without a
// context is of the action that it is in.
type member struct {
	current atomic.Pointer[context.Context]
}

func newCrowd(f *Fleet, at []time.Duration) *crowd {
	s := f.Service.schedule()
	s.Actions = []Plan{f.Plan}
	x := newTrial(&f.Adapter, s, f.Adapter.content(), nil)
	x.rec.Beside = f.Adapter.Contract().Content()
	x.drawn = true // the crowd looks itself whether it fits
	x.stage.climate.s = &Schedule{Actions: s.Actions}
	c := &crowd{f: f, x: x, at: at, of: make([]int, 0, f.Agents*f.actions()), members: make([]*member, f.Agents)}
	if !f.Shared {
		x.stage.member = new(member)
		c.members[0] = x.stage.member
	}
	x.house.crowd = c
	x.stage.acts = make([]*act, 0, cap(c.of))
	return c
}

// seed makes the random numbers of each agent its own.
func (c *crowd) seed(w io.Writer, agent int) {
	_ = binary.Write(w, binary.LittleEndian, []uint64{c.f.Seed, uint64(agent)})
}

// act lets the agents act, and goes on with the phases behind that.
func (c *crowd) act(first Action) {
	actions, err := c.build(first)
	if err == nil {
		err = c.fits()
	}
	if err != nil {
		c.x.err = err
		c.x.close()
		return
	}
	c.done = make(chan struct{})
	c.busy.Store(int64(c.f.Agents))
	c.open()
	begin := time.Now()
	for i := range c.at {
		time.Sleep(c.at[i] - time.Since(begin))
		go c.live(i, actions[i])
	}
	c.wait()
	c.x.finish()
}

// build is the action of each agent, whose process is built on a stage of its own
// unless all of them share one.
func (c *crowd) build(first Action) ([]Action, error) {
	actions := make([]Action, c.f.Agents)
	actions[0] = first
	for i := 1; i < len(actions); i++ {
		if c.f.Shared {
			actions[i] = first
			continue
		}
		s := c.x.reborn()
		s.member = new(member)
		c.members[i] = s.member
		action, err := c.x.build(s, "Subject", c.x.a.Subject)
		if err != nil {
			return nil, err
		}
		actions[i] = action
	}
	return actions, nil
}

// fits reports why the service and the plan cannot be played on this stage; nil:
// they can.
func (c *crowd) fits() error {
	s, sv := &c.x.stage, &c.f.Service
	t := s.lookup(sv.name())
	if t == nil {
		return &UnfitError{fmt.Sprintf("fleet: Service.Tool is %q, and the stage has %s: name a tool that is there, or leave it empty for the first", sv.name(), s.names()), 0, sv.name(), 0}
	}
	if sv.bounded() {
		full := sv.full()
		if err := s.spellFits(t.name, full, "a full line"); err != nil {
			return err
		}
	}
	return s.fits(c.x.s)
}

// open opens the service, now that all are built: what Subject itself calls is
// answered at once.
func (c *crowd) open() {
	c.reception.Store(newReception(&c.f.Service, c.x.stage.lookup(c.f.Service.name()).name, c.f.Seed, c.x.stage.misused))
}

// live is what one agent does.
func (c *crowd) live(agent int, action Action) {
	defer func() {
		if c.busy.Add(-1) == 0 {
			close(c.done)
		}
	}()
	for n := range c.f.actions() {
		if n > 0 {
			time.Sleep(c.f.Pause)
		}
		ctx, a := c.begin(agent)
		c.x.call(ctx, nil, a, action)
	}
}

// begin begins an action of the agent.
func (c *crowd) begin(agent int) (context.Context, *act) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pulse.Add(1)
	ctx, a := c.x.begin(&c.f.Plan)
	c.of = append(c.of, agent)
	if m := c.members[agent]; m != nil {
		m.current.Store(&ctx)
	}
	return ctx, a
}

// wait waits for the last agent, or until those that are left hang, and then for what
// they have left behind.
func (c *crowd) wait() {
	alone := c.x.longest
	c.x.longest = c.longest(alone)
	if c.idles(c.x.longest, c.done) {
		c.mu.Lock()
		acts := c.x.stage.acts
		c.mu.Unlock()
		for _, a := range acts {
			c.x.hangs(a)
		}
	}
	c.x.longest = alone
	c.idles(alone, nil)
}

// longest is how long an agent may be at work besides its calls at the service, where
// an action alone takes no longer than the horizon. Those of one process may wait for
// each other.
func (c *crowd) longest(horizon time.Duration) time.Duration {
	refused := max(mostOf(&c.x.a.Policy), 64) // times that an action may wait for the service's hint
	one := horizon + saturated(c.f.Service.Hint, refused) + c.f.Pause
	if c.f.Shared {
		return saturated(one, c.f.actions()*c.f.Agents)
	}
	return saturated(one, c.f.actions())
}

// idles waits until the service has had nobody to serve for so long, all in all; false:
// done came first. What is at the service takes as long as that takes, which nobody
// knows beforehand.
func (c *crowd) idles(d time.Duration, done <-chan struct{}) bool {
	r := c.reception.Load()
	for end := r.idled() + d; r.idled() < end; {
		look := time.NewTimer(d + r.taken()) // not each d: a long line would be looked at for ever
		select {
		case <-done:
			look.Stop()
			return false
		case <-look.C:
		}
	}
	return true
}

// saturated is n times d, at most ten years.
func saturated(d time.Duration, n int) time.Duration {
	return min(time.Duration(product(int64(n), int64(d))), 10*longestTime)
}

// reached records a call that has reached a double.
func (s *Stage) reached(ctx context.Context, c trace.Call) trace.Pending {
	if s.crowd != nil {
		s.crowd.pulse.Add(1)
		ctx = s.member.owns(ctx)
	}
	return s.rec.Call(ctx, c)
}

// owns is ctx with the agent's own action where it carries none.
func (m *member) owns(ctx context.Context) context.Context {
	if m == nil || trace.ActionName(ctx) != "" {
		return ctx
	}
	current := m.current.Load()
	if current == nil {
		return ctx
	}
	return &ownedContext{ctx, *current}
}

// An ownedContext ends as the one, and belongs to the action of the other.
type ownedContext struct {
	context.Context
	action context.Context
}

func (c *ownedContext) Value(key any) any {
	if v := c.Context.Value(key); v != nil {
		return v
	}
	return c.action.Value(key)
}

// place is that of the call's caller among the others, which orders what comes at
// one instant.
func (s *Stage) place(p trace.Pending) int {
	if s.member != nil {
		return s.build
	}
	return p.Action()
}
