package scripted

import (
	"math/rand/v2"

	"github.com/rehearse-go/rehearse/internal/double"
)

// A Jitter stands in for the random numbers of code that has them injected, and
// is always the same: [Least] or [Greatest]. So a test meets both ends of the
// window of a wait, which chance hardly ever does.
//
//	agent.Rand = scripted.Greatest().Float64           // func() float64
//	agent.Rand = rand.New(scripted.Least())            // math/rand/v2
//	agent.Rand = scripted.Greatest().Int64N            // func(n int64) int64
//
// It may be used by several goroutines at once.
type Jitter struct{ j double.Jitter }

var _ rand.Source = (*Jitter)(nil)

// Least is the source whose numbers are the least: 0.
func Least() *Jitter { return &Jitter{double.Jitter{Pin: double.Least}} }

// Greatest is the source whose numbers are the greatest: the largest float64
// below 1, and n-1.
func Greatest() *Jitter { return &Jitter{double.Jitter{Pin: double.Greatest}} }

// Float64 is the number in [0, 1).
func (j *Jitter) Float64() float64 { return j.j.Float64() }

// Int64N is the number in [0, n); 0 where n is not positive.
func (j *Jitter) Int64N(n int64) int64 { return j.j.Int64N(n) }

// Uint64 makes it a rand.Source. Now and then the least number is a little more
// than 0, since math/rand/v2 rejects some numbers, 0 among them, and would draw
// for ever; what its functions make of that is 1, or less than a millionth of the
// range.
func (j *Jitter) Uint64() uint64 { return j.j.Uint64() }
