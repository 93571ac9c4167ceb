package invariants

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// CircuitBreaker is: the calls of a guarded tool, those of all actions in the
// order of events, are those that the declared breaker lets through, and it
// refuses nothing else.
//
//   - While it is open no call reaches the tool, and a refused action ends at
//     once; an open error is not retried (article: tool errors, retries and timeouts).
//   - It opens at its threshold: a success starts a count in a row anew (field
//     case F055), and the caller's cancel and deadline count for nothing (F054).
//   - Half-open it lets its probes through and no more, also where callers come
//     in the same instant (F052).
//   - A probe that succeeds closes it, one that fails opens it for a new
//     cooldown. Results of calls from before do neither (rule 11).
//   - Every call that was let through settles: after the cooldown a call is let
//     through again (F053), and failures while open do not extend the cooldown.
//
// A refusal shows as an action that ends as breaker-open, so the adapter must
// say which error that is. Several breakers are those of several tools, one for
// each: a failure of one tool must not close the door to another. At ties of instants, and where the trace does not
// tell what the program saw, either way is legal. A tool that was called in an
// ambiguous way, or that answered after it had been left, is not judged from
// there on.
func CircuitBreaker(b ...Breaker) Invariant { return circuitBreaker(b, nil) }

// circuitBreaker is CircuitBreaker with the policy, by which the wait before a
// refusal is judged; nil: it is not.
func circuitBreaker(by []Breaker, p *Policy) Invariant {
	const name = "circuit-breaker"
	for i := range by {
		if err := by[i].Validate(); err != nil {
			return unsound(name, err)
		}
	}
	return Invariant{Name: name, Rule: "calls go through while the breaker is closed, and are refused while it is open", Check: func(tr *trace.Trace) Verdict {
		var v Verdict
		var ws []watch
		for i := range by {
			for _, tool := range guarded(tr, &by[i]) {
				ws = append(ws, watch{b: &by[i], p: p, tr: tr, tool: tool})
			}
		}
		var all *turnedAway
		if len(ws) > 1 {
			all = &turnedAway{by: map[int][]string{}}
		}
		for i := range ws {
			ws[i].among = all
			v.add(name, ws[i].run())
		}
		if all != nil {
			v.add(name, all.verdict(tr, len(ws)))
		}
		return v
	}}
}

// guarded lists the tools in the trace that have a breaker, in order.
func guarded(tr *trace.Trace, b *Breaker) []string {
	if b.Tool != "" {
		return []string{b.Tool}
	}
	var tools []string
	for at := range tr.Attempts() {
		if at.Tool != b.Fallback && !slices.Contains(tools, at.Tool) {
			tools = append(tools, at.Tool)
		}
	}
	return tools
}

// A watch follows one tool's breaker through a trace. It keeps every state in
// which the breaker may be, so that what the trace leaves open is legal.
type watch struct {
	b     *Breaker
	p     *Policy
	tr    *trace.Trace
	tool  string
	among *turnedAway // one of several breakers, any of which may have refused an action; nil: the only one

	moves   []move
	states  []circuit
	now     time.Duration
	before  []snapshot   // of this instant
	barred  map[int]bool // actions that began while it was open
	excuse  *move        // the latest refusal that a promised probe excuses
	verdict Verdict
}

// A snapshot is the states before a move of the same instant.
type snapshot struct {
	event  int
	states []circuit
}

type moveKind uint8

const (
	arrives  moveKind = iota // an action begins
	admitted                 // a call reaches the tool
	settles                  // a call ends
	refused                  // an action ends because the breaker refused it
)

// A move is one thing that concerns the breaker. It shows at event, and came
// about somewhere between the events from and till.
type move struct {
	kind              moveKind
	at                time.Duration
	from, event, till int
	action            int // its index
	attempt           *trace.Attempt
	number            int // of the attempt among those that reach the tool, from 0
	effects           effect
}

