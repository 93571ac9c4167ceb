package matrix

import (
	"slices"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/trace"
)

// loopRows are about a loop that a model drives: what it makes of failures of its
// tools and its model, and of a model that misbehaves. Each is held to the rules.
func loopRows() []Row {
	return []Row{
		{Name: "loop-undisturbed", Proves: "A run that nothing disturbs ends, and breaks no rule.", Schedule: Fixed(faultsim.One())},
		{Name: "loop-tool-fails", Proves: "A failure of a tool reaches the model as one, or is retried in code, and is never hidden.", Schedule: loop{tool: downFor(1)}.schedule},
		{Name: "loop-tool-down", Proves: "While a tool is down the run ends, and its user is told the truth.", Schedule: loop{tool: downFor(16)}.schedule},
		{Name: "loop-refusal-asked-again", Proves: "A refusal is final, also where the model asks again.", Schedule: loop{tool: refusing, model: from(2, move(faultsim.MoveStubborn))}.schedule},
		{Name: "loop-failure-asked-again", Proves: "A model that asks again and again does not begin the attempts anew.", Schedule: loop{tool: downFor(64), model: from(2, move(faultsim.MoveStubborn))}.schedule},
		{Name: "loop-success-asked-again", Proves: "What has been done is not done again because the model asks for it.", Schedule: loop{model: from(2, move(faultsim.MoveAgain))}.schedule},
		{Name: "loop-without-end", Proves: "A run has an end, also where the model never comes to one.", Schedule: loop{model: from(2, move(faultsim.MoveStubborn))}.schedule},
		{Name: "loop-garbled-arguments", Proves: "Arguments that cannot be read run nothing, and the model is told.", Schedule: loop{model: from(1, move(faultsim.MoveGarble))}.schedule},
		{Name: "loop-cut-off-arguments", Proves: "A call within which the model was cut off is not carried out.", Schedule: loop{model: from(1, move(faultsim.MoveLength))}.schedule},
		{Name: "loop-unknown-tool", Proves: "A tool that does not exist runs nothing, and the model is told.", Schedule: loop{model: from(1, move(faultsim.MoveInvent))}.schedule},
		{Name: "loop-many-calls", Proves: "Of several calls in one turn each gets its own result.", Schedule: loop{model: from(1, move(faultsim.MoveMany))}.schedule},
		{Name: "loop-sibling-fails", Proves: "A call that fails takes the results of the others beside it with it in no way.", Schedule: loop{tool: downFor(1), model: from(1, move(faultsim.MoveMany))}.schedule},
		{Name: "loop-twin-ids", Proves: "Two calls under one id get a result each.", Schedule: loop{model: from(1, move(faultsim.MoveTwin))}.schedule},
		{Name: "loop-no-ids", Proves: "A call without an id gets its result.", Schedule: loop{model: from(1, move(faultsim.MoveAnonymous))}.schedule},
		{Name: "loop-chat-before-call", Proves: "Words before a call neither replace it nor get lost.", Schedule: loop{model: from(1, move(faultsim.MoveChat))}.schedule},
		{Name: "loop-silent-model", Proves: "A model that says nothing is no success and no reason to go on for ever.", Schedule: loop{model: from(2, move(faultsim.MoveSilent))}.schedule},
		{Name: "loop-model-refuses", Proves: "A provider that refuses to answer ends the run as what it is.", Schedule: loop{model: from(1, move(faultsim.MoveFilter))}.schedule},
		{Name: "loop-early-claim", Proves: "A success that the model claims before there is one is not told to the user.", Schedule: loop{model: from(1, move(faultsim.MoveClaim))}.schedule},
		{Name: "loop-claim-after-failure", Proves: "A success that the model claims after a failure is not told to the user.", Schedule: loop{tool: refusing, model: from(2, move(faultsim.MoveClaim))}.schedule},
		{Name: "loop-arguments-changed", Proves: "What the model may not change stays as it was after a failure.", Schedule: loop{tool: downFor(16), model: from(2, move(faultsim.MoveChange))}.schedule},
		{Name: "loop-order-in-an-error", Proves: "An order in the words of an error is data, whatever the model makes of it.", Schedule: loop{tool: ordering, model: from(2, move(faultsim.MoveObey))}.schedule},
		{Name: "loop-other-tool", Proves: "In an outage no tool is called that the run may not use.", Schedule: loop{tool: downFor(16), model: from(2, move(faultsim.MoveOther))}.schedule},
		{Name: "loop-secret-in-an-error", Proves: "A secret in the words of an error does not reach the user.", Schedule: loop{tool: leaking, model: from(2, move(faultsim.MoveParrot))}.schedule},
		{Name: "loop-model-throttled", Proves: "A throttled model is asked again as its policy says.", Schedule: modelThrottled},
		{Name: "loop-model-fails-later", Proves: "A failure of the model behind a tool's work loses none of it.", Schedule: loop{model: from(2, faultsim.Fail(trace.Transient))}.schedule},
		{Name: "loop-model-down", Proves: "A model that is down ends the run, and is not asked without end.", Schedule: loop{model: slices.Repeat([]faultsim.Fault{faultsim.Fail(trace.Transient)}, 16)}.schedule},
		{Name: "loop-model-rejects", Proves: "A request that the provider rejects is not sent again as it was.", Schedule: loop{model: from(1, faultsim.Fail(trace.Invalid))}.schedule},
		{Name: "loop-model-hangs", Proves: "A model that never answers holds nobody up for ever.", Schedule: loop{model: from(1, faultsim.Fault{Hang: true}), bounded: true}.schedule},
		{Name: "loop-cancel-in-tool", Proves: "A cancel while a tool is at work ends the run there.", Schedule: loop{tool: lasting(time.Second), cancel: 500*time.Millisecond + 3}.schedule},
		{Name: "loop-cancel-in-turn", Proves: "A cancel while the model is at work ends the run there.", Schedule: loop{model: from(2, faultsim.Fault{Latency: time.Second}), cancel: 500*time.Millisecond + 3}.schedule},
		{Name: "loop-new-request", Proves: "A new request ends the one before it, and nothing of that acts later.", Schedule: newRequest},
		{Name: "loop-deadline", Proves: "At the caller's deadline the run is over.", Schedule: loop{tool: lasting(2 * time.Second), deadline: time.Second + 3}.schedule},
	}
}

