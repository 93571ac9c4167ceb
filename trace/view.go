package trace

// A view computes the actions in two passes over the events: the first finds
// the actions and counts what each has, so that the second can put everything
// into storage that is made once. The time is linear in the events, apart from
// calls of one tool that are under way at once: each looks through the others.
type view struct {
	events  []Event
	actions []Action
	owners  []int32        // event → index of its action; nil while there is one action
	names   map[string]int // action name → index, once there are many
	last    int            // index of the action that was used last
	calls   []Attempt      // every attempt, action by action
	called  []int          // call number → 1 + index in calls; nil where numbers are sparse
	sparse  map[int]int    // the same, where they are
	highest int            // call number
	lowest  int
}

// few is how many of a thing are searched one by one before a map is worth it.
const few = 8

// A room is how much of each thing an action has.
type room struct {
	attempts, effects, published, observed, hits, waits, troubles, said, crashes int32
	first                                                                        int // index of its first attempt in view.calls
}

func buildActions(events []Event) []Action {
	v := view{events: events}
	v.expect()
	v.count()
	v.allot()
	for i := range events {
		if e := &events[i]; !e.Ambiguous && e.Kind != KindCalm {
			v.add(i, e)
		}
	}
	for i := range v.actions {
		v.actions[i].cutOff()
	}
	arrange(v.actions)
	return v.actions
}

// expect makes room for as many actions as begin, so that a long list of them need
// not grow.
func (v *view) expect() {
	begun := 0
	for i := range v.events {
		if v.events[i].Kind == KindBegin {
			begun++
		}
	}
	v.actions = make([]Action, 0, max(begun, 1))
	if begun > few {
		v.names = make(map[string]int, begun)
	}
}

// count finds the actions and what each has.
func (v *view) count() {
	for i := range v.events {
		e := &v.events[i]
		if e.Ambiguous || e.Kind == KindInterrupt || e.Kind == KindAnswer {
			continue // they belong to their call
		}
		if e.Kind == KindCalm {
			continue // it belongs to the whole trace
		}
		n := v.find(e)
		if n > 0 && v.owners == nil {
			v.owners = make([]int32, len(v.events))
		}
		if v.owners != nil {
			v.owners[i] = int32(n)
		}
		v.actions[n].room.count(e)
		if e.Kind == KindCall {
			v.highest, v.lowest = max(v.highest, e.Call), min(v.lowest, e.Call)
		}
	}
}

func (m *room) count(e *Event) {
	switch e.Kind {
	case KindCall:
		if e.Role == RoleAttempt {
			m.attempts++
		}
	case KindWait:
		m.waits++
	case KindEffect:
		m.effects++
	case KindPublish:
		m.published++
	case KindObservation:
		m.observed++
	case KindHit:
		m.hits++
	case KindHang, KindLeak, KindPanic, KindSpin:
		m.troubles++
	case KindSay:
		m.said++
	case KindCrash, KindHandback:
		m.crashes++
	}
}

// find returns the index of the event's action, which it makes where it is new.
func (v *view) find(e *Event) int {
	if v.last < len(v.actions) && v.actions[v.last].Name == e.Action {
		return v.last
	}
	n, known := v.lookup(e.Action)
	if !known {
		n = len(v.actions)
		v.actions = append(v.actions, Action{Name: e.Action, Begin: e.At, BeginAt: -1, EndEvent: -1, CancelAt: -1})
		if v.names != nil {
			v.names[e.Action] = n
		}
	}
	v.last = n
	return n
}

func (v *view) lookup(name string) (n int, known bool) {
	if v.names != nil {
		n, known = v.names[name]
		return n, known
	}
	for n := range v.actions {
		if v.actions[n].Name == name {
			return n, true
		}
	}
	if len(v.actions) >= few {
		v.names = make(map[string]int, 4*few)
		for n := range v.actions {
			v.names[v.actions[n].Name] = n
		}
	}
	return 0, false
}

// allot gives every action its part of the common storage.
func (v *view) allot() {
	attempts, ints := 0, 0
	for i := range v.actions {
		m := v.actions[i].room
		attempts += int(m.attempts)
		ints += int(m.effects + m.published + m.observed + m.hits + m.waits + m.troubles + m.said)
	}
	table := 0
	if v.lowest >= 0 && v.highest <= 2*len(v.events) { // as a recorder numbers them
		table = v.highest + 1
	}
	v.calls = make([]Attempt, attempts)
	indices := make([]int, ints+table)
	if v.called = indices[ints:]; table == 0 {
		v.sparse = make(map[int]int, attempts)
	}
	first := 0
	for i := range v.actions {
		a := &v.actions[i]
		a.room.first = first
		a.Attempts, _ = carve(v.calls[first:], a.room.attempts)
		first += int(a.room.attempts)
		a.Effects, indices = carve(indices, a.room.effects)
		a.Published, indices = carve(indices, a.room.published)
		a.Observed, indices = carve(indices, a.room.observed)
		a.Hits, indices = carve(indices, a.room.hits)
		a.Waits, indices = carve(indices, a.room.waits)
		a.Troubles, indices = carve(indices, a.room.troubles)
		a.Said, indices = carve(indices, a.room.said)
		if a.room.crashes > 0 {
			a.Restarts = make([]Restart, 0, a.room.crashes)
		}
	}
}

