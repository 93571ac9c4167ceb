package faultsim

import (
	"math/bits"

	"github.com/rehearse-go/rehearse/trace"
)

// kinds are the kinds of faults that a double was to show, or has shown, in one
// trial: a bit for each class of failure, and one for each of aspects.
type kinds uint64

// aspects are the kinds beyond the classes. Their words are those of the schedule's
// text form, where it has one.
var aspects = [...]struct {
	name string
	of   func(*Fault) bool
}{
	{"lost reply", func(f *Fault) bool { return f.Done && (f.Hang || f.class() != trace.OK) }},
	{"hang", func(f *Fault) bool { return f.Hang }},
	{"hint", func(f *Fault) bool { return f.Hint > 0 }},
	{"latency", func(f *Fault) bool { return f.Latency > 0 }},
	{"body", func(f *Fault) bool { return f.Body > 0 }},
	{"deaf", func(f *Fault) bool { return f.Deaf }},
	{"empty", func(f *Fault) bool { return f.Empty }},
	{"work", func(f *Fault) bool { return f.Work > 0 }},
	{"twice", func(f *Fault) bool { return f.Twice }},
	{"words", func(f *Fault) bool { return f.Say != "" }},
	{"wrap", func(f *Fault) bool { return f.Wrap != WrapNone }},
	{"advice", func(f *Fault) bool { return f.Advice != trace.AdviceNone }},
	{"move", func(f *Fault) bool { return f.Move != "" }},
	{"valid", func(f *Fault) bool { return f.Valid > 0 }},
	{"panic", func(f *Fault) bool { return f.Panic }},
	{"cancel", func(f *Fault) bool { return f.Cancel > 0 }},
	{"crash", func(f *Fault) bool { return f.Crash > 0 }},
	{"drain", func(f *Fault) bool { return f.Drain > 0 }},
}

// firstAspect is the bit of the first of aspects, behind those of the classes.
const firstAspect = int(trace.Unknown) + 1

// kindNames are the names of all kinds, by bit; empty: no kind has it.
var kindNames = func() (names [firstAspect + len(aspects)]string) {
	for c := trace.OK + 1; c <= trace.Unknown; c++ {
		names[c] = c.String()
	}
	for i := range aspects {
		names[firstAspect+i] = aspects[i].name
	}
	return names
}()

// kinds are what the fault has of them.
func (f *Fault) kinds() (k kinds) {
	if f.Class == 0 && *f == (Fault{}) {
		return 0 // as most attempts
	}
	if c := f.class(); c != trace.OK && !f.Hang {
		k |= 1 << c
	}
	for i := range aspects {
		if aspects[i].of(f) {
			k |= 1 << (firstAspect + i)
		}
	}
	return k
}

// planned are the kinds of the faults that the schedule has for the double of that
// name; main: it is the adapter's first tool.
func (s *Schedule) planned(name string, main bool) (k kinds) {
	for i := range s.Actions {
		k |= kindsOf(s.Actions[i].Faults[name])
		if main {
			k |= kindsOf(s.Actions[i].Faults[Main])
		}
	}
	return k
}

func kindsOf(faults []Fault) (k kinds) {
	for n := range faults[:min(len(faults), longestGarnished)] { // more than that are all alike
		k |= faults[n].kinds()
	}
	return k
}

// each yields the bits that are set.
func (k kinds) each(yield func(kind int) bool) {
	for ; k != 0; k &= k - 1 {
		if !yield(bits.TrailingZeros64(uint64(k))) {
			return
		}
	}
}
