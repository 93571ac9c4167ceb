package zoo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
)

func successes() []Specimen {
	return []Specimen{
		{"no-break-after-success", "The loop keeps the answer and goes round again, because nothing leaves it.",
			testingRetries, "stop-after-success", weather(keepsAsking)},
		{"obeys-the-answer", "The answer's text says to call again, and the agent does.",
			testingRetries, "stop-after-success", weather(obeysAnswer)},
		{"failed-log-repeats-the-call", "A success whose log entry fails counts as a failure, and the call is made again.",
			"F083", "stop-after-success", weather(repeatsForLog)},
		{"page-never-turned", "The cursor of the next page is not taken over, and the first page is fetched for ever.",
			handling, "no-spin", weather(turnsNoPage)},
		{"last-answer-dropped", "The loop gives up when its attempts are used up, and does not look at what the last of them answered.",
			testingRetries, "honest-ending", agents(tries(5), failures(), dropsTheLast)},
	}
}

func keepsAsking(ctx context.Context, call tool) (forecast, error) {
	var got []forecast
	wait := base
	for n := 1; n <= attempts; n++ {
		if err := ctx.Err(); err != nil {
			return forecast{}, err
		}
		f, err := once(ctx, call, pune)
		if err == nil {
			got = append(got, f)
			continue
		}
		if n == attempts || final(ctx, err) {
			return forecast{}, err
		}
		if err := sleep(ctx, wait); err != nil {
			return forecast{}, err
		}
		wait *= 2
	}
	return got[0], nil
}

func obeysAnswer(ctx context.Context, call tool) (forecast, error) {
	f, err := patient(ctx, call)
	if err == nil && strings.Contains(f.Note, "Call again") {
		return patient(ctx, call)
	}
	return f, err
}

// auditLog is a log that is full.
func auditLog(forecast) error { return errors.New("audit: no space left on device") }

func repeatsForLog(ctx context.Context, call tool) (forecast, error) {
	wait := base
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return forecast{}, err
		}
		f, err := once(ctx, call, pune)
		if err == nil {
			if err = auditLog(f); err == nil || n == attempts {
				return f, nil
			}
		} else if n == attempts || final(ctx, err) {
			return forecast{}, err
		}
		if err := sleep(ctx, wait); err != nil {
			return forecast{}, err
		}
		wait *= 2
	}
}

func turnsNoPage(ctx context.Context, call tool) (forecast, error) {
	next := "tomorrow"
	for next != "" {
		f, err := patient(ctx, call)
		if err != nil {
			return forecast{}, fmt.Errorf("page %s: %w", next, err)
		}
		if !strings.Contains(f.Note, next) {
			return f, nil
		}
	}
	return forecast{}, nil
}

// dropsTheLast looks at the count first, and at the answer only where there is another
// attempt left.
func dropsTheLast(ctx context.Context, call tool) (forecast, error) {
	wait := base
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return forecast{}, err
		}
		f, err := once(ctx, call, pune)
		if n == 5 {
			return forecast{}, fmt.Errorf("weather: gave up after %d attempts: %w", n, cmp.Or(err, errUnavailable))
		}
		if err == nil || final(ctx, err) {
			return f, err
		}
		if err := sleep(ctx, wait); err != nil {
			return forecast{}, err
		}
		wait *= 2
	}
}
