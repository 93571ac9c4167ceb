package faultsim

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/rehearse-go/rehearse/internal/double"
	"github.com/rehearse-go/rehearse/trace"
)

// A reception brings the calls of a trial to its [Service], in virtual time. What
// arrives is looked at a nanosecond later, when all that comes at the same instant
// is there: so chance, which orders the goroutines of one instant, orders nothing.
type reception struct {
	tool  string // its name on the stage
	full  Fault
	leave bool
	begin time.Time // of the first agent

	mu      sync.Mutex
	st      station
	climate climate
	arrived []*customer // and not yet looked at, in the order of their instants
	timer   *time.Timer
	due     time.Duration // when the timer fires; 0: it does not
	idle    time.Duration // sum of the times in which it had nobody to serve, up to the latest call
	empty   time.Duration // from when on it has nobody; negative: it has somebody

	refused, throttled, down, left, wasted int
}

// newReception opens the service; wrong is told of mistakes of the service's own.
func newReception(sv *Service, tool string, seed uint64, wrong func(error) error) *reception {
	r := &reception{tool: tool, full: sv.full(), leave: sv.Leave, begin: time.Now()}
	random, serve := rand.New(rand.NewPCG(seed, 2)), sv.Serve
	times := func(int) time.Duration { return serve }
	if sv.times() != nil {
		times = func(waiting int) time.Duration {
			d, err := sv.takes(random, waiting)
			_ = wrong(err)
			return d
		}
	}
	r.st = station{workers: sv.Workers, room: sv.Queue, times: r.inTime(times, wrong)}
	r.climate = climate{s: sv.schedule()}
	return r
}

// longestLine is well before the end of virtual time, which stands still there.
const longestLine = 100 * longestTime

// inTime is the times of the workers up to a century. A line that takes longer is the
// service's own mistake, and is worked off at once.
func (r *reception) inTime(times func(int) time.Duration, wrong func(error) error) func(int) time.Duration {
	told := false
	return func(waiting int) time.Duration {
		if r.now() <= longestLine {
			return times(waiting)
		}
		if !told {
			told = true
			_ = wrong(fmt.Errorf("fleet: Service is still at work after a century (%v), with %s in line: let a call take less time, set more Workers or a shorter Queue, or take fewer Agents", longestLine, counted(waiting, "call")))
		}
		return 0
	}
}

func (r *reception) now() time.Duration { return time.Since(r.begin) }

// visit brings one call to the service and waits for its answer, or until ctx ends,
// and returns how its end reads. A call that is refused gets the refusal as its
// fault; one that hangs by its plan reaches no worker.
func (r *reception) visit(ctx context.Context, place int, f *Fault) (v *customer, ended trace.Class) {
	switch {
	case f.Hang:
		return nil, 0
	case ctx.Err() != nil && !f.Deaf:
		return nil, double.Ended(ctx)
	}
	v = &customer{place: place, answered: make(chan struct{})}
	r.arrives(v)
	gone := ctx.Done()
	if f.Deaf {
		gone = nil
	}
	select {
	case <-v.answered:
	case <-gone:
		if r.quits(v) {
			return v, double.Ended(ctx)
		}
	}
	if v.refusal != (Fault{}) {
		*f = f.despite(v.refusal)
	}
	return v, 0
}

func (r *reception) arrives(v *customer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v.at = r.now()
	if r.empty >= 0 {
		r.idle, r.empty = r.idle+v.at-r.empty, -1
	}
	r.arrived = append(r.arrived, v)
	if len(r.arrived) == 1 {
		time.AfterFunc(1, r.wake)
	}
}

// wake looks at what has arrived, and answers what is due.
func (r *reception) wake() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.goOn()
}

// goOn brings the service to the present: what arrived before now is let in or
// refused, and what is over is answered. r.mu is held.
func (r *reception) goOn() {
	now := r.now()
	n := 0
	for n < len(r.arrived) && r.arrived[n].at < now {
		n++
	}
	due := r.arrived[:n]
	slices.SortStableFunc(due, func(a, b *customer) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.place, b.place))
	})
	for _, v := range due {
		r.receive(v)
	}
	if n > 0 {
		if r.arrived = append(r.arrived[:0], r.arrived[n:]...); len(r.arrived) > 0 {
			time.AfterFunc(1, r.wake)
		}
	}
	r.st.until(now)
	r.wakeAt(now)
	if r.empty < 0 && len(r.arrived) == 0 && len(r.st.busy) == 0 {
		r.empty = now
	}
}

// idled is for how long the service has had nobody to serve up to now, all in all.
func (r *reception) idled() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.empty < 0 {
		return r.idle
	}
	return r.idle + r.now() - r.empty
}

// taken is for how long the service has somebody to serve in any case.
func (r *reception) taken() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.st.busy) == 0 {
		return 0
	}
	return max(0, r.st.busy[0].end-r.now())
}

// wakeAt sets the timer for the next answer.
func (r *reception) wakeAt(now time.Duration) {
	if len(r.st.busy) == 0 || r.st.busy[0].end == r.due {
		return
	}
	r.due = r.st.busy[0].end
	if r.timer == nil {
		r.timer = time.AfterFunc(r.due-now, r.wake)
		return
	}
	r.timer.Reset(r.due - now)
}

// receive lets one call in, or refuses it.
func (r *reception) receive(v *customer) {
	if v.out {
		return
	}
	any := func(string) bool { return true }
	switch f, down := r.climate.faultAt(v.at, any, Fault{}); {
	case f.Hint > 0:
		r.throttled++
		v.refusal = f
	case down:
		r.down++
		v.refusal = f
	case r.st.admit(v, v.at):
		if v.left {
			r.wasted++
		}
		return
	default:
		r.refused++
		v.refusal = r.full
	}
	v.answer()
}

// quits notes that the caller has given up, and reports whether it has: not where
// the answer comes at that very instant.
func (r *reception) quits(v *customer) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.goOn()
	if v.over {
		return false
	}
	r.left++
	v.left = true
	switch {
	case v.number == 0 && r.leave && v.at < r.now():
		r.st.withdraw(v)
	case v.number == 0 && r.leave:
		v.out = true
	case v.at < r.now():
		r.wasted++
	}
	return true
}

// reception is that of the tool's service; nil: there is none.
func (s *Stage) reception(t *tool) *reception {
	if c := s.crowd; c != nil {
		if r := c.reception.Load(); r != nil && r.tool == t.name {
			return r
		}
	}
	return nil
}

// worksOn reports whether the service may do the work of a call whose caller has
// given up: unless it is refused, once it is answered.
func (v *customer) worksOn(f *Fault) bool {
	return v != nil && !v.out && (f.class() == trace.OK || f.works())
}
