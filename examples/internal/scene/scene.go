// Package scene has one task for every agent loop: a table is searched for in two
// cities and booked, by a model and two tools that are doubles. Loops of different
// makers are then told apart by what they do, and by nothing else.
package scene

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// A Place is what is searched for.
type Place struct {
	City string `json:"city" jsonschema:"required"`
}

// An Order is what is booked.
type Order struct {
	Table  string `json:"table" jsonschema:"required"`
	People int    `json:"people" jsonschema:"required"`
}

const (
	Request  = "A table for four, in Pune or in Oslo, please."
	Booking  = "B-1042" // what only the answer of book tells
	Answer   = "Your table is booked: " + Booking + "."
	MaxTurns = 6    // what every loop is built with, in its own words
	Trials   = 3000 // in which each deviation that is accepted occurs
)

// The failures of a tool. The first two pass.
var (
	ErrBusy        = errors.New("too many requests")
	ErrUnavailable = errors.New("service unavailable")
	ErrInvalid     = errors.New("there is no such table")
	ErrForbidden   = errors.New("not allowed")
	ErrSlow        = errors.New("no answer in time")
)

// Tools are the doubles of the tools, as code calls them.
type Tools struct {
	Search func(context.Context, Place) (string, error)
	Book   func(context.Context, Order) (string, error)
}

// NewTools puts the tools on the stage, and beside them one that no loop is given.
func NewTools(s *faultsim.Stage) Tools {
	tools := Tools{Search: tool[Place](s, "search", "tables 7 and 9"), Book: tool[Order](s, "book", Booking)}
	tool[Order](s, "cancel", "cancelled")
	return tools
}

func tool[In any](s *faultsim.Stage, name, answer string) func(context.Context, In) (string, error) {
	return faultsim.Tool(s, name, func(context.Context, In) (string, error) { return answer, nil }, faultsim.Errors{
		trace.Throttled: ErrBusy, trace.Transient: ErrUnavailable, trace.Invalid: ErrInvalid, trace.Forbidden: ErrForbidden, trace.Timeout: ErrSlow,
	})
}

// Straight is what a model does that behaves: it looks, books, and says so.
func Straight() faultsim.Script { return script(faultsim.AskFor("search", Place{"Pune"})) }

// Parallel is the same with both cities in one turn.
func Parallel() faultsim.Script {
	return script(faultsim.AskFor("search", Place{"Pune"}).And("search", Place{"Oslo"}))
}

func script(look faultsim.Step) faultsim.Script {
	return faultsim.Script{Steps: []faultsim.Step{look, faultsim.AskFor("book", Order{"7", 4}), faultsim.Say(Answer)}}
}

// Adapter is the contract of a loop that does what is right by the task, whatever its
// model does. A loop calls a tool once for each ask; model says how it asks its model.
// Subject, and what of the contract the loop does not keep, are the caller's to add.
func Adapter(name string, model invariants.Policy) faultsim.Adapter {
	book := invariants.Policy{MaxAttempts: 1}
	return faultsim.Adapter{
		Name: name,
		Policy: invariants.Policy{
			ID: "one try", MaxAttempts: 1, Repeatable: true, Tools: map[string]invariants.Policy{"book": book},
		},
		Loop: &invariants.Loop{
			ID: name, Turns: MaxTurns, Goal: "book", Evidence: []string{Booking},
			Tools: []string{"search", "book"}, Model: model,
		},
		Trials: Trials,
	}
}

// Decode reads arguments that a loop hands over as text. Those that nobody knows are an
// error: they are no reason to do what was asked for without them.
func Decode[T any](args string) (v T, err error) {
	d := json.NewDecoder(strings.NewReader(args))
	d.DisallowUnknownFields()
	if err = d.Decode(&v); err == nil && d.More() {
		err = errors.New("there is more than one value")
	}
	return v, err
}
