// Package approval is an agent that pays bills back, and asks somebody first: leave is
// for one call, with these arguments, in this run, until it expires. The model may ask
// for what it likes; it has no leave to give.
package approval

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
	turns   = 6                // of the model, in one run
	limit   = 5 * time.Second  // of one payment
	waiting = 30 * time.Minute // for an answer of the owner
)

// How a run can end beside a payment.
var (
	ErrDenied  = errors.New("the owner has not agreed")
	ErrFailed  = errors.New("nothing was paid back")
	ErrUnknown = errors.New("it is not known whether the money was paid back: look before you try again")
	ErrModel   = errors.New("the assistant cannot be reached")
)

// ErrRefused is the bank's word that nothing was paid. Any other error leaves it open.
var ErrRefused = errors.New("refused")

// A Refund is what is paid back.
type Refund struct {
	Invoice string `json:"invoice"`
	Cents   int    `json:"cents"`
}

// A Leave is the owner's answer.
type Leave struct {
	Granted bool
	Until   time.Time // zero: for good
}

// An Agent pays back. It may be used by several goroutines at once.
type Agent struct {
	Model agentloop.Model
	Ask   func(context.Context, agentloop.Call) (Leave, error)
	Pay   func(context.Context, Refund) (string, error)
}

// Run runs the loop for one request, and returns what the user is told.
func (a *Agent) Run(ctx context.Context, request string) (string, error) {
	r := run{agent: a}
	talk := []agentloop.Message{{From: "user", Text: request}}
	for range turns {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		turn, err := a.Model.Next(ctx, talk)
		switch {
		case ctx.Err() != nil:
			return "", ctx.Err()
		case err != nil:
			return "", ErrModel
		case len(turn.Calls) == 0:
			return "", ErrFailed
		}
		results := agentloop.Message{From: "tool"}
		for _, c := range turn.Calls {
			text, err := r.call(ctx, c, turn.Whole)
			if ctx.Err() != nil {
				return "", ctx.Err()
			}
			if err != nil {
				text = err.Error()
			}
			results.Results = append(results.Results, agentloop.Result{ID: c.ID, Tool: c.Tool, Text: text, Failed: err != nil})
		}
		switch {
		case r.receipt != "":
			return "The money was paid back: " + r.receipt + ".", nil
		case r.end != nil:
			return "", r.end
		}
		talk = append(talk, agentloop.Message{From: "model", Text: turn.Text, Calls: turn.Calls}, results)
	}
	return "", ErrFailed
}

// A run is one request on its way. Its first payment is its only one: a second one is
// another request, whatever the model makes of the first.
type run struct {
	agent   *Agent
	receipt string
	end     error // why it is over; nil: it is not
}

var errOver = errors.New("not run: the request is over")

func (r *run) call(ctx context.Context, c agentloop.Call, whole bool) (string, error) {
	var refund Refund
	switch {
	case r.receipt != "" || r.end != nil:
		return "", errOver
	case !whole:
		return "", errors.New("not run: the call was cut off")
	case c.Tool != "refund":
		return "", fmt.Errorf("there is no tool %q: there is refund", c.Tool)
	}
	d := json.NewDecoder(bytes.NewReader([]byte(c.Args)))
	d.DisallowUnknownFields()
	if d.Decode(&refund) != nil || d.More() {
		return "", errors.New("not run: these are no arguments for refund")
	}
	if err := r.mayPay(ctx, c); err != nil {
		r.end = ErrDenied
		return "", err
	}
	return r.pay(ctx, refund)
}

// mayPay asks the owner about this very call, right before it is made.
func (r *run) mayPay(ctx context.Context, c agentloop.Call) error {
	ctx, stop := context.WithTimeout(ctx, waiting)
	defer stop()
	leave, err := r.agent.Ask(ctx, c)
	if err != nil || !leave.Granted || !leave.Until.IsZero() && !time.Now().Before(leave.Until) {
		return ErrDenied
	}
	return nil
}

// pay pays once. What did not answer may have been done, and is not tried again.
func (r *run) pay(ctx context.Context, refund Refund) (string, error) {
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	receipt, err := r.agent.Pay(ctx, refund)
	switch {
	case err == nil:
		r.receipt = receipt
	case errors.Is(err, ErrRefused):
		r.end = ErrFailed
	default:
		r.end = ErrUnknown
	}
	return receipt, r.end
}
