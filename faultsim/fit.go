package faultsim

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// Fit makes a profile of recorded traces: how each tool failed, how long it took and
// which waits it asked for. Print it with %#v, and it is Go code for a test. What
// callers, processes and quotas did is no part of it.
//
// Of the failures, three models are compared by the Bayesian information criterion
// (Schwarz 1978): each attempt fails with the same chance ([Geometric] streaks), the
// chance depends on how many have failed in the action ([Frequencies]), or on whether
// the attempt before failed, also in an action before ([GilbertElliott], of whose
// chains Gilbert's simplest is fitted). Actions that ended in the middle of a streak
// count for as much as was seen. A share of two tools that fail together is not seen.
//
// Of the latencies, exponential, lognormal, Pareto and uniform distributions are
// compared by their greatest likelihood with Akaike's criterion (1974). Where the
// best is refused by the test of Kolmogorov and Smirnov at one in a hundred, the
// profile has the measured times instead, at most a hundred of their quantiles.
//
// Attempts whose caller left, or whose process died, are left out, and calls of
// another role than that of an attempt. It is an error where a tool has less than
// thirty attempts: leave its traces out, or record more.
func Fit(traces ...*trace.Trace) (Profile, error) {
	tools := map[string]*record{}
	for i, tr := range traces {
		if tr == nil {
			return Profile{}, fmt.Errorf("faultsim: fit: trace %d is nil: leave it out", i+1)
		}
		for _, r := range tools {
			r.row = append(r.row, rowPause)
		}
		gather(tools, tr)
	}
	if len(tools) == 0 {
		return Profile{}, fmt.Errorf("faultsim: fit: there is no attempt in %s: record calls of the tools", counted(len(traces), "trace"))
	}
	p := Profile{Tools: map[string]Behaviour{}}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(tools)) {
		r := tools[name]
		if n := r.attempts(); n < fewest {
			errs = append(errs, fmt.Errorf("faultsim: fit: %s has %d attempts, and %d are the fewest that tell something: record more, or leave its traces out", name, n, fewest))
			continue
		}
		p.Tools[name] = r.behaviour()
	}
	if err := errors.Join(errs...); err != nil {
		return Profile{}, err
	}
	return p, nil
}

// fewest is how many attempts tell something of a tool.
const fewest = 30

// A record is what the traces say of one tool.
type record struct {
	row       []byte // how its attempts ended, in their order, with the ends of actions and traces
	classes   Weights
	hangs     int
	partial   int
	doubtful  int                  // failures behind which the work may have been done
	lost      int                  // of those, in which it was
	hinting   map[trace.Class]bool // classes that have asked for a wait
	latencies []time.Duration
	hints     []time.Duration
}

// What stands in a row.
const (
	rowSuccess byte = iota
	rowFailure
	rowEnding // of an action: a streak begins anew behind it
	rowPause  // between two traces: no attempt is next to another
)

// gather files the attempts of a trace by their tools.
func gather(tools map[string]*record, tr *trace.Trace) {
	actions := tr.Actions()
	for i := range actions {
		done := map[int]bool{} // calls whose work was done
		for _, e := range actions[i].Effects {
			done[tr.Events[e].Call] = true
		}
		for k := range actions[i].Attempts {
			at := &actions[i].Attempts[k]
			if !at.Seen || at.Lost || at.Outcome.Class == trace.Cancelled || at.Outcome.Class == 0 {
				continue
			}
			r := tools[at.Tool]
			if r == nil {
				r = &record{classes: Weights{}, hinting: map[trace.Class]bool{}}
				tools[at.Tool] = r
			}
			r.note(at, done[at.Call])
		}
		for _, r := range tools {
			r.row = append(r.row, rowEnding)
		}
	}
}

// note files one attempt.
func (r *record) note(at *trace.Attempt, done bool) {
	hung := cutOff(at)
	if !hung {
		r.latencies = append(r.latencies, at.Answered-at.Begin)
	}
	if !at.Outcome.Failed() {
		r.row = append(r.row, rowSuccess)
		return
	}
	r.row = append(r.row, rowFailure)
	if at.Outcome.Effect == trace.EffectUnknown {
		r.doubtful++
		if done {
			r.lost++
		}
	}
	switch c := at.Outcome.Class; {
	case hung:
		r.hangs++
	case c == trace.Partial:
		r.partial++
	default:
		r.classes[c]++
		if slices.Contains(askers, c) && at.Outcome.Hint > 0 {
			r.hints = append(r.hints, at.Outcome.Hint)
			r.hinting[c] = true
		}
	}
}

// cutOff reports whether the attempt ended with its context, and not by an answer of
// the tool: how long that would have taken nobody knows.
func cutOff(at *trace.Attempt) bool {
	return at.Interrupted > 0 || at.AnswerEvent < 0 || at.Outcome.Class == trace.Timeout && at.Deadline > 0 && at.End >= at.Deadline
}

func (r *record) attempts() (n int) {
	for _, o := range r.row {
		if o == rowSuccess || o == rowFailure {
			n++
		}
	}
	return n
}