func (w *watch) run() Verdict {
	w.collect()
	w.states = []circuit{{}}
	w.barred = map[int]bool{}
	w.now = -1
	for i := range w.moves {
		m := &w.moves[i]
		if m.at != w.now && !w.moveOn(m.at) {
			return w.verdict
		}
		w.before = append(w.before, snapshot{m.event, w.states})
		w.states = w.landed(m.event)
		if !w.take(m) || len(w.states) > most {
			return w.verdict
		}
	}
	w.moveOn(never)
	return w.verdict
}

// most bounds the states that are followed. Beyond it too much happens at one
// instant to tell anything.
const most = 512

// moveOn goes to another instant: what was to show at the last one has shown,
// or does not come. It is false where that leaves nothing.
func (w *watch) moveOn(now time.Duration) bool {
	w.states = w.landed(len(w.tr.Events) + 1)
	w.states = slices.DeleteFunc(w.states, func(c circuit) bool { return c.promised > 0 })
	if len(w.states) == 0 && w.excuse != nil {
		w.states = []circuit{w.before[len(w.before)-1].states[0]}
		w.reportRefusal(w.excuse)
		return false
	}
	w.now, w.before, w.excuse = now, w.before[:0], nil
	return true
}

// landed lets calls settle that were answered at this instant: those that must
// have by the event, and those that may.
func (w *watch) landed(event int) []circuit {
	if !slices.ContainsFunc(w.states, func(c circuit) bool { return len(c.late) > 0 }) {
		return w.states
	}
	var done []circuit
	queue := w.states
	for len(queue) > 0 {
		c := queue[0]
		queue = queue[1:]
		due := false
		for i, l := range c.late {
			d := c
			d.late = slices.Delete(slices.Clone(c.late), i, i+1)
			queue = d.settle(w.b, l, w.now, slices.Clone(queue))
			due = due || l.until <= event
		}
		if !due && !slices.ContainsFunc(done, func(d circuit) bool { return c.same(&d) }) {
			done = append(done, c)
		}
		if len(queue) > most {
			return queue
		}
	}
	return done
}

// put keeps the states, each once.
func (w *watch) put(next []circuit) {
	if len(next) < 2 {
		w.states = next
		return
	}
	var kept []circuit
	for i := range next {
		if !slices.ContainsFunc(kept, func(c circuit) bool { return c.same(&next[i]) }) {
			kept = append(kept, next[i])
		}
	}
	w.states = kept
}

// take applies a move. It is false where a rule is broken.
func (w *watch) take(m *move) bool {
	switch m.kind {
	case arrives:
		w.barred[m.action] = !slices.ContainsFunc(w.states, func(c circuit) bool {
			return c.mode != opened || m.at-c.since >= w.b.Cooldown
		})
		return true
	case admitted:
		w.verdict.Applied++
		return w.admit(m)
	case settles:
		w.settle(m)
		return true
	}
	if w.among != nil {
		w.among.saw(w, m)
		return true
	}
	w.verdict.Applied++
	return w.refuse(m)
}

func (w *watch) admit(m *move) bool {
	a := w.action(m)
	if w.barred[m.action] && m.at > a.Begin && w.first(m) && !w.beside(m) {
		w.report(a, fmt.Sprintf("the breaker of %s was open when the action began, and the action called it %v later", w.tool, m.at-a.Begin),
			"end the action when the breaker refuses it: an open error is an answer, and is not retried", w.states[0].by, m.event)
		return false
	}
	var next []circuit
	for _, c := range w.states {
		if d, ok := c.admit(w.b, m.attempt.Call, m.at); ok {
			next = append(next, d)
		}
	}
	next = w.admitEarlier(m, next)
	if len(next) > 0 {
		w.put(next)
		return true
	}
	c := &w.states[0]
	text := fmt.Sprintf("%s was called although its breaker %s", w.tool, c.why(w.b, m.at))
	advice := "ask the breaker before every call, retries included, and count what its threshold counts"
	switch {
	case c.mode == opened && c.reopened:
		advice = "open again for a whole cooldown when a probe fails, and ask the breaker before every call"
	case c.mode == halfOpen:
		advice = "take a probe's place and look whether there is one in a single step, under the breaker's lock"
	}
	w.report(a, text, advice, c.by, m.event)
	return false
}

