package faultsim

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rehearse-go/rehearse/trace"
)

// Fuzz runs the property of [Check] as a fuzz test: each input of the fuzzer is the
// schedule of one trial, and what the code under test does is what the fuzzer's
// search for coverage follows.
//
//	func FuzzFaults(f *testing.F) { faultsim.Fuzz(f, adapter) }
//
// The bits of an input are the decisions of [Check]'s own drawing, in their order,
// and behind its end all bits are zero, which is the plainest decision. So every
// input is a schedule, a short one is a plain schedule, and a changed bit changes
// one decision.
//
// Under go test -fuzz, a failing schedule shrinks and is saved below
// testdata/rehearse as Check does it; commit that file. The input that go test
// writes below testdata/fuzz means another schedule as soon as the drawing changes.
// Without -fuzz it replays the saved cases, and plays a few inputs that follow from
// the test's name. An accepted deviation that does not occur fails nothing here.
//
// It needs the testing package of Go itself: tools that turn a fuzz test into a
// target of another fuzzer replace *testing.F, see docs/campaigns.md.
func Fuzz(f *testing.F, a Adapter) {
	f.Helper()
	z, err := newFuzzer(f.Name(), &a)
	if err != nil {
		f.Fatalf("%v", err)
	}
	for _, input := range z.seeds() {
		f.Add(input)
	}
	f.Fuzz(z.play)
}

// A fuzzer is one fuzz test. The fuzzing engine plays its inputs one after
// another, in processes of its own.
type fuzzer struct {
	property check // without its t
	cases    map[string]*savedCase
	small    map[string]*failure // what is known to fail, by the invariant, made small
	spent    *trace.Trace        // that nobody reads any more
}

func newFuzzer(name string, a *Adapter) (*fuzzer, error) {
	if err := a.validate(); err != nil {
		return nil, err
	}
	set, err := readSettings(name)
	if err != nil {
		return nil, err
	}
	cases, err := loadCases(name)
	if err != nil {
		return nil, err
	}
	z := &fuzzer{cases: map[string]*savedCase{}, small: map[string]*failure{}}
	z.property.of(name, a, set)
	for i := range cases {
		z.cases[cases[i].path] = &cases[i]
	}
	return z, nil
}

// seeds are the inputs to begin with: the names of the saved cases, the plainest
// schedule, and some at random. A case stands for itself, and is not changed to
// make others: a text that is changed at random is seldom a schedule.
func (z *fuzzer) seeds() [][]byte {
	list := [][]byte{{}}
	for _, name := range slices.Sorted(maps.Keys(z.cases)) {
		list = append(list, []byte(name))
	}
	for n := range drawnSeeds {
		random := rand.NewPCG(z.property.set.seed, uint64(n))
		var input []byte
		for range seedWords {
			input = binary.LittleEndian.AppendUint64(input, random.Uint64())
		}
		list = append(list, input)
	}
	return list
}

const (
	drawnSeeds = 16
	seedWords  = 8 // of 64 decisions
)

// play is the fuzz target.
func (z *fuzzer) play(t *testing.T, input []byte) {
	c, err := z.check(t)
	if err != nil {
		t.Fatalf("%v", err)
	}
	if k := z.cases[string(input)]; k != nil {
		c.replayCase(k)
		return
	}
	s := decode(c.drawer, input)
	x := c.newTrial(&s, z.spent)
	x.drawn = true
	tr, err := abandonable(t, x)
	r := c.judge(tr, err, nil)
	z.spent = nil
	if !r.broken() && r.err == nil {
		z.spent = r.tr
		return
	}
	z.failed(c, &failure{s: s, r: &r, origin: fmt.Sprintf("drawn from an input of %d bytes", len(input))})
}

// check is the property for one input.
func (z *fuzzer) check(t *testing.T) (*check, error) {
	c := &check{t: t}
	p := &z.property
	c.name, c.a, c.set, c.most, c.invs, c.content, c.beside = p.name, p.a, p.set, p.most, p.invs, p.content, p.beside
	if p.drawer == nil {
		calmCollector()
		if err := c.prepare(); err != nil {
			return nil, err
		}
		p.drawer = c.drawer
	}
	c.drawer = p.drawer
	return c, nil
}

// failed reports a failing input. The engine makes an input that fails smaller by
// itself, and calls again for each try: what has been made small once is not made
// small again.
func (z *fuzzer) failed(c *check, f *failure) {
	c.t.Helper()
	if f.r.err != nil {
		c.failed(f)
	}
	name := f.r.found[0].Invariant
	if known := z.small[name]; known != nil {
		c.report(known.r, &known.s, f.origin+", which breaks the same invariant", nil)
		return
	}
	defer func() {
		if f.rate == 1 {
			z.small[name] = f
		}
	}()
	c.failed(f)
}

// decode is the schedule that an input stands for.
func decode(d *drawer, bytes []byte) Schedule {
	return d.draw(&source{input: &input{bytes: bytes[:min(len(bytes), longestInput)]}})
}

const longestInput = 4 << 10 // bytes that are read
