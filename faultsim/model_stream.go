package faultsim

import (
	"context"
	"io"
	"time"

	"github.com/rehearse-go/rehearse/internal/double"
	"github.com/rehearse-go/rehearse/trace"
)

// A stream is a reply of a model on its way.
type stream struct {
	d     *Model
	ctx   context.Context
	p     trace.Pending
	f     *Fault
	yield func(trace.Piece) error // nil: the reply comes as a whole
	came  trace.Reply
}

// play lets the reply come: whole, or half of it where the fault breaks or stops it.
func (x *stream) play(whole trace.Reply) (trace.Reply, error) {
	pieces := double.ReplyPieces(whole)
	cut := len(pieces)
	if x.f.class() != trace.OK || x.f.Hang {
		cut = (cut + 1) / 2
	}
	pause := time.Duration(0)
	if x.f.Body > 0 {
		pause = x.f.Body / time.Duration(max(cut, 1))
	}
	for _, piece := range pieces[:cut] {
		if ended := (double.Timing{Latency: pause}).Play(x.ctx, nil, x.p); ended != 0 {
			return x.breaks(trace.Outcome{Class: ended}, x.ctx.Err())
		}
		x.came.Add(piece)
		if x.yield == nil {
			continue
		}
		if err := x.yield(piece); err != nil {
			return x.breaks(trace.Outcome{Class: trace.Cancelled}, err)
		}
	}
	switch {
	case x.d.s.gone():
		return trace.Reply{}, x.d.s.buried()
	case x.f.Hang:
		<-x.ctx.Done()
		return x.breaks(trace.Outcome{Class: double.Ended(x.ctx)}, x.ctx.Err())
	case x.f.class() != trace.OK:
		return x.breaks(trace.Outcome{Class: x.f.Class}, x.d.broken(x.f.Class))
	}
	x.p.Reply(whole)
	return whole, nil
}

// broken is the error of a stream that breaks off: the script's own for the class, else
// that of a body which ends too early.
func (d *Model) broken(c trace.Class) error {
	if f := (Fault{Class: c}); d.script.Errors != nil && d.script.Errors.can(&f) {
		return d.failure(&f)
	}
	return io.ErrUnexpectedEOF
}

// breaks records a reply that ends too early, and returns what came of it where the
// caller takes pieces.
func (x *stream) breaks(o trace.Outcome, err error) (trace.Reply, error) {
	if x.d.s.gone() {
		return trace.Reply{}, x.d.s.buried()
	}
	if x.yield == nil {
		x.p.Answer(o, nil, err)
		return trace.Reply{}, err
	}
	x.p.Break(o, x.came, err)
	return x.came, err
}