// behaviour is what the record comes to.
func (r *record) behaviour() Behaviour {
	var b Behaviour
	b.Streak, b.Burst = r.failures()
	failed := float64(r.hangs + r.partial)
	for _, w := range r.classes {
		failed += w
	}
	if len(r.classes) > 0 {
		b.Classes = r.classes
	}
	if failed > 0 {
		b.Hang = digits(float64(r.hangs) / failed)
		b.Partial = digits(float64(r.partial) / failed)
	}
	if r.lost > 0 {
		b.Lost = digits(float64(r.lost) / float64(r.doubtful))
	}
	b.Latency = fitTimes(r.latencies)
	if len(r.hints) > 0 {
		could := 0.0 // failures of the classes that do so at all
		for c := range r.hinting {
			could += r.classes[c]
		}
		b.Hint = Hints{Share: digits(float64(len(r.hints)) / could), Wait: measured(r.hints)}
		silent := func(c trace.Class) bool { return r.classes[c] > 0 && !r.hinting[c] }
		if slices.ContainsFunc(askers, silent) {
			b.Hint.Classes = slices.Sorted(maps.Keys(r.hinting))
		}
	}
	return b
}

// failures chooses between the models of which attempts fail. It is nothing where
// none did.
func (r *record) failures() (Distribution[int], GilbertElliott) {
	var overall odds
	var after [2]odds // a success, a failure
	byPlace := []odds{{}}
	place, last := 0, rowPause
	for _, o := range r.row {
		switch o {
		case rowEnding:
			place = 0
		case rowPause:
			last, place = rowPause, 0
		default:
			failed := o == rowFailure
			overall.note(failed)
			if last != rowPause {
				after[last].note(failed)
			}
			byPlace[place].note(failed)
			if last, place = o, place+1; !failed {
				place = 0
			}
			if place == len(byPlace) {
				byPlace = append(byPlace, odds{})
			}
		}
	}
	if overall.failed == 0 {
		return nil, GilbertElliott{}
	}
	n := overall.all()
	same := criterion(1, n, overall.likelihood())
	// The first attempt of a trace says nothing of a chain, and counts alike in both.
	gain := after[rowSuccess].likelihood() + after[rowFailure].likelihood() - after[rowSuccess].and(after[rowFailure]).likelihood()
	chain := criterion(2, n, overall.likelihood()+gain)
	places := 0.0
	for _, o := range byPlace {
		places += o.likelihood()
	}
	free := criterion(float64(len(byPlace)), n, places)
	switch {
	case chain < same && chain < free && after[rowSuccess].failed > 0 && after[rowFailure].succeeded > 0:
		return nil, GilbertElliott{ToBad: digits(after[rowSuccess].share()), ToGood: remainder(after[rowFailure].share()), Bad: 1}
	case free < same || overall.succeeded == 0:
		return lengths(byPlace), GilbertElliott{}
	}
	return Geometric(remainder(overall.share())), GilbertElliott{}
}

// lengths is the distribution of streaks in which the chance to fail depends on the
// place. A streak whose end nobody has seen ends where it was last seen.
func lengths(byPlace []odds) Distribution[int] {
	weights, left := []float64{}, 1.0
	for _, o := range byPlace {
		if o.all() == 0 {
			break
		}
		weights = append(weights, digits(left*(1-o.share())))
		left *= o.share()
	}
	if left > 0 {
		weights = append(weights, digits(left))
	}
	return Frequencies(weights...)
}

// odds are attempts that failed, and others that did not.
type odds struct{ failed, succeeded float64 }

func (o *odds) note(failed bool) {
	if failed {
		o.failed++
	} else {
		o.succeeded++
	}
}

func (o odds) and(p odds) odds { return odds{o.failed + p.failed, o.succeeded + p.succeeded} }
func (o odds) all() float64    { return o.failed + o.succeeded }
func (o odds) share() float64  { return o.failed / max(o.all(), 1) }

// likelihood is the greatest log-likelihood of a constant chance.
func (o odds) likelihood() float64 {
	sum := 0.0
	for _, k := range [...]float64{o.failed, o.succeeded} {
		if k > 0 {
			sum += k * math.Log(k/o.all())
		}
	}
	return sum
}

// criterion is Schwarz's: the smaller is the better.
func criterion(parameters, n, likelihood float64) float64 {
	return parameters*math.Log(n) - 2*likelihood
}

// digits is x with three digits: no more are known, and no more are read.
func digits(x float64) float64 {
	if x == 0 {
		return 0
	}
	unit := threeDigits(x)
	return math.Round(x*unit) / unit
}

// remainder is what a share leaves of 1, with three digits of the smaller of both: so
// what is rare is not rounded away.
func remainder(share float64) float64 {
	rest := 1 - share
	if share == 0 || rest == 0 {
		return rest
	}
	unit := threeDigits(min(share, rest))
	return math.Round(rest*unit) / unit
}

// threeDigits is the power of ten that leaves x with three digits before the point.
func threeDigits(x float64) float64 { return math.Pow(10, 2-math.Floor(math.Log10(math.Abs(x)))) }

// digitsOf is the time with three digits.
func digitsOf(d time.Duration) time.Duration {
	unit := time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit)
}