// admitEarlier adds the states in which the call was let through before
// something else of the same instant, which the trace shows first.
func (w *watch) admitEarlier(m *move, next []circuit) []circuit {
	for _, s := range w.before {
		if s.event <= m.from || s.event == m.event {
			continue
		}
		for _, was := range s.states {
			if was.mode != closed {
				continue
			}
			for _, c := range w.states {
				if c.turn != was.turn { // else it is the same as now
					c.let++
					c.flying = append(slices.Clone(c.flying), flight{call: m.attempt.Call, turn: was.turn})
					next = append(next, c)
				}
			}
		}
	}
	return next
}

func (w *watch) settle(m *move) {
	l := landing{m.attempt.Call, m.number, m.event, m.till, m.effects}
	crowded := false
	for o := range w.behind(m) {
		crowded = crowded || o.event < m.till
	}
	var next []circuit
	for _, c := range w.states {
		next = c.settle(w.b, l, m.at, next)
		if crowded {
			c.late = append(slices.Clone(c.late), l)
			next = append(next, c)
		}
	}
	w.put(next)
}

func (w *watch) refuse(m *move) bool {
	a := w.action(m)
	var next []circuit
	for _, c := range w.states {
		if c.refuses(w.b, m.at) || w.refusedEarlier(m) {
			next = append(next, c)
		} else if c, ok := w.promise(c, m); ok {
			next = append(next, c)
			w.excuse = m
		}
	}
	if len(next) == 0 {
		w.reportRefusal(m)
		return false
	}
	w.put(next)
	if late := w.lateness(m); late > 0 {
		w.report(a, fmt.Sprintf("the action was refused by the breaker of %s and ended %v later than that", w.tool, late),
			"end the action when the breaker refuses it: an open error is an answer, and is not retried", w.states[0].by, a.EndEvent)
		return false
	}
	return true
}

// refusedEarlier reports whether the breaker refused before something else of
// the same instant.
func (w *watch) refusedEarlier(m *move) bool {
	for _, s := range w.before {
		if s.event > m.from && slices.ContainsFunc(s.states, func(c circuit) bool { return c.refuses(w.b, m.at) }) {
			return true
		}
	}
	return false
}

// promise makes the state one in which calls of the same instant, which the
// trace shows later, have the probes' places.
func (w *watch) promise(c circuit, m *move) (circuit, bool) {
	if !c.probe(w.b, m.at) {
		return c, false
	}
	need := w.b.probes() - c.probing(w.b, m.at, false)
	for o := range w.behind(m) {
		if o.kind == admitted && o.from < m.event {
			need--
		}
	}
	if need > 0 {
		return c, false
	}
	more := w.b.probes() - c.probing(w.b, m.at, false)
	c.promised += more
	c.admitted += more
	return c, true
}

// behind yields the moves of the same instant that the trace shows after m.
func (w *watch) behind(m *move) iter.Seq[*move] {
	return func(yield func(*move) bool) {
		i, _ := slices.BinarySearchFunc(w.moves, m.event+1, func(o move, event int) int { return cmp.Compare(o.event, event) })
		for ; i < len(w.moves) && w.moves[i].at == m.at; i++ {
			if !yield(&w.moves[i]) {
				return
			}
		}
	}
}

