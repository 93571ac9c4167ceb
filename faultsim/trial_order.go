package faultsim

import (
	"fmt"
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// inTurn runs the actions one after another in this goroutine, and the phases
// after them. An action that never returns never gives the goroutine back:
// then its watchdog goes on in its place.
func (x *trial) inTurn(action Action, plans []Plan) {
	for i := range plans {
		if i > 0 {
			evenOut()
		}
		plans[i].pause()
		do := action
		if plans[i].Again {
			if do = x.again(); do == nil {
				break
			}
		}
		ctx, a := x.begin(&plans[i])
		if x.a.Resume != nil && plans[i].deaths() > 0 {
			if x.mortal(ctx, a, do) && i+1 < len(plans) {
				action = x.survivor()
			}
			if x.err != nil {
				break
			}
			continue
		}
		rest := action // of its own, so that it stays off the heap
		a.dog = time.AfterFunc(x.longest, func() {
			if x.hangs(a) {
				x.takeOver(rest, plans[i+1:])
			}
		})
		x.call(ctx, nil, a, do)
		if a.hung {
			x.relief.wait(&x.stage)
			return
		}
	}
	x.finish()
}

// pause waits for as long as the plan says, before its action begins.
func (p *Plan) pause() {
	if p.After > 0 {
		time.Sleep(p.After)
	}
}

// evenOut sleeps to the next ten nanoseconds: an action that ends with the
// caller's cancel or deadline ends beside them, and the next one's instants
// would no longer be apart from its answers. See odd.
func evenOut() {
	if beside := time.Since(epoch) % 10; beside > 0 {
		time.Sleep(10 - beside)
	}
}

// takeOver goes on in place of a goroutine whose action hangs.
func (x *trial) takeOver(action Action, rest []Plan) {
	defer x.relief.over(&x.stage)
	defer func() {
		if !x.closed { // the next action has ended this goroutine
			x.finish()
		}
	}()
	x.house.turnstile.pass() // virtual time orders nothing in the eyes of the race detector
	x.inTurn(action, rest)
}

// A relief lets a goroutine wait until its watchdog has finished the trial.
// It costs nothing where no action hangs.
type relief struct {
	finished bool
	waiting  chan struct{}
}

func (r *relief) over(s *Stage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.finished = true
	if r.waiting != nil {
		close(r.waiting)
		r.waiting = nil
	}
}

func (r *relief) wait(s *Stage) {
	s.mu.Lock()
	if r.finished {
		s.mu.Unlock()
		return
	}
	if r.waiting == nil {
		r.waiting = make(chan struct{})
	}
	c := r.waiting
	s.mu.Unlock()
	<-c
}

// apart is the time between the beginnings of actions at once, so that their
// order is data. See odd for the number.
const apart = 3 * time.Nanosecond

// together runs the actions at once, each in a goroutine of its own.
func (x *trial) together(action Action, plans []Plan) {
	type running struct {
		a    *act
		done chan struct{}
	}
	all := make([]running, len(plans))
	for i := range plans {
		plans[i].pause()
		ctx, a := x.begin(&plans[i])
		all[i] = running{a, make(chan struct{})}
		go func() {
			defer close(all[i].done)
			x.call(ctx, nil, a, action)
		}()
		time.Sleep(apart)
	}
	limit := time.NewTimer(x.longest)
	defer limit.Stop()
	for _, r := range all {
		select {
		case <-r.done:
		case <-limit.C:
			for _, r := range all {
				x.hangs(r.a)
			}
			return
		}
	}
}

// hangs records that the action hangs, unless it has just ended.
func (x *trial) hangs(a *act) bool {
	x.stage.mu.Lock()
	hangs := !a.ended
	if hangs {
		a.hung = true
	}
	x.stage.mu.Unlock()
	if hangs && !x.stage.spins(a) { // the call that ended a spin never answers
		a.op.Trouble(trace.KindHang, fmt.Sprintf("the action has not returned after %v", x.longest.Truncate(time.Second)))
	}
	return hangs
}
