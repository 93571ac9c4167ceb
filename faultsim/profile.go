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

// A Profile says how often what goes wrong, as measured or as assumed: with one,
// [Check] draws its schedules by it, all of them. Without, it looks for boundaries,
// which finds most faults soonest; a profile is for the question how code behaves in
// the weather that it really has. [Fit] makes one of recorded traces.
//
// What a profile leaves zero does not happen. No time that is drawn is longer than a
// quarter of a year. A Profile is only read, and may be shared.
type Profile struct {
	// Tools is how each tool behaves, by its name, models on the stage included;
	// [Main] is the adapter's first. A tool that is not here answers at once.
	Tools map[string]Behaviour

	// Actions is how many actions a trial has, a dozen at most. Nil: one, or, of a
	// tool under test, two to five calls.
	Actions Distribution[int]

	// AtOnce is the share of the trials of several actions in which they run at
	// once. It needs Actions, unless a tool is under test.
	AtOnce float64

	// Pause is the time before each action but the first.
	Pause Distribution[time.Duration]

	// Deadline is the caller's deadline, from the action's begin. Nil, and where 0
	// is drawn: none.
	Deadline Distribution[time.Duration]

	// Cancel is when callers leave.
	Cancel Cancels

	// Restart is how often the process of the code under test dies. It needs the
	// adapter's Resume.
	Restart Restarts

	// Swarm: in half of the trials each kind of fault is off with the chance of a
	// half, so that the shares above hold for those that are on; see Groce et al.,
	// Swarm Testing (ISSTA 2012).
	Swarm bool
}

// A Behaviour is how one tool behaves.
type Behaviour struct {
	// Streak is how many attempts in a row fail as an action begins, or as it asks
	// for the next page; 256 at most. Behind them one is answered. What the fields
	// below say of failures needs it, or Burst.
	Streak Distribution[int]

	// Burst is in place of Streak: whether an attempt fails depends on a state that
	// outlasts the action. Zero: there is none.
	Burst GilbertElliott

	// Classes weighs the failures. Nil: all that the tool can answer with, alike.
	Classes Weights

	// Hang is the share of failures that never come: the caller sees a timeout.
	Hang float64

	// Lost is the share of those failures that leave the caller in doubt, such as a
	// timeout or a reset, in which the tool has done its work.
	Lost float64

	// Latency is the time until an answer, of failures and of successes. It is
	// played in tenths of a microsecond, and 70 ns: see the package documentation on
	// ties.
	Latency Distribution[time.Duration]

	// Hint is how answers ask for a wait.
	Hint Hints

	// Partial is the share of the failures of a batch that are of single items.
	Partial float64

	// Outage is when the tool is down.
	Outage Downtimes

	// Quota and Bucket are what the tool grants; their Tool is this one, and is left
	// empty. Zero: whatever is asked.
	Quota  Quota
	Bucket Bucket
}

// Weights are classes of failures, each as often as its weight says among the others.
type Weights map[trace.Class]float64

// Hints are the waits that answers ask for.
type Hints struct {
	Share   float64                     // of the failures of Classes
	Classes []trace.Class               // that ask; nil: throttled and transient, the only ones that can
	Wait    Distribution[time.Duration] // whole seconds unless the form is HintMillis; nil: a second
	Forms   []HintForm                  // each as often as the others; nil: all that the tool has
}

// asks reports whether failures of the class do.
func (h *Hints) asks(c trace.Class) bool {
	if h.Classes == nil {
		return slices.Contains(askers, c)
	}
	return slices.Contains(h.Classes, c)
}

// Downtimes are outages of a tool, one in a trial.
type Downtimes struct {
	Share  float64                     // of the trials
	Begin  Distribution[time.Duration] // from the first action's begin; nil: at once
	Length Distribution[time.Duration]

	// Recovery is how long the tool takes to come back: it is up and down in turn,
	// for eighths of the time, and down in fewer of them towards the end. Nil: it is
	// back at once.
	Recovery Distribution[time.Duration]

	Class trace.Class // of the answers; zero: the plainest failure of the tool
}