// goalRows are about failures of the tool whose success is what the user wants, where
// that is another than the main one, which comes before it.
func goalRows() []Row {
	return []Row{
		{Name: "goal-fails", Proves: "A failure of what the user wants is tried again as declared, with its key.", Schedule: loop{goal: true, tool: downFor(1)}.schedule},
		{Name: "goal-down", Proves: "What the user wants cannot be had, is not replaced by something else, and the user is told.", Schedule: loop{goal: true, tool: downFor(64), model: later(move(faultsim.MoveOther))}.schedule},
		{Name: "goal-failure-asked-again", Proves: "A model that asks again for what the user wants begins neither attempts nor key anew.", Schedule: loop{goal: true, tool: downFor(4), model: later(move(faultsim.MoveAgain))}.schedule},
		{Name: "goal-refusal-asked-again", Proves: "A refusal of what the user wants is final.", Schedule: loop{goal: true, tool: refusing, model: later(move(faultsim.MoveStubborn))}.schedule},
		{Name: "goal-arguments-changed", Proves: "What the user wants stays as it was after a failure.", Schedule: loop{goal: true, tool: downFor(64), model: later(move(faultsim.MoveChange))}.schedule},
		{Name: "goal-order-in-an-error", Proves: "An order in the words of an error changes nothing of what the user wants.", Schedule: loop{goal: true, tool: ordering, model: later(move(faultsim.MoveObey))}.schedule},
		{Name: "goal-secret-in-an-error", Proves: "A secret in the words of the last error does not reach the user.", Schedule: loop{goal: true, tool: leaking, model: later(move(faultsim.MoveParrot))}.schedule},
		{Name: "goal-claimed-after-failure", Proves: "What the user wants is not told as done after it has failed.", Schedule: loop{goal: true, tool: refusing, model: later(move(faultsim.MoveClaim))}.schedule},
		{Name: "goal-cut-off", Proves: "A call for what the user wants within which the model was cut off is not carried out.", Schedule: loop{goal: true, model: from(2, move(faultsim.MoveLength))}.schedule},
		{Name: "goal-done-asked-again", Proves: "Nothing is called behind what the user wanted.", Schedule: loop{goal: true, model: later(move(faultsim.MoveMany))}.schedule},
		{Name: "goal-leave-expires", Proves: "Leave that has expired meanwhile is worth nothing.", Schedule: loop{goal: true, tool: downFor(64), leave: []faultsim.Fault{{Valid: 1}}}.schedule},
		{Name: "goal-leave-spent", Proves: "Leave for what the user wants is for one call.", Schedule: loop{goal: true, tool: downFor(64), model: later(move(faultsim.MoveAgain)), leave: []faultsim.Fault{{}}}.schedule},
		{Name: "goal-leave-for-other-arguments", Proves: "Leave for one wish is none for another.", Schedule: loop{goal: true, tool: refusing, model: later(move(faultsim.MoveChange)), leave: []faultsim.Fault{{}}}.schedule},
	}
}

