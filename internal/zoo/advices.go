package zoo

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// A weatherError says itself, where it knows, whether it may be tried again.
type weatherError struct {
	code  string
	word  trace.Advice
	after time.Duration
}

func (e *weatherError) Error() string { return "weather: " + e.code }

// outspoken are failures with such a flag.
func outspoken() faultsim.Errors {
	says := func(code string) error {
		return faultsim.Advised(func(word trace.Advice, hint time.Duration) error { return &weatherError{code, word, hint} })
	}
	return faultsim.Errors{
		trace.Transient: says("unavailable"), trace.Throttled: says("busy"),
		trace.Invalid: says("no such city"), trace.Forbidden: says("permission denied"),
	}
}

func advices() []Specimen {
	return []Specimen{
		{"final-word-not-read", "The code of the error is read and its flag is not, and what calls itself final is tried again.",
			testingRetries, "advice-heeded", heeding(invariants.AdviceStops, byCode)},
		{"claims-believed", "A flag that comes from anybody's tool is believed, and a refusal that calls itself retryable is tried again.",
			toolErrors, "no-retry-after-refusal", heeding(invariants.AdviceIgnored, byFlag)},
		{"retryable-word-not-read", "The adapter was to trust its tool's flag, and reads it only where it says stop.",
			testingRetries, "conforms", heeding(invariants.AdviceDecides, byCodeAndStop)},
	}
}

// heeding plugs in the patient loop with a way of reading the tool's errors.
func heeding(use invariants.AdviceUse, again func(*weatherError) bool) faultsim.Adapter {
	p := with(func(p *invariants.Policy) { p.ID, p.Advice = "weather/advised", use })
	return agents(p, outspoken(), func(ctx context.Context, call tool) (forecast, error) {
		wait := base
		for n := 1; ; n++ {
			if err := ctx.Err(); err != nil {
				return forecast{}, err
			}
			f, err := once(ctx, call, pune)
			if err == nil {
				return f, nil
			}
			told, isOne := errors.AsType[*weatherError](err)
			passing := errors.Is(err, context.DeadlineExceeded) || isOne && again(told)
			if n == attempts || ctx.Err() != nil || !passing {
				return forecast{}, err
			}
			pause := wait
			if isOne {
				pause = max(wait, told.after)
			}
			if err := sleep(ctx, pause); err != nil {
				return forecast{}, err
			}
			wait *= 2
		}
	})
}

func byCode(e *weatherError) bool { return e.code == "unavailable" || e.code == "busy" }

func byCodeAndStop(e *weatherError) bool { return byCode(e) && e.word != trace.AdviceStop }

func byFlag(e *weatherError) bool {
	if e.word == trace.AdviceNone {
		return byCode(e)
	}
	return e.word == trace.AdviceRetry
}

// shouldRetry plugs in a web agent whose server says in a header whether a failing
// request may be sent again.
func shouldRetry() faultsim.Adapter {
	p := webPolicy()
	p.ID, p.Advice = "web/advised", invariants.AdviceStops
	r := route(http.MethodGet)
	r.Advice = "X-Should-Retry"
	return onRoute(p, r, func(a *webAgent) { a.word = r.Advice })
}