// Restarts are deaths of the process, one in an action.
type Restarts struct {
	Share float64                     // of the actions in turn
	Down  Distribution[time.Duration] // until the next one begins; nil: a second
}

// A Moment is a phase of an action in which its caller can leave. Of an attempt it is
// one of the main tool's that has the phase: one that answers at once has no flight,
// and the last one no wait.
type Moment string

const (
	MomentBefore   Moment = "before"    // the action begins
	MomentInFlight Moment = "in-flight" // evenly between the arrival of an attempt and its answer
	MomentAtAnswer Moment = "at-answer" // a nanosecond before or after an answer
	MomentInWait   Moment = "in-wait"   // evenly in the longest wait behind an answer
	MomentAtNext   Moment = "at-next"   // a nanosecond before or after the end of that wait
	MomentAnywhere Moment = "anywhere"  // evenly over the time that the action takes with what is drawn of its tools, where each wait is the longest
)

// Moments are all of them.
func Moments() []Moment {
	return []Moment{MomentBefore, MomentInFlight, MomentAtAnswer, MomentInWait, MomentAtNext, MomentAnywhere}
}

// Cancels are callers that leave.
type Cancels struct {
	// Share is of the actions. Where one has none of the moments in When, such as a
	// wait where nothing fails, its caller stays: then it is the share of those that
	// have one.
	Share float64
	When  []Moment // each that the action has as often as the others; nil: all of them

	// At is in place of When: the time from the action's begin.
	At Distribution[time.Duration]
}

// MostActions is how many actions a trial of a [Profile] has at most.
const MostActions = breakerActions

