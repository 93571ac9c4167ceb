package double

import (
	"math"
	"math/rand/v2"
	"sync"
)

// A Pin says which random numbers come.
type Pin uint8

const (
	Loose    Pin = iota // those of the seed
	Least               // the least, each time
	Greatest            // the greatest
)

// A Jitter is a source of random numbers. The zero Jitter is that of seed 0.
// It may be used by several goroutines at once.
type Jitter struct {
	Pin  Pin
	Seed uint64

	mu   sync.Mutex
	free *rand.PCG
	n    int // numbers up to now
}

// least is the n-th of the least numbers. math/rand/v2 rejects a few numbers to be
// even, 0 among them, and would draw for ever: so now and then comes the least
// that it takes for a range of 32 bits, or of 64.
func least(n int) uint64 {
	switch {
	case n%64 == 0:
		return 1
	case n%8 == 0:
		return 1 << 32
	}
	return 0
}

// Uint64 makes it a rand.Source.
func (j *Jitter) Uint64() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.n++
	switch {
	case j.Pin == Greatest:
		return math.MaxUint64
	case j.Pin == Least:
		return least(j.n)
	}
	if j.free == nil {
		j.free = rand.NewPCG(j.Seed, j.Seed)
	}
	return j.free.Uint64()
}

// Float64 is in [0, 1): the least is 0, the greatest the largest number below 1.
func (j *Jitter) Float64() float64 {
	switch j.Pin {
	case Least:
		return 0
	case Greatest:
		return math.Nextafter(1, 0)
	}
	return rand.New(j).Float64()
}

// Int64N is in [0, n); 0 where n is not positive.
func (j *Jitter) Int64N(n int64) int64 {
	switch {
	case n <= 0 || j.Pin == Least:
		return 0
	case j.Pin == Greatest:
		return n - 1
	}
	return rand.New(j).Int64N(n)
}
