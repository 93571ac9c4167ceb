// Package weather is the quickstart: a small agent function that asks a
// weather tool and retries it by a policy.
package weather

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Query is what the tool is asked.
type Query struct {
	City  string `json:"city"`
	Units string `json:"units"`
}

// Forecast is what the tool answers.
type Forecast struct {
	Celsius int `json:"celsius"`
}

// Errors of the tool.
var (
	ErrUnavailable = errors.New("weather: service unavailable")
	ErrInvalid     = errors.New("weather: no such city")
	ErrForbidden   = errors.New("weather: permission denied")
)

// Tool is the weather tool, as the agent sees it.
type Tool func(context.Context, Query) (Forecast, error)

// An Agent answers questions about the weather.
type Agent struct {
	Tool     Tool
	Attempts int           // executions of the tool for one question, the first included
	Base     time.Duration // wait after the first failure; it doubles from there
	Timeout  time.Duration // of one execution
	Sleep    func(context.Context, time.Duration) error
}

// New returns an agent with the usual numbers: three attempts, waits of 100 ms
// and 200 ms, five seconds for each execution.
func New(tool Tool) *Agent {
	return &Agent{Tool: tool, Attempts: 3, Base: 100 * time.Millisecond, Timeout: 5 * time.Second, Sleep: sleep}
}

// Forecast asks for the weather in a city. A failure keeps the last error and
// says how many attempts were made.
func (a *Agent) Forecast(ctx context.Context, city string) (Forecast, error) {
	query := Query{City: city, Units: "metric"}
	wait := a.Base
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return Forecast{}, err
		}
		f, err := a.once(ctx, query)
		if err == nil {
			return f, nil
		}
		if ctx.Err() != nil || !retryable(err) || n == a.Attempts {
			return Forecast{}, &Error{Attempts: n, Err: err}
		}
		if err := a.Sleep(ctx, wait); err != nil {
			return Forecast{}, &Error{Attempts: n, Err: err}
		}
		wait *= 2
	}
}

// once is one execution, under a timeout of its own.
func (a *Agent) once(ctx context.Context, q Query) (Forecast, error) {
	ctx, cancel := context.WithTimeout(ctx, a.Timeout)
	defer cancel()
	return a.Tool(ctx, q)
}

// retryable names the failures that a second attempt can mend. Anything
// unknown is not retried.
func retryable(err error) bool {
	return errors.Is(err, ErrUnavailable) || errors.Is(err, context.DeadlineExceeded)
}

// Error is a question that could not be answered.
type Error struct {
	Attempts int
	Err      error // of the last attempt
}

func (e *Error) Error() string {
	return fmt.Sprintf("no forecast after %d attempts: %v", e.Attempts, e.Err)
}
func (e *Error) Unwrap() error { return e.Err }

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
