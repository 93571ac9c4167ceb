package agentloop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

const (
	turns    = 8                      // of the model, in one run
	attempts = 3                      // of one call, in one run, whoever asks for it
	limit    = 5 * time.Second        // of one attempt
	patience = 30 * time.Second       // of one turn of the model
	pause    = 500 * time.Millisecond // before the second attempt; doubled before each further one
)

// The failures of a tool, and of the model, that pass. All others are final.
var (
	ErrBusy        = errors.New("too many requests")
	ErrUnavailable = errors.New("service unavailable")
)

// A run is one request on its way.
type run struct {
	agent  *Agent
	guard  guard
	talk   []Message
	key    string // of the booking, made once for the request
	booked string // what the booking answered; empty: there is none
}

// next asks the model for its next turn, and again where that failed and may pass.
func (r *run) next(ctx context.Context) (turn Turn, err error) {
	for n := 1; ctx.Err() == nil; n++ {
		turn, err = r.ask(ctx)
		if err == nil || n == attempts || !passes(err) {
			break
		}
		if err := sleep(ctx, pause<<(n-1)); err != nil {
			return Turn{}, err
		}
	}
	switch {
	case ctx.Err() != nil:
		return Turn{}, ctx.Err()
	case err != nil:
		return Turn{}, ErrModel
	}
	return turn, nil
}

func (r *run) ask(ctx context.Context) (Turn, error) {
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	return r.agent.Model.Next(ctx, r.talk)
}

// carryOut runs the calls of a turn, one after another, and puts the turn and a result
// for each call into the conversation. The error ends the run.
func (r *run) carryOut(ctx context.Context, turn Turn) error {
	results := Message{From: "tool"}
	for _, c := range turn.Calls {
		text, err := r.call(ctx, c, turn.Whole)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			text = err.Error()
		}
		results.Results = append(results.Results, Result{ID: c.ID, Tool: c.Tool, Text: text, Failed: err != nil})
	}
	r.talk = append(r.talk, Message{From: "model", Text: turn.Text, Calls: turn.Calls}, results)
	return nil
}

// call runs one call, and returns what the model is told.
func (r *run) call(ctx context.Context, c Call, whole bool) (string, error) {
	if r.booked != "" {
		return "", errors.New("not run: the table is booked")
	}
	if !whole {
		return "", errors.New("not run: the call was cut off; ask again, shorter")
	}
	tool, args, err := r.agent.prepare(c)
	if err != nil {
		return "", err
	}
	if err := r.guard.admit(c.Tool, args); err != nil {
		return "", err
	}
	send := args
	if c.Tool == "book" {
		send = keyed(args, r.key)
	}
	text, err := r.try(ctx, c.Tool, args, func(ctx context.Context) (string, error) { return tool(ctx, send) })
	if err == nil && c.Tool == "book" {
		r.booked = text
	}
	return text, err
}

// try calls the tool until it answers, its attempts are spent, or it fails for good.
func (r *run) try(ctx context.Context, name string, args json.RawMessage, tool func(context.Context) (string, error)) (text string, err error) {
	for n := 1; r.guard.spend(name, args); n++ {
		if n > 1 {
			if err := sleep(ctx, pause<<(n-2)); err != nil {
				return "", err
			}
		}
		if text, err = attempt(ctx, tool); err == nil || ctx.Err() != nil {
			return text, err
		}
		if !passes(err) {
			r.guard.close(name, args, err)
			break
		}
	}
	return "", told(name, err)
}

func attempt(ctx context.Context, tool func(context.Context) (string, error)) (string, error) {
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	return tool(ctx)
}

// passes reports whether another attempt may go better.
func passes(err error) bool {
	return errors.Is(err, ErrBusy) || errors.Is(err, ErrUnavailable) || errors.Is(err, context.DeadlineExceeded)
}

// told is a failure in our words: those of a tool are for its owners, and may hold
// what neither the model nor the user should see.
func told(tool string, err error) error {
	if passes(err) {
		return fmt.Errorf("%s does not answer at the moment, and was tried %d times: tell the user, do not ask again", tool, attempts)
	}
	return fmt.Errorf("%s refuses this: do not ask for it again", tool)
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
