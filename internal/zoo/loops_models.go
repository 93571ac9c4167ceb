package zoo

import (
	"context"
	"errors"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
)

// Loops that ask their model wrongly.
func modelLoops() []Specimen {
	return []Specimen{
		{"loop-model-refusal-retried", "A model's service that refuses is asked again like one that is down.",
			testingRetries, "model-no-retry-after-refusal", thinking(passesIf(errDeskForbids), attempts, nil)},
		{"loop-model-rejection-retried", "A request that the model's service rejects as invalid is sent again as it is.",
			testingRetries, "model-no-retry-after-refusal", thinking(passesIf(errDeskNoSuch), attempts, nil)},
		{"loop-model-hint-ignored", "The wait that a throttled model asks for is not looked at.",
			"F009", "model-hint-honoured", thinking(passes, attempts, func(time.Duration) time.Duration { return 0 })},
		{"loop-model-tried-without-a-wait", "A model that is down is asked again at once.",
			handling, "model-waits-in-window", thinkingAtOnce()},
		{"loop-model-tried-too-often", "The retries of a turn are counted from zero.",
			"F002", "model-attempts-bounded", thinking(passes, attempts+1, nil)},
		{"loop-model-given-up-at-once", "The first failure of the model's service ends the run.",
			handling, "model-conforms", thinking(passes, 1, nil)},
		{"loop-model-without-a-timeout", "Calls of tools have a time, and those of the model have none.",
			handling, "model-attempt-timeout", supporting(func(h *host) { h.think = thinksUntimed })},
		{"loop-model-cut-short", "The model is given the time of a lookup, and longer replies never come.",
			handling, "model-whole-attempt", supporting(func(h *host) { h.think = thinksShort })},
		{"loop-model-left-behind", "A model that takes long is asked again, and the first request is left at work.",
			handling, "model-no-overlap", supporting(func(h *host) { h.think = thinksOn })},
		{"loop-model-retried-by-two-layers", "The client retries, and so does the loop around it.",
			"F050", "model-attempts-bounded", supporting(func(h *host) { h.think = thinksTwice })},
	}
}

func passesIf(also error) func(error) bool {
	return func(err error) bool { return passes(err) || errors.Is(err, also) }
}

// thinking plugs in a host with another reading of a model's failures.
func thinking(passing func(error) bool, most int, wait func(asked time.Duration) time.Duration) faultsim.Adapter {
	if wait == nil {
		wait = func(asked time.Duration) time.Duration { return asked }
	}
	return supporting(func(h *host) {
		h.think = func(h *host, ctx context.Context, r *run) (said speech, err error) {
			for n, own := 1, base; ; n, own = n+1, 2*own {
				if err := ctx.Err(); err != nil {
					return speech{}, err
				}
				limited, cancel := context.WithTimeout(ctx, limit)
				said, err := h.brain(limited, r.talk, h.names)
				cancel()
				if err == nil || n >= most || ctx.Err() != nil || !passing(err) {
					return said, err
				}
				if err := sleep(ctx, max(own, wait(pauseAsked(err)))); err != nil {
					return speech{}, err
				}
			}
		}
	})
}

func thinkingAtOnce() faultsim.Adapter {
	return supporting(func(h *host) {
		h.think = func(h *host, ctx context.Context, r *run) (said speech, err error) {
			for range attempts {
				if err := ctx.Err(); err != nil {
					return speech{}, err
				}
				limited, cancel := context.WithTimeout(ctx, limit)
				said, err = h.brain(limited, r.talk, h.names)
				cancel()
				if err == nil || ctx.Err() != nil || !passes(err) {
					break
				}
				if pause := pauseAsked(err); pause > 0 {
					_ = sleep(ctx, pause)
				}
			}
			return said, err
		}
	})
}

func thinksUntimed(h *host, ctx context.Context, r *run) (said speech, err error) {
	for n, wait := 1, base; ; n, wait = n+1, 2*wait {
		if err := ctx.Err(); err != nil {
			return speech{}, err
		}
		said, err := h.brain(ctx, r.talk, h.names)
		if err == nil || n >= attempts || ctx.Err() != nil || !passes(err) {
			return said, err
		}
		if err := sleep(ctx, max(wait, pauseAsked(err))); err != nil {
			return speech{}, err
		}
	}
}

func thinksTwice(h *host, ctx context.Context, r *run) (said speech, err error) {
	said, err = h.thinks(ctx, r)
	if err != nil && ctx.Err() == nil && passes(err) {
		if err := sleep(ctx, base); err != nil {
			return said, err
		}
		return h.thinks(ctx, r)
	}
	return said, err
}

func thinksShort(h *host, ctx context.Context, r *run) (speech, error) {
	brain := h.brain
	own := *h
	own.brain = func(ctx context.Context, talk []line, names []string) (speech, error) {
		short, cancel := context.WithTimeout(ctx, limit/5)
		defer cancel()
		return brain(short, talk, names)
	}
	return own.thinks(ctx, r)
}

// thinksOn leaves a request that takes its whole time to itself.
func thinksOn(h *host, ctx context.Context, r *run) (speech, error) {
	brain := h.brain
	own := *h
	own.brain = func(limited context.Context, talk []line, names []string) (speech, error) {
		type answer struct {
			said speech
			err  error
		}
		came := make(chan answer, 1)
		longer, cancel := context.WithTimeout(ctx, limit)
		go func() {
			defer cancel()
			said, err := brain(longer, talk, names)
			came <- answer{said, err}
		}()
		select {
		case a := <-came:
			return a.said, a.err
		case <-time.After(limit - 2*base):
			return speech{}, context.DeadlineExceeded
		case <-ctx.Done():
			return speech{}, ctx.Err()
		}
	}
	return own.thinks(ctx, r)
}
