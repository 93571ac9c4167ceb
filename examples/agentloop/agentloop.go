// Package agentloop is a small loop in which a model books a table: it asks the
// model for its next turn, runs the tools that the model asks for, shows it what came
// of them, and tells the user how it ended.
//
// The model decides what to do next. What it may not decide stands in the code:
//
//   - how often: turns, and attempts of one call, are counted here over the whole
//     run, whoever asks and however often (run.go);
//   - what: only tools that exist run, with arguments that fit them exactly, and what
//     is booked does not change because a booking failed (guard.go);
//   - what is true: the user is told of a booking when there is one, and in our own
//     words when there is none (this file).
package agentloop

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
)

// A Model answers with its next turn.
type Model interface {
	Next(ctx context.Context, talk []Message) (Turn, error)
}

// A Message is one entry of the conversation.
type Message struct {
	From    string // "user", "model" or "tool"
	Text    string
	Calls   []Call   // of the model
	Results []Result // of tools
}

// A Call is what the model asks for. A Result carries its ID.
type Call struct{ ID, Tool, Args string }

// A Result is what the model is shown of a call.
type Result struct {
	ID, Tool, Text string
	Failed         bool
}

// A Turn is what the model says, and what it asks for.
type Turn struct {
	Text  string
	Calls []Call
	Whole bool // false: it was cut off, or refused, so that its calls may be half
}

// A Tool does one thing. Its arguments are decoded strictly.
type Tool func(ctx context.Context, args json.RawMessage) (string, error)

// The ends of a run beside a booking.
var (
	ErrTurns   = errors.New("the assistant has found no end")
	ErrNothing = errors.New("nothing was booked")
	ErrModel   = errors.New("the assistant cannot be reached")
)

// An Agent books tables. It may be used by several goroutines at once.
type Agent struct {
	Model  Model
	Search Tool // reads
	Book   Tool // writes a [Booking]; it knows the key in it, and books once for each
}

// Run runs the loop for one request, and returns what the user is told. Where nothing
// was booked the error is not nil, and its text is for the user too.
func (a *Agent) Run(ctx context.Context, request string) (string, error) {
	r := run{agent: a, key: rand.Text(), guard: guard{spent: map[string]int{}, over: map[string]string{}}}
	r.talk = []Message{{From: "user", Text: request}}
	for range turns {
		turn, err := r.next(ctx)
		if err != nil {
			return "", err
		}
		if len(turn.Calls) == 0 {
			return r.end(turn)
		}
		if err := r.carryOut(ctx, turn); err != nil {
			return "", err
		}
		if r.booked != "" {
			return "Your table is booked: " + r.booked + ".", nil
		}
	}
	return "", ErrTurns
}

// end is what a model's last words are worth: there is no booking, whatever it says.
func (r *run) end(turn Turn) (string, error) {
	if !turn.Whole {
		return "", ErrModel
	}
	return "", ErrNothing
}
