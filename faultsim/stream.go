package faultsim

import (
	"errors"
	"net/http"
	"time"

	"github.com/rehearse-go/rehearse/internal/double"
	"github.com/rehearse-go/rehearse/trace"
)

// validBody reports what makes a body in pieces unplayable.
func (f *Fault) validBody() error {
	switch {
	case f.Body == 0:
		return nil
	case f.Hang && f.Class != 0:
		return errors.New("Body and Hang with a Class contradict each other: a body that stops half-way has no class; clear Class")
	case !f.whole() && !f.halves() && !f.gives():
		return errors.New("Body is about the answer of a success, and about one that breaks (trace.Reset) or stops (Hang) half-way: clear it, or change Class")
	}
	return nil
}

// whole reports whether the answer is all that was asked for.
func (f *Fault) whole() bool { return !f.Hang && f.class() == trace.OK }

// halves reports whether the connection leaves the caller with half of the answer.
func (f *Fault) halves() bool { return f.Hang || f.Class == trace.Reset }

// gives reports whether the answer gives up half-way and says why, as only the stream
// of a model's API does.
func (f *Fault) gives() bool {
	switch f.Class {
	case trace.Transient, trace.Throttled, trace.QuotaExhausted:
		return f.Body > 0 && !f.Hang
	}
	return false
}

// takes is how long the answer takes, from the arrival of the call to its end.
func (f *Fault) takes() time.Duration { return f.Latency + f.Body }

// pieces is how the body of the answer comes.
func (f *Fault) pieces() double.Pieces {
	return double.Pieces{Over: f.Body, Break: f.Class == trace.Reset, Stall: f.Hang}
}

// halfway answers a request whose body was to break or to stop half-way, where
// the answer has no body: the connection does so before the status.
func (x *exchange) halfway(f *Fault) (*http.Response, error) {
	timing := double.Timing{Latency: f.Body, Hang: f.Hang, Deaf: f.Deaf}
	ctx := x.req.Context()
	if ended := timing.Play(ctx, nil, x.p); ended != 0 {
		x.over(trace.Outcome{Class: ended}, nil, ctx.Err())
		return nil, ctx.Err()
	}
	reply := double.Reply{Class: trace.Reset}
	resp, err := reply.Respond(x.req, time.Now())
	x.over(reply.Outcome(), nil, err)
	return resp, err
}

// streams lets the bodies of HTTP tools that have such come in pieces: of
// answers that break or hang, and of the success behind them. It
// draws nothing for other tools.
func (d *drawer) streams(t *source, s *Schedule) {
	for n := range d.tools {
		tool := &d.tools[n]
		if !tool.can(&Fault{Body: 1}) {
			continue
		}
		for i := range s.Actions {
			faults := s.Actions[i].Faults[tool.name]
			if len(faults) > longestGarnished {
				continue
			}
			t := t.nth(i).double(tool.name)
			for n := range faults {
				d.stream(t.nth(n), tool, &faults[n])
			}
			if oneIn(t, 4) && s.Actions[i].Faults != nil {
				s.Actions[i].Faults[tool.name] = append(faults, Fault{Body: d.latency(t) - 30})
			}
		}
	}
}

// stream lets the body of one answer come in pieces. What it planned of words
// and work does not go with that.
func (d *drawer) stream(t *source, tool *drawnTool, f *Fault) {
	g := Fault{Class: f.Class, Hang: f.Hang, Latency: f.Latency, Cancel: f.Cancel, Deaf: f.Deaf, Body: 1}
	if (f.Hang || f.class() != trace.OK) && tool.can(&g) && g.validBody() == nil && coin(t) {
		g.Body = d.latency(t) - 30
		*f = g
	}
}