// Validate reports what makes the profile unusable. Whether its tools are on the
// stage, and can fail as it says, is seen by [Check].
func (p *Profile) Validate() error {
	errs := []error{
		field("Actions", valid(p.Actions)), playableActions(p.Actions), share("AtOnce", p.AtOnce), field("Pause", valid(p.Pause)), field("Deadline", valid(p.Deadline)),
		share("Cancel.Share", p.Cancel.Share), field("Cancel.At", valid(p.Cancel.At)),
		share("Restart.Share", p.Restart.Share), field("Restart.Down", valid(p.Restart.Down)),
	}
	for _, m := range p.Cancel.When {
		if !slices.Contains(Moments(), m) {
			errs = append(errs, fmt.Errorf("Cancel.When has %q: say some of %q", m, Moments()))
		}
	}
	if p.Cancel.At != nil && len(p.Cancel.When) > 0 {
		errs = append(errs, errors.New("Cancel has an At and a When: take one out"))
	}
	for _, name := range slices.Sorted(maps.Keys(p.Tools)) {
		b := p.Tools[name]
		if err := b.validate(); err != nil {
			errs = append(errs, fmt.Errorf("Tools[%q]: %w", name, err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	return nil
}

func (b *Behaviour) validate() error {
	errs := []error{
		field("Streak", valid(b.Streak)), field("Burst", b.Burst.Validate()), share("Hang", b.Hang), share("Lost", b.Lost),
		field("Latency", valid(b.Latency)), share("Hint.Share", b.Hint.Share), field("Hint.Wait", valid(b.Hint.Wait)), share("Partial", b.Partial),
		share("Outage.Share", b.Outage.Share), field("Outage.Begin", valid(b.Outage.Begin)), field("Outage.Length", valid(b.Outage.Length)), field("Outage.Recovery", valid(b.Outage.Recovery)),
	}
	if b.Streak != nil && b.Burst != (GilbertElliott{}) {
		errs = append(errs, errors.New("there is a Streak and a Burst: take one out, since both say which attempts fail"))
	}
	total := 0.0
	for _, c := range slices.Sorted(maps.Keys(b.Classes)) {
		w := b.Classes[c]
		if total += w; !fails(c) || c == trace.Cancelled {
			errs = append(errs, fmt.Errorf("Classes lists %v, which is no failure of a tool: take it out", c))
		}
		if !(w >= 0) || math.IsInf(w, 0) {
			errs = append(errs, fmt.Errorf("Classes[%v] is %v: a weight is a number of 0 or more", c, w))
		}
	}
	if b.Classes != nil && !(total > 0) {
		errs = append(errs, errors.New("Classes has no weight above 0: give one, or leave Classes nil for all failures alike"))
	}
	if math.IsInf(total, 0) {
		errs = append(errs, fmt.Errorf("Classes has weights that come to %v: give smaller ones", total))
	}
	for _, f := range b.Hint.Forms {
		if !slices.Contains(hintForms, f) {
			errs = append(errs, fmt.Errorf("Hint.Forms has %q: say HintSeconds, HintDate, HintSkewed or HintMillis", f))
		}
	}
	for _, c := range b.Hint.Classes {
		if !slices.Contains(askers, c) {
			errs = append(errs, fmt.Errorf("Hint.Classes lists %v, which asks for no wait: say some of %v", c, askers))
		}
	}
	if b.Outage.Share > 0 && b.Outage.Length == nil {
		errs = append(errs, errors.New("Outage has a Share and no Length: say how long it is"))
	}
	if c := b.Outage.Class; c != 0 && !fails(c) {
		errs = append(errs, fmt.Errorf("Outage.Class is %v: say a class that fails", c))
	}
	if q := (Quota{Main, b.Quota.N, b.Quota.Per}); b.Quota != (Quota{}) {
		errs = append(errs, field("Quota", errors.Join(q.validate(), unnamed(b.Quota.Tool))))
	}
	if k := (Bucket{Main, b.Bucket.Burst, b.Bucket.Every}); b.Bucket != (Bucket{}) {
		errs = append(errs, field("Bucket", errors.Join(k.validate(), unnamed(b.Bucket.Tool))))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return b.idle()
}

// idle reports fields about failures where none is drawn: such a profile finds nothing.
func (b *Behaviour) idle() error {
	if b.Streak != nil || b.Burst != (GilbertElliott{}) {
		return nil
	}
	for _, d := range [...]struct {
		field string
		set   bool
	}{{"Classes", b.Classes != nil}, {"Hang", b.Hang > 0}, {"Lost", b.Lost > 0}, {"Partial", b.Partial > 0}} {
		if d.set {
			return fmt.Errorf("%s is about failures, and Streak and Burst are missing, so that no attempt fails: say how many do, such as Streak: Geometric(0.5)", d.field)
		}
	}
	return nil
}

// validateProfile reports what makes the adapter's Profile unusable, as far as it shows
// before the stage is built.
func (a *Adapter) validateProfile() error {
	p := a.Profile
	if p == nil {
		return nil
	}
	err := p.Validate()
	if err == nil && p.AtOnce > 0 && p.Actions == nil && a.served == nil {
		err = fmt.Errorf("profile: AtOnce is %v, and Actions is missing, so that each trial has one action: say how many there are, such as Even(2, 4)", p.AtOnce)
	}
	if err != nil {
		return fmt.Errorf("adapter %q: %w", a.Name, err)
	}
	return nil
}

// playableActions reports a number of actions that no trial has.
func playableActions(d Distribution[int]) error {
	if d == nil || valid(d) != nil { // the latter is said elsewhere
		return nil
	}
	switch least, most := d.Quantile(0), d.Quantile(1-1.0/(1<<fractionBits)); {
	case most < 1:
		return fmt.Errorf("Actions is %d in each trial, which has one at least: say 1 to %d, or leave it nil", most, MostActions)
	case least > MostActions:
		return fmt.Errorf("Actions is %d or more, and a trial has %d at most: say less", least, MostActions)
	}
	return nil
}

func unnamed(tool string) error {
	if tool != "" {
		return fmt.Errorf("its Tool is %q: leave it empty, since it is that of the behaviour", tool)
	}
	return nil
}

// field puts the name of a field before what is wrong with it.
func field(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", name, err)
}
