package faultsim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rehearse-go/rehearse/internal/double"
	"github.com/rehearse-go/rehearse/trace"
)

// validWork reports what makes the fault's work unplayable.
func (f *Fault) validWork() error {
	switch {
	case f.Work > f.Latency && !f.Hang && f.class() == trace.OK:
		return errors.New("Work comes after the success that tells of it: make it Latency at most, or plan a failure")
	case f.Twice && !f.works() && (f.Hang || f.class() != trace.OK):
		return errors.New("Twice is about the tool's work, and this attempt does none: set Done or Work, or clear it")
	}
	return nil
}

// works reports whether the tool does its work whatever the caller sees.
func (f *Fault) works() bool { return f.Done || f.Work > 0 }

// A labour is the work of a call that is done in its own time.
type labour[Out any] struct {
	done chan struct{}
	out  Out
	err  error
}

// workLater does the work when the fault says, whether or not the caller is
// still there. The arguments are those that arrived.
func (c *call[In, Out]) workLater(f *Fault) *labour[Out] {
	own, twice, l := *c, f.Twice, &labour[Out]{done: make(chan struct{})}
	own.ctx, own.in = context.WithoutCancel(c.ctx), double.Clone(c.in)
	time.AfterFunc(f.Work, func() {
		defer close(l.done)
		defer func() {
			if p := recover(); p != nil {
				l.err = fmt.Errorf("faultsim: what %s does panicked: %v at %s", own.t.name, p, panicSite())
				own.s.misused(l.err)
			}
		}()
		l.out, l.err = own.deliver(twice)
	})
	return l
}

// deliver does the work of one call, for each time that it is delivered.
func (c *call[In, Out]) deliver(twice bool) (Out, error) {
	out, err := c.work()
	if twice {
		_, _ = c.work() // nobody waits for this answer
	}
	return out, err
}

// deliverWork records the effect, for each time that the request is delivered.
func (x *exchange) deliverWork(f *Fault) {
	work := x.work
	if x.r.Batch != nil {
		work = func() { x.workOf(f) }
	}
	work()
	if f.Twice {
		work()
	}
}

// workLater is deliverWork when the fault says.
func (x *exchange) workLater(f *Fault) {
	own := *f
	time.AfterFunc(f.Work, func() { x.deliverWork(&own) })
}

// workBehind does the work of a call whose caller has given up, once the service
// has got to it, and unless it refuses it.
func workBehind(s *Stage, t *tool, v *customer, work func()) {
	go func() {
		defer func() {
			if p := recover(); p != nil {
				s.misused(fmt.Errorf("faultsim: what %s does panicked: %v at %s", t.name, p, panicSite()))
			}
		}()
		if <-v.answered; v.refusal == (Fault{}) {
			work()
		}
	}()
}

// workBehind does the work for the arguments that arrived.
func (c *call[In, Out]) workBehind(v *customer, f *Fault) {
	own, twice := *c, f.Twice
	own.ctx, own.in = context.WithoutCancel(c.ctx), double.Clone(c.in)
	workBehind(own.s, own.t, v, func() { _, _ = own.deliver(twice) })
}

func (x *exchange) workBehind(v *customer, f *Fault) {
	own := *f
	workBehind(x.s, x.r.tool, v, func() { x.deliverWork(&own) })
}
