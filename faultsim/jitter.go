package faultsim

import (
	"hash/fnv"
	"math/rand/v2"

	"github.com/rehearse-go/rehearse/internal/double"
)

// A Jitter is a source of random numbers for the code under test. Make it with
// [Stage.Jitter]. It may be used by several goroutines at once.
type Jitter struct{ j double.Jitter }

var _ rand.Source = (*Jitter)(nil)

// Jitter is a source of random numbers for code that takes one: its methods are
// such functions, and it is a rand.Source of math/rand/v2. The numbers follow
// from the schedule, so that a trial can be repeated to the nanosecond; where
// the schedule says so they are all the least or the greatest, which the waits of
// chance hardly ever are.
//
//	agent := New(tool, s.Jitter().Float64)           // func() float64
//	agent := New(tool, rand.New(s.Jitter()))         // math/rand/v2
//	agent := New(tool, s.Jitter().Int64N)            // func(n int64) int64
func (s *Stage) Jitter() *Jitter {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.jittered = true
	j := new(Jitter)
	switch s.climate.s.Jitter {
	case JitterLeast:
		j.j.Pin = double.Least
	case JitterGreatest:
		j.j.Pin = double.Greatest
	default:
		h := fnv.New64a()
		h.Write([]byte(s.climate.s.String()))
		if s.crowd != nil {
			s.crowd.seed(h, s.build)
		}
		j.j.Seed = h.Sum64()
	}
	return j
}

// Float64 is a number in [0, 1).
func (j *Jitter) Float64() float64 { return j.j.Float64() }

// Int64N is a number in [0, n); 0 where n is not positive.
func (j *Jitter) Int64N(n int64) int64 { return j.j.Int64N(n) }

// Uint64 makes it a rand.Source. Now and then the least number is a little more
// than 0, since math/rand/v2 rejects some numbers, 0 among them, and would draw
// for ever; what its functions make of that is 1, or less than a millionth of the
// range.
func (j *Jitter) Uint64() uint64 { return j.j.Uint64() }

// A JitterPin says which numbers a [Jitter] gives.
type JitterPin string

const (
	JitterLoose    JitterPin = ""         // those that follow from the schedule
	JitterLeast    JitterPin = "least"    // 0
	JitterGreatest JitterPin = "greatest" // the largest below 1, and n-1
)

var jitterPins = []JitterPin{JitterLoose, JitterLeast, JitterGreatest}
