package faultsim

import (
	"math/bits"

	"pgregory.net/rapid"
)

// A source is where the decisions of a schedule come from. In a property of the
// user's own it is rapid's stream, which shrinks to zeros, and in a fuzz test the
// bits of its input. In a trial of Check it is a stream that follows from the trial's seed and from the address of what is
// decided: an action, a tool, an attempt. One more draw at another address then
// moves nothing.
type source struct {
	rapid *rapid.T // nil: another one
	input *input   // nil: the stream below
	seed  uint64   // of the address
	state uint64
	word  uint64 // what is left of the word drawn last
	left  int    // its bits
}

// seeded is the source of the trial with the seed.
func seeded(seed uint64) *source { return &source{seed: seed, state: seed} }

// An input is that of a fuzz test: the bits of each byte from the highest down, and
// zeros behind its end, which are the plainest decisions.
type input struct {
	bytes []byte
	at    int // bits that have been read
}

func (in *input) bits(n int) (v uint64) {
	for range n {
		v <<= 1
		if i := in.at / 8; i < len(in.bytes) {
			v |= uint64(in.bytes[i] >> (7 - in.at%8) & 1)
			in.at++
		}
	}
	return v
}

// shared reports whether all addresses draw from one stream.
func (t *source) shared() bool { return t.rapid != nil || t.input != nil }

// of is the source for what has the name, within this address.
func (t *source) of(name string) *source {
	if t.shared() {
		return t
	}
	h := uint64(14695981039346656037) // FNV-1a
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 1099511628211
	}
	return seeded(scramble(t.seed ^ h))
}

// double is the source for the tool, model or approver of the name, which may be that
// of anything else.
func (t *source) double(name string) *source { return t.of("double").of(name) }

// nth is the source for what has the number, within this address.
func (t *source) nth(n int) *source {
	if t.shared() {
		return t
	}
	return seeded(scramble(t.seed ^ uint64(n+1)*0xd1342543de82ef95))
}

// weyl is the step of SplitMix64.
const weyl = 0x9e3779b97f4a7c15

// scramble is the finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
func scramble(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// bits draws a number of n even bits, 32 at most.
func (t *source) bits(n int) uint64 {
	if t.rapid != nil {
		v := uint64(0)
		for range n {
			v <<= 1
			if fair.Draw(t.rapid, "bit") {
				v |= 1
			}
		}
		return v
	}
	if t.input != nil {
		return t.input.bits(n)
	}
	if t.left < n {
		t.state += weyl
		t.word, t.left = scramble(t.state), 64
	}
	v := t.word & (1<<n - 1)
	t.word >>= n
	t.left -= n
	return v
}

var fair = rapid.Bool()

// below draws an even number from 0 to n-1. Rapid's own ranges favour small
// and extreme values by two to four times; its Bool is even, and a number of
// Bools shrinks to zero.
func below(t *source, n int) int {
	if n <= 1 {
		return 0
	}
	// Eight bits more than needed leave a bias of less than 1/256.
	width := bits.Len(uint(n-1)) + 8
	if n&(n-1) == 0 {
		width = bits.Len(uint(n - 1))
	}
	return int(t.bits(width)) * n >> width
}

func coin(t *source) bool { return t.bits(1) == 1 }

// oneIn is true once in 1<<n.
func oneIn(t *source, n int) bool { return t.bits(n) == 1<<n-1 }

// fractionBits is how fine a fraction is: the rarest thing that can be drawn comes
// once in four thousand million times.
const fractionBits = 32

// fraction draws an even number from 0 up to 1, which is left out.
func fraction(t *source) float64 { return float64(t.bits(fractionBits)) / (1 << fractionBits) }

// chance is true in a share p of the draws, and false for zeros unless p is 1.
func chance(t *source, p float64) bool { return p > 0 && fraction(t) >= 1-p }
