package zoo

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
)

func leftovers() []Specimen {
	return []Specimen{
		{"detached-retry", "The action returns its error and leaves a timer behind that tries once more.",
			testingRetries, "no-attempt-after-end", weather(detaches)},
		{"retries-behind-the-back", "The first failure is returned at once, and a timer tries again to warm the cache.",
			testingRetries, "no-attempt-after-end", weather(warmsCache)},
		{"answer-nobody-takes", "The attempt runs in a goroutine, and when the caller is gone nobody takes its answer.",
			"F041", "nothing-left", weather(patientWith(abandons))},
		{"ticker-never-stopped", "A goroutine reports progress, and nothing ends it.",
			"F041", "nothing-left", weather(reportsProgress)},
		{"waits-for-an-answer-that-failed", "Only successes are sent on the channel, and a failure is waited for without end.",
			handling, "returns", weather(waitsForSuccess)},
		{"worker-not-released", "The failing path leaves without giving its place back, and the next action waits for it.",
			"F080", "returns", built(policy(), failures(), func(*faultsim.Stage) ask { return (&queue{make(chan struct{}, 1)}).forecast })},
		{"nil-answer-used", "The answer is used before the error is looked at.",
			handling, "no-panic", weather(usesNil)},
		{"loops-on-a-dead-context", "The time that is left bounds the loop, and on a dead context it passes no more.",
			toolErrors, "no-spin", agents(timeBound(), failures(), boundByTime)},
	}
}

func detaches(ctx context.Context, call tool) (forecast, error) {
	f, err := patient(ctx, call)
	if errors.Is(err, errUnavailable) {
		later := context.WithoutCancel(ctx)
		time.AfterFunc(time.Minute, func() { _, _ = once(later, call, pune) })
	}
	return f, err
}

func warmsCache(ctx context.Context, call tool) (forecast, error) {
	if err := ctx.Err(); err != nil {
		return forecast{}, err
	}
	f, err := once(ctx, call, pune)
	if err != nil && !final(ctx, err) {
		later := context.WithoutCancel(ctx)
		time.AfterFunc(base, func() { _, _ = once(later, call, pune) })
	}
	return f, err
}

func abandons(ctx context.Context, call tool) (forecast, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	type answer struct {
		f   forecast
		err error
	}
	answers := make(chan answer)
	go func() {
		f, err := call(ctx, pune)
		answers <- answer{f, err}
	}()
	select {
	case a := <-answers:
		return a.f, a.err
	case <-ctx.Done():
		return forecast{}, ctx.Err()
	}
}

func reportsProgress(ctx context.Context, call tool) (forecast, error) {
	ticker := time.NewTicker(10 * time.Second)
	defer ticker.Stop()
	go func() {
		for range ticker.C {
			_ = "still working"
		}
	}()
	return patient(ctx, call)
}

func waitsForSuccess(ctx context.Context, call tool) (forecast, error) {
	answers := make(chan forecast, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		if f, err := patient(ctx, call); err == nil {
			answers <- f
		}
	})
	f := <-answers
	wg.Wait()
	return f, nil
}

// A queue lets one action at a time through to a delicate tool.
type queue struct{ place chan struct{} }

func (q *queue) forecast(ctx context.Context, call tool) (forecast, error) {
	if err := ctx.Err(); err != nil {
		return forecast{}, err
	}
	select {
	case q.place <- struct{}{}:
	case <-ctx.Done():
		return forecast{}, ctx.Err()
	}
	f, err := patient(ctx, call)
	if err != nil {
		return forecast{}, err
	}
	<-q.place
	return f, nil
}

func usesNil(ctx context.Context, call tool) (forecast, error) {
	fetch := func() (*forecast, error) {
		f, err := patient(ctx, call)
		if err != nil {
			return nil, err
		}
		return &f, nil
	}
	f, err := fetch()
	note := f.Note
	if err != nil {
		return forecast{}, err
	}
	return forecast{Celsius: f.Celsius, Note: note}, nil
}

// timeBound is the contract of an agent that only time bounds.
func timeBound() invariants.Policy {
	return with(func(p *invariants.Policy) {
		p.MaxAttempts, p.Budget, p.Backoff = invariants.Unlimited, 3*time.Second, invariants.Backoff{Base: base, Factor: 1}
	})
}

func boundByTime(ctx context.Context, call tool) (forecast, error) {
	begin := time.Now()
	for {
		f, err := once(ctx, call, pune)
		if err == nil || errors.Is(err, errInvalid) || errors.Is(err, errForbidden) {
			return f, err
		}
		if time.Since(begin)+base > 3*time.Second {
			return forecast{}, err
		}
		_ = sleep(ctx, base)
	}
}