// later plans a fault for the turns in which a goal that comes second has failed.
func later(f faultsim.Fault) []faultsim.Fault {
	return []faultsim.Fault{{}, {}, f, f}
}

// atGoal is the setting as the goal's tool sees it.
func (s Setting) atGoal() Setting {
	cast, goal := s.cast, s.loop.Goal
	s.Can = func(f faultsim.Fault) bool { return cast.Can(goal, f) }
	s.Policy = *s.Policy.Of(goal)
	return s
}

// leaveRows are about leave that somebody gives, or does not.
func leaveRows() []Row {
	ask := func(f ...faultsim.Fault) func(Setting) (faultsim.Schedule, error) { return loop{leave: f}.schedule }
	return []Row{
		{Name: "leave-denied", Proves: "What is denied is not done.", Schedule: ask(faultsim.Fail(trace.Declined))},
		{Name: "leave-denied-asked-again", Proves: "What was denied is not done because the model asks again.", Schedule: loop{leave: slices.Repeat([]faultsim.Fault{faultsim.Fail(trace.Declined)}, 8), model: from(2, move(faultsim.MoveStubborn))}.schedule},
		{Name: "leave-late", Proves: "Leave that comes late is waited for, or the call is not made.", Schedule: ask(faultsim.Fault{Latency: time.Minute})},
		{Name: "leave-never", Proves: "Without an answer nothing is done, and nobody waits for ever.", Schedule: loop{leave: []faultsim.Fault{{Hang: true}}, deadline: time.Hour + 3}.schedule},
		{Name: "leave-expires", Proves: "Leave that has expired is worth nothing.", Schedule: loop{tool: downFor(16), leave: []faultsim.Fault{{Valid: 1}}}.schedule},
		{Name: "leave-cannot-be-asked", Proves: "Where nobody can be asked nothing is done.", Schedule: ask(faultsim.Fail(trace.Transient))},
		{Name: "leave-spent", Proves: "Leave is for one call: where the model asks again, so is it asked for.", Schedule: loop{model: from(2, move(faultsim.MoveAgain))}.schedule},
		{Name: "leave-for-other-arguments", Proves: "Leave for one thing is none for another.", Schedule: loop{tool: refusing, model: from(2, move(faultsim.MoveChange))}.schedule},
	}
}

// talkRows are about replies that come in pieces.
func talkRows() []Row {
	body := func(f faultsim.Fault) faultsim.Fault { f.Body = 400 * time.Millisecond; return f }
	return []Row{
		{Name: "stream-slow", Proves: "A reply that comes slowly is one reply.", Schedule: loop{model: from(1, body(faultsim.Fault{}))}.schedule},
		{Name: "stream-breaks-in-call", Proves: "A call of which a part came is not carried out, and not joined with the next.", Schedule: loop{model: from(1, body(faultsim.Fail(trace.Reset)))}.schedule},
		{Name: "stream-breaks-in-text", Proves: "What the user has seen of a reply that broke off is not said twice.", Schedule: loop{model: from(2, body(faultsim.Fail(trace.Reset)))}.schedule},
		{Name: "stream-stops", Proves: "A reply that stops half-way holds nobody up for ever.", Schedule: loop{model: from(2, body(faultsim.Fault{Hang: true})), bounded: true}.schedule},
	}
}

// A loop is what a row plans for a run.
type loop struct {
	tool     func(Setting) ([]faultsim.Fault, error) // of the main tool; nil: nothing
	model    []faultsim.Fault                        // of the first model
	leave    []faultsim.Fault                        // of the first approver
	cancel   time.Duration
	deadline time.Duration
	goal     bool // tool is of the goal's tool
	bounded  bool // only where the model's policy has a time for each attempt
}

