package faultsim_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
)

var errTakenKey = errors.New("seats: the key was used for another seat")

// A booker books seats, and keeps the number of each booking with its key.
type booker struct {
	save func(ctx context.Context, seat string) (int, error)
	mu   sync.Mutex
	kept map[string]booking
}

type booking struct {
	seat   string
	number int
}

func (b *booker) book(ctx context.Context, key, seat string) (int, error) {
	if done, ok := b.find(key); ok {
		if done.seat != seat {
			return 0, errTakenKey
		}
		return done.number, nil
	}
	number, err := b.save(ctx, seat)
	if err != nil {
		return 0, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.kept[key] = booking{seat, number}
	return number, nil
}

func (b *booker) find(key string) (booking, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	done, ok := b.kept[key]
	return done, ok
}

// Served makes a tool the code under test: what does a second call get that
// means the same as the first? This one looks its keys up before the work and
// notes them after it, so that two calls at once both find nothing.
func ExampleServed() {
	tool := faultsim.Served[string, int]{
		Name:    "book",
		Repeats: invariants.Repeats{AtOnce: invariants.AtOnceWaits},
		Subject: func(s *faultsim.Stage) faultsim.Serve[string, int] {
			save := func(context.Context, string) (int, error) { return 1, nil }
			b := &booker{save: faultsim.Tool(s, "database", save, nil), kept: map[string]booking{}}
			return b.book
		},
		Args: "12A", Other: "12B",
		Clash: func(err error) bool { return errors.Is(err, errTakenKey) },
	}.Adapter()

	TestBookIsSafeToRepeat := func(t *testing.T) {
		faultsim.Check(t, tool) // repeat-has-no-effect: book: database did its work 2 times
	}
	_ = TestBookIsSafeToRepeat // go test runs it
}
