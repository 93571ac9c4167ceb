package faultsim

import (
	"context"
	"time"
)

// usualGrace is how long a process has that is told to stop, as Kubernetes'
// terminationGracePeriodSeconds.
const usualGrace = 30 * time.Second

// grace is how long the process has after each drain of the action.
func (p *Plan) grace() time.Duration {
	if p.Grace == 0 {
		return usualGrace
	}
	return p.Grace
}

// drains counts the drains that the plan asks for.
func (p *Plan) drains() (n int) {
	for _, faults := range p.Faults {
		for i := range faults {
			if faults[i].Drain > 0 {
				n++
			}
		}
	}
	return n
}

// Draining is a context that ends when the process is told to stop, as the one of
// signal.NotifyContext does, whose place it takes. Code that listens to a channel
// of signals is told by
//
//	context.AfterFunc(s.Draining(), func() { signals <- syscall.SIGTERM })
//
// and code whose attempts end with the signal by context.AfterFunc(s.Draining(),
// cancel). Each process has its own. It ends with the trial, for what waits for it
// as long as the process lives; without [Adapter].Resume it never does.
func (s *Stage) Draining() context.Context {
	if s.life == nil {
		return context.Background()
	}
	return s.life.draining
}

// drainAfter plans that the process which has made the call is told to stop.
func (a *act) drainAfter(s *Stage, d time.Duration) {
	a.timers = append(a.timers, time.AfterFunc(d, func() {
		if s.drain(a) {
			s.life.tell()
		}
	}))
}

// drain records that the process is told to stop, and plans its end. False: it has
// ended, or has been told before.
func (s *Stage) drain(a *act) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone() || a.ended || s.life.told {
		return false
	}
	s.life.told = true
	grace := a.plan.grace()
	a.op.Drain(grace)
	a.timers = append(a.timers, time.AfterFunc(grace, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.crash(a, 0, "at the end of its grace")
	}))
	return true
}

// handsBack reports whether the process that returned from the action had been
// told to stop, and leaves the action to the next one.
func (x *trial) handsBack(l *life, a *act, err error) bool {
	if l == nil || err == nil || x.a.HandedBack == nil || !x.handedBack(err) {
		return false
	}
	x.stage.mu.Lock()
	defer x.stage.mu.Unlock()
	if !l.told || l.dead.Load() {
		return false
	}
	x.house.bury(l)
	a.op.HandBack(err)
	a.errs = nil // the next process has not seen them
	return true
}

// retires ends a process that was told to stop and has ended its action in its
// time of grace, and reports whether it was one.
func (x *trial) retires(l *life) bool {
	x.stage.mu.Lock()
	defer x.stage.mu.Unlock()
	if !l.told || l.dead.Load() {
		return false
	}
	x.house.bury(l)
	return true
}

// drain draws that the process is told to stop: once, or under every attempt,
// which shows what counts, and with less time than an attempt takes now and then.
func (d *drawer) drain(t *source, p *Plan) {
	p.orphan()
	tool := &d.tools[below(t, len(d.tools))]
	if coin(t) {
		d.drainEach(t, p, tool)
	} else {
		for again := true; again; again = oneIn(t, 2) {
			f, n := d.anyAttempt(t, p, tool)
			f.Drain = d.cancel(t, f, n)
		}
	}
	for _, faults := range p.Faults {
		for n := range faults {
			faults[n].Deaf = false
		}
	}
	// Two nanoseconds beside what the program does at the signal, and off the answers.
	p.Grace = [...]time.Duration{usualGrace, usualGrace, 10 * time.Millisecond, time.Second}[below(t, 4)] + 2
	p.Restart = d.downtime(t)
}

// drainEach tells each process to stop under its attempt, up to one more than the
// policy allows.
func (d *drawer) drainEach(t *source, p *Plan, tool *drawnTool) {
	most := tool.most + 1
	if tool.most < 1 || tool.most > 16 {
		most = 8
	}
	faults := make([]Fault, 1+below(t, most))
	for n := range faults {
		faults[n].Latency, faults[n].Done = d.latency(t), coin(t)
		faults[n].Drain = odd(max(1, d.seen(&faults[n])/2))
	}
	p.Faults[tool.name] = faults
}
