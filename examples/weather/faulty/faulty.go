// Package faulty is the weather agent with one mistake, to show what a failure
// of its tests looks like.
package faulty

import (
	"context"
	"errors"
	"time"

	"github.com/rehearse-go/rehearse/examples/weather"
)

// Forecast asks for the weather in a city, with three attempts.
//
// The mistake: it remembers that a failure was passing, and then retries
// whatever comes after it, a refusal too.
func Forecast(ctx context.Context, tool weather.Tool, city string) (weather.Forecast, error) {
	passing := false
	wait := 100 * time.Millisecond
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return weather.Forecast{}, err
		}
		once, cancel := context.WithTimeout(ctx, 5*time.Second)
		f, err := tool(once, weather.Query{City: city, Units: "metric"})
		cancel()
		if err == nil {
			return f, nil
		}
		if errors.Is(err, weather.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) {
			passing = true
		}
		if !passing || n == 3 {
			return weather.Forecast{}, err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return weather.Forecast{}, ctx.Err()
		}
		wait *= 2
	}
}
