package double

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// Pieces is how the body of a response arrives: in four pieces of a size, one
// behind the other. The zero value is a body that is there at once.
type Pieces struct {
	Over  time.Duration // from the status to the last piece
	Break bool          // the connection breaks behind the first half, which is all that comes
	Stall bool          // nothing comes behind the first half, and no end either
	Half  int           // how many bytes the first half is; 0: half of them
}

const pieces = 4

// arrival is what there is of a body that arrives in pieces.
type arrival struct {
	begin   time.Time
	over    time.Duration
	stall   bool
	size    int // of a piece
	taken   int // bytes that have been read
	once    sync.Once
	closing chan struct{}
}

// arrives makes a whole body of real time, which in a bubble is virtual, come
// in pieces.
func (b *responseBody) arrives(p Pieces) {
	if p.Break || p.Stall {
		half := p.Half
		if half <= 0 || half > len(b.rest) {
			half = len(b.rest) / 2
		}
		b.rest, b.broken = b.rest[:half], p.Break
	}
	b.pace = &arrival{
		begin: time.Now(), over: p.Over, stall: p.Stall,
		size: max(1, (len(b.rest)+pieces-1)/pieces), closing: make(chan struct{}),
	}
}

// await blocks until more of the body is there, and returns how much of the
// rest it is. class tells how the context ended meanwhile, err that the body
// was closed.
func (a *arrival) await(ctx context.Context, rest int) (n int, class trace.Class, err error) {
	piece := min(a.taken/a.size+1, pieces)
	if rest == 0 || rest <= a.size {
		piece = pieces // the last one, and the end with it
	}
	var due <-chan time.Time
	if rest > 0 || !a.stall {
		t := time.NewTimer(time.Until(a.begin.Add(a.over * time.Duration(piece) / pieces)))
		defer t.Stop()
		due = t.C
	}
	var done <-chan struct{}
	if ctx != nil {
		done = ctx.Done()
	}
	select {
	case <-due:
		return min(rest, piece*a.size-a.taken), 0, nil
	case <-done:
		return 0, Ended(ctx), nil
	case <-a.closing:
		return 0, 0, http.ErrBodyReadAfterClose
	}
}

func (a *arrival) close() { a.once.Do(func() { close(a.closing) }) }
