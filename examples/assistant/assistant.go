// Package assistant is a loop that a model drives: the model says which tool is
// called next, and code says what may be called at all. What has one right answer is
// in the code, so that no sample of no model can break it; what depends on the
// goal is the model's.
package assistant

import (
	"context"
	"errors"
	"slices"
	"time"
)

// Query is what a tool is asked.
type Query struct {
	City string `json:"city"`
}

// Forecast is what a tool answers.
type Forecast struct {
	Celsius int `json:"celsius"`
}

// Errors of the tools, and of the loop itself.
var (
	ErrUnavailable = errors.New("weather: service unavailable")
	ErrForbidden   = errors.New("weather: permission denied")

	ErrNotAllowed = errors.New("assistant: no leave for this tool")
	ErrRefused    = errors.New("assistant: the tool has refused, and is not asked again")
	ErrDrift      = errors.New("assistant: a retry keeps its arguments")
	ErrNoAnswer   = errors.New("assistant: no tool has answered")
)

// Tool is a tool, as the loop sees it.
type Tool func(context.Context, Query) (Forecast, error)

// A Move is what the model wants next.
type Move struct {
	Tool  string // empty: the model is done
	Query Query
}

// Seen is a move and what came of it: an answer, a tool's error, or one of the loop.
type Seen struct {
	Move   Move
	Answer Forecast
	Err    error
}

// A Model says what to do after what was seen.
type Model func(seen []Seen) Move

// Assistant is the loop.
type Assistant struct {
	Model    Model
	Tools    map[string]Tool
	Allowed  []string      // names of the tools that may be called
	MaxCalls int           // for one question, the first included
	Wait     time.Duration // before a call that repeats one which has failed

	// Trusting leaves out what the code says of the model's moves, apart from
	// their number. It is there to show what that is for.
	Trusting bool
}

// Ask lets the model work on one question. The answer is that of a tool, whatever
// the model makes of it.
func (a *Assistant) Ask(ctx context.Context) (Forecast, error) {
	var seen []Seen
	calls := 0
	for range 2 * a.MaxCalls { // a model that insists on what it may not do ends too
		next := a.Model(slices.Clone(seen))
		if next.Tool == "" || calls == a.MaxCalls {
			break
		}
		s, settled := a.guard(next, seen)
		if !settled {
			if err := a.pause(ctx, next, seen); err != nil {
				return Forecast{}, err
			}
			calls++
			s.Answer, s.Err = a.Tools[next.Tool](ctx, next.Query)
		}
		seen = append(seen, s)
	}
	return outcome(seen)
}

// guard refuses a move that no model may make, and settles one that was answered before
// without a call. What it does not settle is to be made.
func (a *Assistant) guard(next Move, seen []Seen) (s Seen, settled bool) {
	s.Move = next
	if a.Trusting {
		return s, false
	}
	if !slices.Contains(a.Allowed, next.Tool) {
		s.Err = ErrNotAllowed
		return s, true
	}
	for _, before := range seen {
		switch {
		case before.Move.Tool != next.Tool:
		case errors.Is(before.Err, ErrForbidden):
			s.Err = ErrRefused
			return s, true
		case errors.Is(before.Err, ErrUnavailable) && before.Move.Query != next.Query:
			s.Err = ErrDrift
			return s, true
		case before.Err == nil && before.Move == next:
			return before, true
		}
	}
	return s, false
}

// pause waits before a call that repeats one which has failed.
func (a *Assistant) pause(ctx context.Context, next Move, seen []Seen) error {
	again := slices.ContainsFunc(seen, func(s Seen) bool { return s.Move == next && s.Err != nil })
	if !again {
		return ctx.Err()
	}
	select {
	case <-time.After(a.Wait):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// outcome is the last answer of a tool, else the last failure of one.
func outcome(seen []Seen) (Forecast, error) {
	failure := ErrNoAnswer
	for _, s := range slices.Backward(seen) {
		if s.Err == nil {
			return s.Answer, nil
		}
		if failure == ErrNoAnswer && (errors.Is(s.Err, ErrUnavailable) || errors.Is(s.Err, ErrForbidden)) {
			failure = s.Err
		}
	}
	return Forecast{}, failure
}
