// Package fanout asks several shards of an index side by side and joins what they
// say. Each lookup has attempts of its own; where one of them fails for good, the
// search fails, with the errors of all.
package fanout

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// What a shard says when it fails.
var (
	ErrBusy      = errors.New("index: busy")
	ErrForbidden = errors.New("index: forbidden")
)

// A Query is a lookup in one shard.
type Query struct {
	Shard int    `json:"shard"`
	Text  string `json:"text"`
}

// Attempts is how often a lookup tries, and Wait how long it waits before the second
// attempt; before the third it waits twice as long.
const (
	Attempts = 3
	Wait     = 50 * time.Millisecond
)

// Search looks the text up in all shards at once.
func Search(ctx context.Context, shards int, find func(context.Context, Query) (string, error), text string) ([]string, error) {
	hits, errs := make([]string, shards), make([]error, shards)
	var wg sync.WaitGroup
	for i := range shards {
		wg.Go(func() { hits[i], errs[i] = lookup(ctx, find, Query{Shard: i, Text: text}) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	return hits, nil
}

// lookup asks one shard, again where it was busy.
func lookup(ctx context.Context, find func(context.Context, Query) (string, error), q Query) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	wait := Wait
	for n := 1; ; n++ {
		hit, err := find(ctx, q)
		if !errors.Is(err, ErrBusy) || n == Attempts {
			return hit, err
		}
		if end, ok := ctx.Deadline(); ok && time.Until(end) <= wait {
			return "", err // the next attempt would come too late
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return "", errors.Join(ctx.Err(), err)
		}
		wait *= 2
	}
}