// carve cuts room for n off the front of s; nil where n is 0.
func carve[T any](s []T, n int32) (room, rest []T) {
	if n == 0 {
		return nil, s
	}
	return s[:0:n], s[n:]
}

func (v *view) add(i int, e *Event) {
	n := 0
	if v.owners != nil {
		n = int(v.owners[i])
	}
	switch e.Kind {
	case KindCall:
		if e.Role == RoleAttempt {
			v.call(i, e, n)
		}
	case KindInterrupt:
		v.interrupt(e)
	case KindAnswer:
		v.answer(i, e)
	default:
		v.actions[n].note(i, e)
	}
}

func (v *view) call(i int, e *Event, n int) {
	a := &v.actions[n]
	v.begun(e.Call, a.room.first+len(a.Attempts))
	a.Attempts = a.Attempts[:len(a.Attempts)+1]
	at := &a.Attempts[len(a.Attempts)-1]
	at.Event, at.AnswerEvent, at.Call = i, -1, e.Call
	at.Tool, at.CallID, at.Ask, at.Key, at.Args = e.Tool, e.CallID, e.Ask, e.Key, e.Args
	at.Credential, at.Definition, at.Session = e.Credential, e.Definition, e.Session
	at.Layer, at.Items = e.Layer, e.Outcome.Items
	at.Begin, at.Deadline = e.At, e.Deadline
	at.Planned, at.Slept = a.planned, a.slept
	a.planned, a.slept = 0, false
}

func (a *Action) note(i int, e *Event) {
	switch e.Kind {
	case KindBegin:
		a.Begin, a.BeginAt, a.Deadline, a.Again = e.At, i, e.Deadline, e.Count
		a.Key, a.Args = e.Key, e.Args
	case KindWait:
		a.Waits = append(a.Waits, i)
		a.planned, a.slept = plus(a.planned, e.Wait), true
	case KindCancel:
		if a.CancelAt < 0 {
			a.Cancel, a.CancelAt = e.At, i
		}
	case KindEffect:
		a.Effects = append(a.Effects, i)
	case KindPublish:
		a.Published = append(a.Published, i)
	case KindObservation:
		a.Observed = append(a.Observed, i)
	case KindHit:
		a.Hits = append(a.Hits, i)
	case KindEnd:
		a.End, a.Ended, a.EndEvent = e.At, true, i
		a.Reason, a.Error, a.Result = e.Reason, e.Error, e.Result
		a.Want, a.Cause, a.Count, a.Code = e.Want, e.Cause, e.Count, e.Outcome.Code
	case KindHang, KindLeak, KindPanic, KindSpin:
		a.Troubles = append(a.Troubles, i)
	case KindSay:
		a.Said = append(a.Said, i)
	case KindDrain:
		a.Drains = append(a.Drains, Drain{At: e.At, Event: i, Grace: e.Wait})
	case KindCrash, KindHandback:
		a.crash(i, e)
	case KindRestart:
		if n := len(a.Restarts); n > 0 && a.Restarts[n-1].UpEvent < 0 {
			a.Restarts[n-1].Up, a.Restarts[n-1].UpEvent = e.At, i
		}
	}
}

// begun remembers which attempt the call is.
func (v *view) begun(call, index int) {
	if v.sparse != nil {
		v.sparse[call] = index + 1
		return
	}
	v.called[call] = index + 1
}

// flying returns the attempt of the call, or nil where it is not under way.
func (v *view) flying(call int) *Attempt {
	index := 0
	if v.sparse != nil {
		index = v.sparse[call]
	} else if call >= 0 && call < len(v.called) {
		index = v.called[call]
	}
	if index == 0 || v.calls[index-1].AnswerEvent >= 0 {
		return nil
	}
	return &v.calls[index-1]
}

func (v *view) interrupt(e *Event) {
	if at := v.flying(e.Call); at != nil && !at.Seen && !at.Lost {
		at.Outcome, at.End, at.Seen, at.Interrupted = e.Outcome, e.At, true, max(e.At, 1)
	}
}

func (v *view) answer(i int, e *Event) {
	at := v.flying(e.Call)
	if at == nil || at.Lost {
		return
	}
	at.AnswerEvent, at.Answered, at.Answer, at.Result = i, e.At, e.Outcome, e.Result
	if !at.Seen {
		at.Outcome, at.End, at.Seen = e.Outcome, e.At, true
	}
}