func (w *watch) reportRefusal(m *move) {
	a := w.action(m)
	c := &w.states[0]
	advice := "count what the tool is to blame for and nothing else: neither the caller's cancel or deadline, nor what is asked wrongly; and begin anew after a success"
	event := -1
	if c.mode != closed {
		advice = "let every call that goes through settle, as a success, a failure or neither, on every way out (defer); and let no failure while open extend the cooldown"
		event = c.by
	}
	w.report(a, fmt.Sprintf("the action was refused although the breaker of %s %s", w.tool, c.why(w.b, m.at)), advice, event, a.EndEvent)
}

// lateness is how much later than the refusal the action ended. The breaker
// may be asked before the wait that the policy allows, or after it.
func (w *watch) lateness(m *move) time.Duration {
	a := w.action(m)
	if len(a.Attempts) == 0 {
		if !w.barred[m.action] || w.beside(m) {
			return 0
		}
		return a.End - a.Begin
	}
	if w.p == nil || len(a.Series) != 1 {
		return 0
	}
	late := time.Duration(0)
	for k := w.p.walk(scene{tr: w.tr}, a, &a.Series[0]); k.next(); {
		if k.last && k.d.Do != Stop {
			late = a.End - plus(k.end, k.d.Hi)
		}
	}
	return max(late, 0)
}

func (w *watch) action(m *move) *trace.Action { return &w.tr.Actions()[m.action] }

// first reports whether the move is the action's first attempt.
func (w *watch) first(m *move) bool { return w.action(m).Attempts[0].Call == m.attempt.Call }

// beside reports whether another action ran while this one did: it may have
// waited for its turn.
func (w *watch) beside(m *move) bool {
	actions := w.tr.Actions()
	a := &actions[m.action]
	for i := range actions {
		if b := &actions[i]; i != m.action && (!a.Ended || b.Begin <= a.End) && (!b.Ended || b.End > a.Begin) {
			return true
		}
	}
	return false
}

func (w *watch) report(a *trace.Action, text, advice string, by, event int) {
	if by == 0 {
		by = -1 // nothing has opened it
	}
	w.verdict.report(a, text, advice, by, event)
}

// collect lists the moves in the order in which they show, up to the first
// that cannot be told.
func (w *watch) collect() {
	end := len(w.tr.Events)
	for _, i := range w.tr.Ambiguous() {
		if w.tr.Events[i].Tool == w.tool {
			end = min(end, i)
		}
	}
	steps := stepsOf(w.tr)
	actions := w.tr.Actions()
	w.moves = make([]move, 0, movesOf(actions))
	for n := range actions {
		a := &actions[n]
		own := steps[a.Name]
		began := -1
		if len(own) > 0 {
			began = own[0]
		}
		w.moves = append(w.moves, move{kind: arrives, at: a.Begin, from: began, event: began, till: began, action: n})
		for i := range a.Attempts {
			if at := &a.Attempts[i]; at.Tool == w.tool {
				w.moves = append(w.moves, move{kind: admitted, at: at.Begin, from: previous(own, at.Event), event: at.Event, till: at.Event, action: n, attempt: at})
				m, ok := w.landing(a, at, own)
				if !ok {
					end = min(end, m.event)
				} else if m.event >= 0 {
					m.action = n
					w.moves = append(w.moves, m)
				}
			}
		}
		if a.Ended && a.Reason == trace.ReasonBreakerOpen {
			w.moves = append(w.moves, move{kind: refused, at: a.End, from: previous(own, a.EndEvent), event: a.EndEvent, till: a.EndEvent, action: n})
		}
	}
	slices.SortStableFunc(w.moves, func(a, b move) int { return cmp.Compare(a.event, b.event) })
	w.moves = slices.DeleteFunc(w.moves, func(m move) bool { return m.event >= end })
	w.count()
}

// movesOf is how many moves the actions have at most.
func movesOf(actions []trace.Action) int {
	n := 2 * len(actions)
	for i := range actions {
		n += 2 * len(actions[i].Attempts)
	}
	return n
}

