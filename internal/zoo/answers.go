package zoo

import (
	"context"
	"errors"
	"fmt"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/trace"
)

// Subjects of a tool that says much of what is wrong in its answer, and not in
// an error.
func answers() []Specimen {
	return []Specimen{
		{"decline-asked-again", "A business no counts as a passing failure, and the agent asks until its attempts are used up.",
			testingRetries, "no-retry-after-refusal", seating(func(ctx context.Context, ask seats) (seat, error) { return patientSeat(ctx, ask, asksAgain) })},
		{"flag-without-data", "The flag of the answer is looked at, and the seat that goes with it is not there.",
			threeLayer, "honest-ending", seating(func(ctx context.Context, ask seats) (seat, error) { return patientSeat(ctx, ask, readFlag) })},
		{"part-taken-for-the-whole", "Some of the seats are missing, and the answer is passed on as if it were whole.",
			retrySafe, "honest-ending", seating(func(ctx context.Context, ask seats) (seat, error) { return patientSeat(ctx, ask, readOne) })},
	}
}

// The seat plan of a train, which answers with {Found: false} and the like.
type (
	trip struct{ Train, Day string }
	seat struct {
		Found   bool
		Number  string
		SoldOut bool
		Missing []string // parts of the trip without an answer
	}
	seats = func(context.Context, trip) (seat, error)
)

var (
	errSeatsDown    = errors.New("seats: unavailable")
	errSeatsUnknown = errors.New("seats: no such train")
	errSeatless     = errors.New("seats: an answer without a seat")
)

func seatFailures() faultsim.Errors {
	return faultsim.Errors{
		trace.Transient: errSeatsDown, trace.Invalid: errSeatsUnknown,
		trace.Declined:  faultsim.Value(seat{SoldOut: true}),
		trace.Malformed: faultsim.Value(seat{Found: true}),
		trace.Partial:   faultsim.Value(seat{Found: true, Number: "12A", Missing: []string{"the way back"}}),
	}
}

func seating(agent func(context.Context, seats) (seat, error)) faultsim.Adapter {
	return faultsim.Adapter{
		Name: "seat", Policy: policy(),
		Subject: func(s *faultsim.Stage) faultsim.Action {
			ask := faultsim.Tool(s, "seats", func(context.Context, trip) (seat, error) { return seat{Found: true, Number: "12A"}, nil }, seatFailures())
			return func(ctx context.Context) (any, error) { return agent(ctx, ask) }
		},
	}
}

// patientSeat is the right loop around a reading of the answer.
func patientSeat(ctx context.Context, ask seats, read func(seat) error) (seat, error) {
	wait := base
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return seat{}, err
		}
		got, err := askOnce(ctx, ask)
		if err == nil {
			err = read(got)
		}
		if err == nil {
			return got, nil
		}
		if n == attempts || ctx.Err() != nil || !errors.Is(err, errSeatsDown) && !errors.Is(err, context.DeadlineExceeded) {
			return seat{}, err
		}
		if err := sleep(ctx, wait); err != nil {
			return seat{}, err
		}
		wait *= 2
	}
}

func askOnce(ctx context.Context, ask seats) (seat, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return ask(ctx, trip{Train: "11302", Day: "2026-03-14"})
}

// readSeat knows what an answer must have.
func readSeat(s seat) error {
	switch {
	case s.SoldOut:
		return nil // a valid answer
	case s.Number == "":
		return errSeatless
	case len(s.Missing) > 0:
		return fmt.Errorf("seats: no answer for %v", s.Missing)
	}
	return nil
}

func asksAgain(s seat) error {
	if s.SoldOut {
		return fmt.Errorf("sold out: %w", errSeatsDown)
	}
	return readSeat(s)
}

func readFlag(s seat) error {
	if s.Found && len(s.Missing) == 0 {
		return nil
	}
	return readSeat(s)
}

func readOne(s seat) error {
	s.Missing = nil
	return readSeat(s)
}
