// Package streaming is an assistant that shows its user the model's words as they come,
// and looks the weather up on the way.
//
// A stream can break. What the user has seen cannot be taken back, so it is neither
// said again nor gone on with by another reply: the run ends there, and says so. A call
// of which a part has come is not carried out. The model is asked again only where it
// was too busy to begin.
package streaming

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/rehearse-go/rehearse/examples/agentloop"
)

const (
	turns    = 6                      // of the model, in one run
	tries    = 2                      // of one turn, while the user has seen none of it
	patience = 30 * time.Second       // of one turn
	limit    = 5 * time.Second        // of one call of a tool
	pause    = 500 * time.Millisecond // before a second try
)

// How a run can end beside an answer.
var (
	ErrBroken = errors.New("the answer broke off: please ask again")
	ErrModel  = errors.New("the assistant cannot be reached")
	ErrTurns  = errors.New("the assistant has found no end")
)

// A Stream asks the model for its next turn, and hands on its words as they come. Of a
// turn that broke off only the error counts.
type Stream func(ctx context.Context, talk []agentloop.Message, words func(string) error) (agentloop.Turn, error)

// A Query is what the tool is asked.
type Query struct {
	City string `json:"city"`
}

// An Assistant may be used by several goroutines at once.
type Assistant struct {
	Model   Stream
	Weather func(context.Context, Query) (string, error)
	Show    func(ctx context.Context, text string) // to the user, at once
}

// Run answers one request. The error's text is for the user too.
func (a *Assistant) Run(ctx context.Context, request string) error {
	talk := []agentloop.Message{{From: "user", Text: request}}
	known := map[Query]string{} // what was looked up, or why not
	for range turns {
		turn, err := a.next(ctx, talk)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return err
		case len(turn.Calls) == 0 && (turn.Text == "" || !turn.Whole):
			return ErrModel
		case len(turn.Calls) == 0:
			return nil // it has been shown
		}
		results := agentloop.Message{From: "tool"}
		for _, c := range turn.Calls {
			text, err := a.call(ctx, c, turn.Whole, known)
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
	return ErrTurns
}

// next asks for a turn, and once more where the user has seen nothing of it.
func (a *Assistant) next(ctx context.Context, talk []agentloop.Message) (turn agentloop.Turn, err error) {
	shown := false
	for n := 1; ctx.Err() == nil; n++ {
		turn, err = a.ask(ctx, talk, func(words string) error {
			shown = true
			a.Show(ctx, words)
			return nil
		})
		switch {
		case err == nil || ctx.Err() != nil:
			return turn, err
		case shown:
			return turn, ErrBroken
		case n == tries || !passes(err):
			return turn, ErrModel
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
	return turn, ctx.Err()
}

func (a *Assistant) ask(ctx context.Context, talk []agentloop.Message, words func(string) error) (agentloop.Turn, error) {
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	return a.Model(ctx, talk, words)
}

// ErrUnavailable is a failure of the model that passes.
var ErrUnavailable = errors.New("overloaded")

func passes(err error) bool {
	return errors.Is(err, ErrUnavailable)
}

var errWeather = errors.New("the weather cannot be looked up at the moment: tell the user")

// call looks the weather of a city up, once in a run: how it went is the answer to
// whoever asks again.
func (a *Assistant) call(ctx context.Context, c agentloop.Call, whole bool, known map[Query]string) (string, error) {
	var q Query
	d := json.NewDecoder(bytes.NewReader([]byte(c.Args)))
	d.DisallowUnknownFields()
	switch {
	case !whole:
		return "", errors.New("not run: the call was cut off")
	case c.Tool != "weather":
		return "", fmt.Errorf("there is no tool %q: there is weather", c.Tool)
	case d.Decode(&q) != nil || d.More():
		return "", errors.New("not run: these are no arguments for weather")
	}
	text, asked := known[q]
	if !asked {
		ctx, stop := context.WithTimeout(ctx, limit)
		defer stop()
		text, _ = a.Weather(ctx, q) // a failure has no words for the model
		known[q] = text
	}
	if text == "" {
		return "", errWeather
	}
	return text, nil
}