// count numbers the calls in the order in which they reach the tool.
func (w *watch) count() {
	numbers := map[int]int{}
	for i := range w.moves {
		switch m := &w.moves[i]; m.kind {
		case admitted:
			m.number = len(numbers)
			numbers[m.attempt.Call] = m.number
		case settles:
			m.number = numbers[m.attempt.Call]
		}
	}
}

// landing is the move by which the attempt settles; its event is -1 where it
// never does. ok is false where it cannot be told when it does.
func (w *watch) landing(a *trace.Action, at *trace.Attempt, own []int) (m move, ok bool) {
	m = move{kind: settles, at: at.End, event: at.AnswerEvent, attempt: at}
	switch left := a.Ended && (!at.Seen || at.End > a.End); {
	case left && at.Event > a.EndEvent:
		return move{event: at.Event}, false
	case left:
		m.at, m.event, m.effects = a.End, a.EndEvent, fails|neutral
		if timeUp(a) {
			m.effects = neutral
		}
		m.till = m.event
		return m, true
	case !at.Seen:
		return move{event: -1}, true
	case at.Interrupted != 0 && (at.AnswerEvent < 0 || at.Answered > at.End):
		return move{event: at.Event + 1}, false // the tool ignores its context: who went by what?
	}
	m.till = following(own, m.event, len(w.tr.Events))
	m.effects = w.effects(a, at)
	return m, true
}

// effects is what the attempt's end may mean to the breaker.
func (w *watch) effects(a *trace.Action, at *trace.Attempt) effect {
	e, c := succeeds, at.Outcome.Class
	gone := a.Cancelled() && a.Cancel <= at.End
	late := a.Deadline != 0 && a.Deadline <= at.End
	switch {
	case c == trace.OK || c == trace.Declined:
	case c == trace.Cancelled && gone, c == trace.Timeout && late:
		return neutral
	case c == trace.Cancelled:
		e = fails | neutral // the program ended its own attempt
	case w.b.Fails(c):
		e = fails
	case w.b.RefusalsNeutral:
		e = neutral
	}
	if gone || late || w.spent(a, at) {
		e |= neutral // it came with the end of the caller's time, or of the action's own
	}
	if outlived(at) && c != trace.Timeout {
		e |= fails
	}
	for _, t := range a.Troubles {
		if w.tr.Events[t].Kind == trace.KindPanic {
			e |= fails | neutral
		}
	}
	return e
}

// spent reports whether the action's own budget was over with the attempt and
// cut it. It had less time than the tool was promised, so who is to blame is up
// to the program.
func (w *watch) spent(a *trace.Action, at *trace.Attempt) bool {
	return w.p != nil && w.p.BudgetCuts && at.End-w.p.budgetFrom(a, a.Begin, at.Event) >= w.p.Budget
}

// stepsOf lists, for each action, the events in which the program itself moved.
func stepsOf(tr *trace.Trace) map[string][]int {
	steps := map[string][]int{}
	var records map[int]bool // calls that write a record, which another goroutine may do
	for i := range tr.Events {
		e := &tr.Events[i]
		if e.Kind == trace.KindCall && observer(e.Role) {
			if records == nil {
				records = map[int]bool{}
			}
			records[e.Call] = true
		}
		switch e.Kind {
		case trace.KindBegin, trace.KindCall, trace.KindAnswer, trace.KindWait, trace.KindPublish, trace.KindObservation, trace.KindHit, trace.KindClose, trace.KindEnd, trace.KindPanic:
			if !e.Ambiguous && !records[e.Call] {
				steps[e.Action] = append(steps[e.Action], i)
			}
		}
	}
	return steps
}

// previous is the last of the steps before the event; -1: none.
func previous(steps []int, event int) int {
	i, _ := slices.BinarySearch(steps, event)
	if i == 0 {
		return -1
	}
	return steps[i-1]
}

// following is the first of the steps behind the event; end: none.
func following(steps []int, event, end int) int {
	i, _ := slices.BinarySearch(steps, event+1)
	if i == len(steps) {
		return end
	}
	return steps[i]
}
