package faultsim

import (
	"context"
	"errors"
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// usualDowntime is how long a process is down after a crash.
const usualDowntime = time.Second

// downtime is how long the process is down after each crash of the action.
func (p *Plan) downtime() time.Duration {
	if p.Restart == 0 {
		return usualDowntime
	}
	return p.Restart
}

// deaths counts the crashes and drains that the plan asks for.
func (p *Plan) deaths() int {
	n := 0
	if p.CrashBeforeWrite > 0 {
		n++
	}
	if p.CrashAfterWrite > 0 {
		n++
	}
	for _, faults := range p.Faults {
		for i := range faults {
			if faults[i].Crash > 0 {
				n++
			}
			if faults[i].Drain > 0 {
				n++
			}
		}
	}
	return n
}

// mortal runs an action in whose plan there are crashes or drains, each life of
// its process in a goroutine of its own, which a crash leaves behind. It reports
// whether a process has ended.
func (x *trial) mortal(ctx context.Context, a *act, action Action) (crashed bool) {
	limit := time.NewTimer(x.longest)
	defer limit.Stop()
	for {
		l, done := x.house.life, make(chan struct{})
		go func() {
			defer close(done)
			x.call(ctx, l, a, action)
		}()
		select {
		case <-done:
		case <-l.over:
		case <-limit.C:
			x.hangs(a)
			return crashed
		}
		if x.retires(l) {
			time.Sleep(a.plan.downtime())
			return true
		}
		if !l.dead.Load() {
			return crashed
		}
		crashed = true
		x.house.turnstile.pass() // virtual time orders nothing in the eyes of the race detector
		if x.a.served != nil {
			x.severed(a)
			return true
		}
		time.Sleep(a.plan.downtime())
		if ctx, action = x.resume(ctx, a); action == nil {
			return crashed
		}
	}
}

// severed ends the call of a tool under test whose process has died, as its
// caller sees it, and waits until the process is up again. Nothing goes on by
// itself then: the caller has to repeat the call.
func (x *trial) severed(a *act) {
	x.over(a, nil)
	a.op.End(trace.Ending{Err: errSevered})
	time.Sleep(a.plan.downtime())
	a.op.Restart(context.Background())
}

var errSevered = errors.New("the connection broke: the process of the tool has died")

// resume builds the code anew for what is left of a crashed action; a nil
// action: it could not.
func (x *trial) resume(before context.Context, a *act) (context.Context, Action) {
	ctx, cancel := context.WithCancel(context.Background())
	old := a.cancel
	a.cancel = func() {
		old()
		cancel()
	}
	ctx = a.op.Restart(ctx)
	action, err := x.build(x.reborn(), "Resume", x.a.Resume)
	if err != nil {
		x.err = err
		return before, nil
	}
	return ctx, action
}

// reborn is a stage for code that is built anew.
func (x *trial) reborn() *Stage {
	h := &x.house
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.life != nil && h.life.dead.Load() {
		h.life = newLife()
	}
	h.builds++
	h.built = false
	return &Stage{house: h, life: h.life, build: h.builds}
}

// again is the action for an operator's retry; nil: it could not be built.
func (x *trial) again() Action {
	action, err := x.build(x.reborn(), "Again", x.a.Again)
	if err != nil {
		x.err = err
	}
	return action
}

// survivor is the action for the plans behind one with a crash: Resume has built
// code that goes on with what was interrupted, and Subject builds what is fresh,
// in the same process. A nil action: it could not.
func (x *trial) survivor() Action {
	if x.err != nil {
		return nil
	}
	action, err := x.build(x.reborn(), "Subject", x.a.Subject)
	if err != nil {
		x.err = err
	}
	return action
}
