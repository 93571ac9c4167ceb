package double

import (
	"context"
	"errors"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/rehearse-go/rehearse/trace"
)

// Timing says when an answer comes. The zero value answers at once.
type Timing struct {
	Latency time.Duration // from the arrival of the call to its answer; 0: none
	Hang    bool          // there is no answer before the context ends; Latency is not read
	Deaf    bool          // the end of the context changes nothing
}

// Play blocks until the answer is due and returns 0, or until ctx ends and
// returns how its end reads: [trace.Timeout] or [trace.Cancelled].
//
// A context that has ended before the call is an end too. A deaf tool answers
// at its own time; the end of ctx is then written down on p at the instant at
// which it comes. Hang and Deaf together never return.
//
// Nil c is real time, which in a synctest bubble is virtual. A latency that is
// over at the same instant as ctx ends in either way, at random: give one of
// them a nanosecond more.
func (t Timing) Play(ctx context.Context, c clock.Clock, p trace.Pending) trace.Class {
	switch {
	case !t.Deaf && ctx.Err() != nil:
		return Ended(ctx)
	case t.Hang:
		return t.hang(ctx, p)
	case t.Latency <= 0:
		if t.Deaf {
			t.note(ctx, p)
		}
		return 0
	}
	due, stop := timer(c, t.Latency)
	defer stop()
	select {
	case <-due:
		return 0
	case <-ctx.Done():
	}
	if !t.Deaf {
		return Ended(ctx)
	}
	t.note(ctx, p)
	<-due
	return 0
}

func (t Timing) hang(ctx context.Context, p trace.Pending) trace.Class {
	<-ctx.Done() // for ever where ctx cannot end
	if !t.Deaf {
		return Ended(ctx)
	}
	t.note(ctx, p)
	select {}
}

// note writes down an end of ctx that a deaf tool does not heed.
func (t Timing) note(ctx context.Context, p trace.Pending) {
	if class := Ended(ctx); class != 0 {
		p.Interrupt(trace.Outcome{Class: class})
	}
}

// Ended is how the end of ctx reads as the outcome of a call in flight:
// [trace.Timeout], [trace.Cancelled], or 0 while ctx has not ended.
func Ended(ctx context.Context) trace.Class {
	switch err := ctx.Err(); {
	case err == nil:
		return 0
	case errors.Is(err, context.DeadlineExceeded):
		return trace.Timeout
	}
	return trace.Cancelled
}

func timer(c clock.Clock, d time.Duration) (due <-chan time.Time, stop func() bool) {
	if c != nil {
		t := c.Timer(d)
		return t.C, t.Stop
	}
	t := time.NewTimer(d)
	return t.C, t.Stop
}

// Now is the time of c; nil is real time.
func Now(c clock.Clock) time.Time {
	if c != nil {
		return c.Now()
	}
	return time.Now()
}