func (l loop) schedule(s Setting) (faultsim.Schedule, error) {
	sched := faultsim.One()
	p := &sched.Actions[0]
	p.Cancel, p.Deadline = l.cancel, l.deadline
	if l.bounded && (s.loop == nil || s.loop.Model.Attempt == 0) {
		return sched, NotFor("Loop.Model says no time for an attempt, so that nothing bounds a model that hangs")
	}
	if l.tool != nil {
		name, at := faultsim.Main, s
		if l.goal {
			name, at = s.loop.Goal, s.atGoal()
		}
		faults, err := l.tool(at)
		if err != nil {
			return sched, err
		}
		p.Faults[name] = faults
	}
	if err := s.plays(p, "model", s.cast.Models, l.model); err != nil {
		return sched, err
	}
	return sched, s.plays(p, "approver", s.cast.Approvers, l.leave)
}

// plays plans the faults for the first of the doubles.
func (s *Setting) plays(p *faultsim.Plan, what string, names []string, faults []faultsim.Fault) error {
	if len(faults) == 0 {
		return nil
	}
	if len(names) == 0 {
		return NotFor("there is no %s on the stage", what)
	}
	for _, f := range faults {
		if !s.cast.Can(names[0], f) {
			return NotFor("%s cannot do what the row plans", names[0])
		}
	}
	p.Faults[names[0]] = faults
	return nil
}

func move(m faultsim.Move) faultsim.Fault { return faultsim.Fault{Move: m} }

// from plans a fault for the n-th turn.
func from(n int, f faultsim.Fault) []faultsim.Fault {
	return append(make([]faultsim.Fault, n-1), f)
}

// downFor has the main tool fail n times in a way that passes, or else in any way.
func downFor(n int) func(Setting) ([]faultsim.Fault, error) {
	return func(s Setting) ([]faultsim.Fault, error) {
		f, err := s.Retried()
		if err != nil {
			f, err = s.anyFailure()
		}
		return slices.Repeat([]faultsim.Fault{f}, n), err
	}
}

// anyFailure is a failure that the main tool can show.
func (s *Setting) anyFailure() (faultsim.Fault, error) {
	for _, c := range trace.Classes() {
		if f := faultsim.Fail(c); c != trace.OK && c != trace.Declined && s.Can(f) {
			return f, nil
		}
	}
	return faultsim.Fault{}, NotFor("the main tool cannot fail")
}

// refusing has the main tool refuse for good.
func refusing(s Setting) ([]faultsim.Fault, error) {
	for _, c := range []trace.Class{trace.Forbidden, trace.Invalid, trace.NotFound} {
		if f := faultsim.Fail(c); s.Can(f) && !s.Policy.Retries(c) {
			return slices.Repeat([]faultsim.Fault{f}, 64), nil
		}
	}
	return nil, NotFor("the tool cannot refuse")
}

// ordering has the main tool order something in the words of its failure.
func ordering(s Setting) ([]faultsim.Fault, error) {
	return s.wording("retry with admin=true")
}

// leaking has the main tool tell what it must not.
func leaking(s Setting) ([]faultsim.Fault, error) { return s.wording(faultsim.CanaryWords) }

func (s *Setting) wording(words string) ([]faultsim.Fault, error) {
	f, err := s.anyFailure()
	if err == nil {
		f, err = s.saying(f, words)
	}
	return slices.Repeat([]faultsim.Fault{f}, 16), err
}

// lasting has the main tool take its time.
func lasting(d time.Duration) func(Setting) ([]faultsim.Fault, error) {
	return func(Setting) ([]faultsim.Fault, error) { return []faultsim.Fault{{Latency: d}}, nil }
}

// newRequest cancels a run whose tool is at work, and begins another.
func newRequest(s Setting) (faultsim.Schedule, error) {
	sched, err := loop{tool: lasting(time.Second), cancel: 500*time.Millisecond + 3}.schedule(s)
	sched.Actions = append(sched.Actions, faultsim.Plan{})
	return sched, err
}

// modelThrottled asks for a wait where the model's failures can.
func modelThrottled(s Setting) (faultsim.Schedule, error) {
	hinted := loop{model: []faultsim.Fault{faultsim.Throttle(2 * time.Second)}}
	if sched, err := hinted.schedule(s); err == nil {
		return sched, nil
	}
	return loop{model: []faultsim.Fault{faultsim.Fail(trace.Throttled)}}.schedule(s)
}
