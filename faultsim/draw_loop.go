package faultsim

import (
	"slices"
	"time"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// A drawnModel is what a model on the stage can do wrong.
type drawnModel struct {
	drawnTool
	moves   []Move // that the contract says something about
	opening []Move // those of them that need nothing that was said before
}

// loopTurns is how many turns of a model are planned at most.
const loopTurns = 8

// modelsOf lists the models on the stage.
func (d *drawer) modelsOf(a *Adapter, s *Stage) {
	if a.Loop == nil || s == nil {
		return
	}
	d.loop = a.Loop
	p := &a.Loop.Model
	for _, t := range s.models {
		m := drawnModel{drawnTool: drawnTool{name: t.name, policy: p, most: p.Most(), hints: t.forms(), can: t.can}}
		m.failures(p)
		if p.Attempt > 0 {
			m.hangs(p)
		}
		m.moves = slices.DeleteFunc(movesFor(a.Loop, s), func(v Move) bool { return !t.can(&Fault{Move: v}) })
		if len(a.Loop.Protected) > 0 { // one of many moves is rarely where it tells something
			m.moves = append(m.moves, MoveChange, MoveChange)
		}
		m.opening = slices.DeleteFunc(slices.Clone(m.moves), func(o Move) bool { return slices.Contains(later, o) })
		d.models = append(d.models, m)
	}
	d.approvers = namesOf(s.approvers)
}

// later are the moves that go back to what was said.
var later = []Move{MoveAgain, MoveStubborn, MoveChange, MoveRewrite, MoveExtend, MoveParrot, MoveObey}

// movesFor lists the moves of which the contract says what a loop makes of them.
func movesFor(l *invariants.Loop, s *Stage) []Move {
	return slices.DeleteFunc(slices.Clone(moves), func(m Move) bool {
		switch m {
		case MoveClaim:
			return l.Goal == "" && len(l.Evidence) == 0
		case MoveOther:
			return len(l.Tools) == 0 || len(l.Tools) >= len(s.tools)
		case MoveChange:
			return len(l.Protected) == 0 && !l.Correct.Once && len(l.Approve) == 0
		}
		return false
	})
}

// forLoop draws the faults of the tools, call by call over the run, and how the
// models misbehave, turn by turn: one request as a rule, now and then a second one
// behind it, as when the user gives a new instruction.
func (d *drawer) forLoop(t *source) Schedule {
	n := 1
	if !d.single && oneIn(t, 2) {
		n = 2
	}
	s := Schedule{Actions: make([]Plan, n)}
	for i := range s.Actions {
		s.Actions[i] = d.plan(t.nth(i))
		for k := range d.models {
			if turns := d.models[k].turns(t.nth(i).double(d.models[k].name), d); len(turns) > 0 {
				s.Actions[i].Faults[d.models[k].name] = turns
			}
		}
	}
	for i := range s.Actions {
		for _, name := range d.approvers {
			if leave := d.answers(t.nth(i).double(name), &s.Actions[i]); len(leave) > 0 {
				s.Actions[i].Faults[name] = leave
			}
		}
	}
	d.garnish(t.of("garnish"), &s)
	if d.canary {
		d.plant(t.of("plant"), &s)
	}
	d.empties(t.of("empties"), &s)
	d.records(t.of("records"), &s)
	for k := range d.models {
		d.speech(t.of("speech").double(d.models[k].name), &d.models[k], &s)
	}
	if down := t.of("down"); d.loop.PerTool+d.loop.EscalateAfter > 0 && oneIn(down, 5) {
		d.down(down, &s.Actions[0])
	}
	return s
}

// down draws a run in which nothing works: each call of a tool fails, and the models
// ask on, mostly with another argument. Only so do enough asks fail in a row
// for the run to end, or for a tool to be left alone.
func (d *drawer) down(t *source, p *Plan) {
	p.Deadline, p.Cancel = 0, 0
	for i := range d.tools {
		tool := &d.tools[i]
		if f := tool.final(); f.Class != 0 {
			p.Faults[tool.name] = slices.Repeat([]Fault{f}, loopTurns*min(tool.usedUp(), 4))
		}
	}
	for k := range d.models {
		own, turns := t.double(d.models[k].name), make([]Fault, 1, loopTurns)
		for range 1 + below(own, loopTurns-1) {
			turns = append(turns, Fault{Move: [...]Move{MoveChange, MoveChange, MoveChange, MoveAgain}[below(own, 4)]})
		}
		p.Faults[d.models[k].name] = turns
	}
}

// final is a failure after which the tool is not called again, or else any that
// comes at once.
func (t *drawnTool) final() Fault {
	for _, f := range slices.Concat(t.refused, t.retried) {
		if !f.Hang && !f.Done {
			return f
		}
	}
	return Fault{}
}

// speech lets one reply of a model that streams come in pieces: whole, broken in the
// middle, or without an end where the model's policy ends it. It draws nothing for
// other models.
func (d *drawer) speech(t *source, m *drawnModel, s *Schedule) {
	if !m.can(&Fault{Body: 1}) {
		return
	}
	for i := range s.Actions {
		if coin(t) {
			continue
		}
		f := Fault{Body: d.latency(t) - 30}
		switch below(t, 4) {
		case 0, 1:
			f.Class = trace.Reset
		case 2:
			f.Hang = d.loop.Model.Attempt > 0
		}
		turns := s.Actions[i].Faults[m.name]
		if n := below(t, 3); n < len(turns) {
			turns[n] = f
		} else if s.Actions[i].Faults != nil {
			s.Actions[i].Faults[m.name] = append(turns, f)
		}
	}
}

// answers draws what an approver answers: in half of the runs everything is granted at
// once. It never answers only where somebody ends the wait.
func (d *drawer) answers(t *source, p *Plan) []Fault {
	if coin(t) {
		return nil
	}
	answers := make([]Fault, 1+below(t, 3))
	for i := range answers {
		switch f := &answers[i]; below(t, 8) {
		case 0, 1:
			f.Class = trace.Declined
		case 2:
			f.Latency = d.latency(t)
		case 3:
			f.Valid = time.Duration(1 + below(t, 64))
		case 4:
			f.Latency, f.Valid = d.latency(t), time.Duration(1+below(t, 64))*time.Second
		case 5:
			f.Class = trace.Transient
		case 6:
			f.Hang = p.Deadline != 0 || p.Cancel != 0
		}
	}
	return answers
}

// turns draws what a model does wrong: in half of the runs nothing. Now and then the
// last fault goes on for some turns.
func (m *drawnModel) turns(t *source, d *drawer) []Fault {
	if coin(t) {
		return nil
	}
	turns := make([]Fault, 1+below(t, loopTurns))
	for i := range turns {
		turns[i] = m.turn(t, d, i)
	}
	if coin(t) {
		last := turns[len(turns)-1]
		last.Cancel = 0
		turns = append(turns, slices.Repeat([]Fault{last}, 1+below(t, loopTurns))...)
	}
	for len(turns) > 0 && turns[len(turns)-1].plain() {
		turns = turns[:len(turns)-1]
	}
	return turns
}

// turn draws what a model does wrong in one turn, which is the first one for 0.
func (m *drawnModel) turn(t *source, d *drawer, i int) (f Fault) {
	if m.can(&Fault{Class: trace.Reset, Body: 1}) && oneIn(t, 2) {
		return Fault{Class: [...]trace.Class{trace.Reset, 0}[below(t, 2)], Body: d.latency(t) - 30}
	}
	switch below(t, 8) {
	case 0, 1:
		f = d.fault(t, &m.drawnTool, i+1)
		d.stream(t, &m.drawnTool, &f)
	case 2, 3, 4, 5:
		moves := m.moves
		if i == 0 {
			moves = m.opening
		}
		f.Move = moves[below(t, len(moves))]
	case 6:
		f.Latency = d.latency(t)
	}
	return f
}
