package faultsim

import (
	"fmt"
	"math/bits"
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// labels are those of rehearse's own that one trial has met: a bit for each.
type labels uint64

// The bits of labels. Those of streaks come first, those of ends last.
const (
	labelStreak = iota // and those behind it, one for each of streaks
	_
	_
	_
	_
	_
	_
	_
	_
	_
	_
	_
	_
	labelCancelBefore
	labelCancelFlight
	labelCancelBackoff
	labelCancelBeside
	labelDeadlineFlight
	labelDeadlineBackoff
	labelHintBelow
	labelHintAbove
	labelHintLimit
	labelHintDeadline
	labelTimeout
	labelLost
	labelInTurn
	labelAtOnce
	labelOutage
	labelQuota
	labelBucket
	labelCrash
	labelDrain
	labelHandback
	labelAgain
	labelHit
	labelEnd  // and those behind it, one for each trace.Reason
	allLabels = labelEnd + int(trace.ReasonEscalated)
)

// streaks are the lengths of streaks that have a label.
var streaks = [labelCancelBefore]int{1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64, 256, 1024}

// labelNames are the names of rehearse's own labels, by bit. The first word is the
// group.
var labelNames = func() (names [allLabels]string) {
	for i, n := range streaks {
		names[labelStreak+i] = fmt.Sprintf("streak %d", n)
	}
	for label, name := range map[int]string{
		labelCancelBefore:    "cancel before the first call",
		labelCancelFlight:    "cancel in flight",
		labelCancelBackoff:   "cancel in backoff",
		labelCancelBeside:    "cancel beside an answer",
		labelDeadlineFlight:  "deadline in flight",
		labelDeadlineBackoff: "deadline in backoff",
		labelHintBelow:       "hint below the backoff",
		labelHintAbove:       "hint above the backoff",
		labelHintLimit:       "hint above the limit",
		labelHintDeadline:    "hint beyond the deadline",
		labelTimeout:         "attempt timeout",
		labelLost:            "attempt whose reply is lost",
		labelInTurn:          "actions in turn",
		labelAtOnce:          "actions at once",
		labelOutage:          "outage met",
		labelQuota:           "quota used up",
		labelBucket:          "bucket used up",
		labelCrash:           "process crash",
		labelDrain:           "process drain",
		labelHandback:        "process handback",
		labelAgain:           "actions again",
		labelHit:             "actions served from a cache",
	} {
		names[label] = name
	}
	for r := trace.ReasonSuccess; r <= trace.ReasonEscalated; r++ {
		names[endLabel(r)] = "end " + r.String()
	}
	return names
}()

// endLabel is the label of an end for that reason.
func endLabel(r trace.Reason) int { return labelEnd + int(r) - 1 }

// A reading reads the labels off a trial.
type reading struct {
	a   *Adapter
	s   *Schedule
	n   int // the action's place in it
	met labels
}

func (r *reading) see(label int, when bool) {
	if when {
		r.met |= 1 << label
	}
}

// labelsOf are rehearse's own labels that the trial has met. Most are read from the
// trace: what was planned and never came to pass has none.
func (x *trial) labelsOf(tr *trace.Trace) labels {
	r := reading{a: x.a, s: x.s}
	actions := tr.Actions()
	several := len(actions) > 1 && len(x.s.Actions) > 1
	r.see(labelAtOnce, several && x.s.AtOnce)
	r.see(labelInTurn, several && !x.s.AtOnce)
	r.see(labelOutage, x.stage.climate.down)
	r.see(labelQuota, x.stage.climate.over)
	r.see(labelBucket, x.stage.climate.empty)
	for r.n = range actions {
		r.action(tr, &actions[r.n])
	}
	return r.met
}

func (r *reading) action(tr *trace.Trace, a *trace.Action) {
	r.see(labelAgain, a.Again != 0)
	r.see(labelHit, len(a.Hits) > 0)
	r.see(labelDrain, len(a.Drains) > 0)
	for i := range a.Restarts {
		r.see(labelHandback, a.Restarts[i].HandedBack)
		r.see(labelCrash, !a.Restarts[i].HandedBack)
	}
	for i := range a.Series {
		r.streak(a.Series[i].Attempts)
	}
	if r.a.served != nil {
		return // who cancels, and whose time it is, is for those below to say
	}
	for i := range a.Attempts {
		r.attempt(a, &a.Attempts[i])
	}
	for _, e := range a.Effects {
		r.effect(a, tr.Events[e].Call)
	}
	if a.Cancelled() {
		r.cancel(a)
	}
	if r.a.Loop == nil && a.Ended {
		r.end(a)
	}
}

// streak reads the longest row of failures in a series.
func (r *reading) streak(attempts []trace.Attempt) {
	row, longest := 0, 0
	for i := range attempts {
		if row++; !attempts[i].Seen || !attempts[i].Outcome.Failed() {
			row = 0
		}
		longest = max(longest, row)
	}
	for i, n := range streaks {
		r.see(labelStreak+i, longest >= n)
	}
}

func (r *reading) attempt(a *trace.Action, at *trace.Attempt) {
	o := &at.Outcome
	own := a.Deadline == 0 || at.Deadline != 0 && at.Deadline < a.Deadline
	r.see(labelTimeout, own && o.Class == trace.Timeout && at.Deadline != 0 && at.End >= at.Deadline)
	r.see(labelDeadlineFlight, a.Deadline != 0 && at.Begin < a.Deadline && at.Seen && at.End >= a.Deadline)
	if o.Hint == 0 || !at.Seen {
		return
	}
	p := r.a.Policy.Of(at.Tool)
	lo, hi := p.Backoff.Window(at.N, 0)
	r.see(labelHintBelow, o.Hint < lo)
	r.see(labelHintAbove, o.Hint > hi)
	r.see(labelHintLimit, p.Hint.Limit > 0 && o.Hint > p.Hint.Limit)
	r.see(labelHintDeadline, a.Deadline != 0 && at.End+o.Hint > a.Deadline)
}

// effect reads what the caller saw of a call that has done its work.
func (r *reading) effect(a *trace.Action, call int) {
	for i := range a.Attempts {
		if at := &a.Attempts[i]; at.Call == call {
			r.see(labelLost, at.Seen && at.Outcome.Failed() && at.Outcome.Class != trace.Partial)
		}
	}
}

// cancel reads where the caller's cancel fell.
func (r *reading) cancel(a *trace.Action) {
	before, flight, failed := true, false, false
	for i := range a.Attempts {
		at := &a.Attempts[i]
		if at.Event > a.CancelAt {
			continue
		}
		before = false
		flight = flight || at.Begin < a.Cancel && (!at.Seen || at.End >= a.Cancel)
		failed = failed || at.Seen && at.End < a.Cancel && at.Outcome.Failed()
		answered := at.Answered
		if at.Answer.Class == trace.Cancelled { // the answer was to come then
			answered = at.Begin + r.planned(a, i).takes()
		}
		r.see(labelCancelBeside, at.AnswerEvent >= 0 && (answered-a.Cancel).Abs() <= time.Nanosecond)
	}
	r.see(labelCancelBefore, before)
	r.see(labelCancelFlight, flight)
	r.see(labelCancelBackoff, failed && !flight)
}

// planned is the fault of the action's attempt i, as far as it is of the schedule.
func (r *reading) planned(a *trace.Action, i int) (f *Fault) {
	tool, n := a.Attempts[i].Tool, 0
	for j := range a.Attempts[:i] {
		if a.Attempts[j].Tool == tool {
			n++
		}
	}
	if r.n < len(r.s.Actions) {
		if faults := r.s.Actions[r.n].Faults[tool]; n < len(faults) {
			return &faults[n]
		}
	}
	return new(Fault)
}

// end reads why the action ended, by the policy.
func (r *reading) end(a *trace.Action) {
	why := r.a.Policy.Terminal(a)
	if said := a.Reason; said == trace.ReasonBreakerOpen || said == trace.ReasonBudget || said == trace.ReasonEscalated {
		why = said // which the policy cannot know
	}
	if why == 0 {
		return
	}
	r.see(endLabel(why), true)
	if why != trace.ReasonDeadline || len(a.Attempts) == 0 {
		return
	}
	last := &a.Attempts[len(a.Attempts)-1]
	r.see(labelDeadlineBackoff, a.Deadline != 0 && last.Seen && last.End < a.Deadline)
}

// each yields the bits that are set.
func (l labels) each(yield func(label int) bool) {
	for ; l != 0; l &= l - 1 {
		if !yield(bits.TrailingZeros64(uint64(l))) {
			return
		}
	}
}
