// Package nested is an agent that hands a part of its work to another one: a planner,
// whose model asks for research, and a researcher with a model of its own, which
// looks flights up.
//
// Retries multiply where each layer has its own. Here one budget of attempts, set for
// the request as a whole, goes down through the context (budget.go); the researcher
// alone repeats a lookup; and how it ended is the planner's last word on the matter.
package nested

import (
	"context"
	"errors"
	"fmt"

	"github.com/rehearse-go/rehearse/examples/agentloop"
)

const (
	turns    = 6 // of each model, in one run
	attempts = 6 // of lookups, over the whole request
)

// How a run can end beside a success.
var (
	ErrRefused   = errors.New("the lookup is refused")
	ErrExhausted = errors.New("the lookup does not answer")
	ErrNothing   = errors.New("no flight was found")
	ErrModel     = errors.New("the assistant cannot be reached")
)

// A Question is what the researcher is asked.
type Question struct {
	To string `json:"to"`
}

// A Planner answers the user. It may be used by several goroutines at once.
type Planner struct {
	Model    agentloop.Model
	Research func(context.Context, Question) (string, error)
}

// Plan runs the planner's loop, and returns what the user is told.
func (p *Planner) Plan(ctx context.Context, request string) (string, error) {
	var found string
	var ended error // how the research ended; nil: not, or well
	asked := map[Question]error{}
	err := converse(ctx, p.Model, request, func(ctx context.Context, c agentloop.Call) (string, error) {
		var q Question
		if err := decode(c, "research", &q); err != nil {
			return "", err
		}
		if err, done := asked[q]; done && err != nil {
			return "", fmt.Errorf("not asked again: %w", err)
		} else if found != "" {
			return found, nil
		}
		answer, err := p.Research(ctx, q)
		if err != nil {
			ended = err
		}
		asked[q], found = err, answer
		return answer, err
	})
	switch {
	case err != nil:
		return "", err
	case found != "":
		return "There is a flight: " + found + ".", nil
	case ended != nil:
		return "", ended
	}
	return "", ErrNothing
}

// converse asks the model for turns until it asks for nothing more, and has carry do
// what it asks for. Each call gets one result.
func converse(ctx context.Context, model agentloop.Model, request string, carry func(context.Context, agentloop.Call) (string, error)) error {
	talk := []agentloop.Message{{From: "user", Text: request}}
	for range turns {
		if err := ctx.Err(); err != nil {
			return err
		}
		turn, err := model.Next(ctx, talk)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return ErrModel
		case len(turn.Calls) == 0:
			return nil
		}
		results := agentloop.Message{From: "tool"}
		for _, c := range turn.Calls {
			text, err := "", errors.New("not run: the call was cut off")
			if turn.Whole {
				text, err = carry(ctx, c)
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				text = err.Error()
			}
			results.Results = append(results.Results, agentloop.Result{ID: c.ID, Tool: c.Tool, Text: text, Failed: err != nil})
		}
		talk = append(talk, agentloop.Message{From: "model", Text: turn.Text, Calls: turn.Calls}, results)
	}
	return ErrNothing
}
