package faultsim

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// A Service is what stands behind a tool of a [Fleet]: so many workers, a queue
// before them, and limits of its own. A call that finds a free worker is answered
// after the time that the worker takes; one that finds none waits in line, first
// come, first served; one that finds the line full is refused at once. Where
// nothing else is said, it is the queue M/M/c or M/D/c of the textbooks; see
// Kleinrock, "Queueing Systems", volume 1.
//
// An outage goes before the quota, that before the workers, and these before what
// the plan of the action says. Calls that arrive at one instant are served in the
// order of their agents.
//
// The zero Service answers every call at once.
type Service struct {
	// Tool is the tool that it stands behind. Empty: Main, the adapter's first.
	Tool string

	// Workers is how many calls it works on at once. 0: any number.
	Workers int

	// Serve is how long a worker takes for one call. Where Drawn is set, it is drawn
	// by that, such as [Exponential]. Where Times is set, that says it: r is seeded by
	// the fleet, and waiting is how many calls are in line as the worker begins, so
	// that a service can slow down under load. It is called once for each call that a
	// worker begins, one at a time. What it returns below 0 counts as 0; more than a
	// year is an error.
	Serve time.Duration
	Drawn Distribution[time.Duration]
	Times func(r *rand.Rand, waiting int) time.Duration

	// Queue is how many calls may wait for a worker. 0: none;
	// [invariants.Unlimited]: any number.
	Queue int

	// Full is how a call is refused where the line is full, and Hint the wait that
	// the refusal asks for. Empty: trace.Transient, as status 503 (RFC 9110, section
	// 15.6.4); 0: no hint.
	Full trace.Class
	Hint time.Duration

	// Leave says that a call whose caller has given up leaves the line. False: the
	// service does not hear of it, and works for nobody: what it does is done all
	// the same. Work that has begun goes on in either case.
	Leave bool

	// Outages are times in which it is down, and Quota is what it grants in each
	// window; the zero Quota grants everything. Their Tool may be left empty.
	// Times count from the begin of the first agent.
	Outages []Outage
	Quota   Quota
}

// times is how long the next call takes: Times, or what stands in its place; nil: Serve.
func (sv *Service) times() func(r *rand.Rand, waiting int) time.Duration {
	if sv.Drawn != nil {
		return func(r *rand.Rand, _ int) time.Duration { return sv.Drawn.Quantile(r.Float64()) }
	}
	return sv.Times
}

// takes is how long a call takes by Times or Drawn. A panic, and what no trial plays,
// are the service's own mistakes.
func (sv *Service) takes(r *rand.Rand, waiting int) (d time.Duration, err error) {
	what := "Times"
	if sv.Drawn != nil {
		what = "Drawn"
	}
	defer func() {
		if p := recover(); p != nil {
			d, err = 0, fmt.Errorf("fleet: Service.%s panicked: %v at %s: it must say a time for every length of the line, 0 included", what, p, panicSite())
		}
	}()
	if d = sv.times()(r, waiting); d > longestTime {
		return 0, fmt.Errorf("fleet: Service.%s says %v with %d in line: a trial plays a year (%v) at most", what, d, waiting, longestTime)
	}
	return d, nil
}

// mostQueued bounds what a fleet counts.
const mostQueued = 1_000_000

// validate reports what makes the service unplayable; nil: nothing.
func (sv *Service) validate() error {
	var errs []error
	want := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("fleet: Service."+format, args...))
		}
	}
	want(sv.Workers >= 0, "Workers is %d: say how many calls it works on at once, or 0 for any number", sv.Workers)
	want(sv.Serve >= 0 && sv.Serve <= longestTime, "Serve is %v: it counts forward, up to a year (%v)", sv.Serve, longestTime)
	want(sv.Queue >= -1 && sv.Queue <= mostQueued, "Queue is %d: say how many calls may wait, up to %d, or invariants.Unlimited", sv.Queue, mostQueued)
	want(sv.Workers != 0 || sv.Queue == 0, "Queue is %d, and Workers is 0, which is any number, so that nothing ever waits: set Workers, or clear Queue", sv.Queue)
	if err := valid(sv.Drawn); err != nil {
		errs = append(errs, fmt.Errorf("fleet: Service.Drawn: %w", err))
	}
	want(sv.Drawn == nil || sv.Times == nil, "Drawn and Times are both set: take one out")
	want(sv.Workers == 0 || sv.Serve != 0 || sv.times() != nil, "Serve is 0, so that none of its Workers is ever busy: say how long an answer takes, or clear Workers")
	want(sv.Full == 0 || fails(sv.Full), "Full is %q: say a class that fails", sv.Full)
	want(sv.Hint >= 0 && sv.Hint <= longestTime, "Hint is %v: it counts forward, up to a year (%v)", sv.Hint, longestTime)
	want(sv.Workers != 0 || sv.Full == 0 && sv.Hint == 0 && !sv.Leave, "Full, Hint and Leave are about a line of calls, and Workers is 0, which is any number: set Workers, or clear them")
	for _, o := range sv.schedule().Outages {
		want(o.Tool == sv.name(), "Outages: one is of %q, and the service is %q: leave its Tool empty", o.Tool, sv.name())
	}
	if q := sv.Quota; q != (Quota{}) {
		want(q.Tool == "" || q.Tool == sv.name(), "Quota is of %q, and the service is %q: leave its Tool empty", q.Tool, sv.name())
	}
	return errors.Join(errs...)
}

// name is the tool that the service stands behind; it may be Main.
func (sv *Service) name() string {
	if sv.Tool == "" {
		return Main
	}
	return sv.Tool
}

// full is how a call is refused that finds no place.
func (sv *Service) full() Fault {
	if sv.Full == 0 {
		return Fault{Class: trace.Transient, Hint: sv.Hint}
	}
	return Fault{Class: sv.Full, Hint: sv.Hint}
}

// schedule is the outages and the quota, as a schedule has them.
func (sv *Service) schedule() *Schedule {
	var s Schedule
	for _, o := range sv.Outages {
		if o.Tool == "" {
			o.Tool = sv.name()
		}
		s.Outages = append(s.Outages, o)
	}
	if q := sv.Quota; q != (Quota{}) {
		q.Tool = sv.name()
		s.Quotas = []Quota{q}
	}
	return &s
}

// bounded reports whether a call can find no place.
func (sv *Service) bounded() bool { return sv.Workers > 0 && sv.Queue >= 0 }
