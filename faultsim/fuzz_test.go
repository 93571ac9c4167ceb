package faultsim

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A right subject, with whatever inputs the fuzzer makes.
func FuzzHome(f *testing.F) { Fuzz(f, homeAdapter()) }

func generator(t *testing.T) *fuzzer {
	a := homeAdapter()
	z, err := newFuzzer(t.Name(), &a)
	require.NoError(t, err)
	_, err = z.check(t)
	require.NoError(t, err)
	return z
}

func TestEveryInputIsASchedule(t *testing.T) {
	d := generator(t).property.drawer
	for _, x := range []struct{ name, input, want string }{
		{"no input", "", "rehearse schedule 1\naction\n"},
		{"a short one", "\x07", "rehearse schedule 1\naction\n  weather 1 transient\n  weather 2 transient\n"},
		{"long after the last decision", strings.Repeat("\x00", 2*longestInput), "rehearse schedule 1\naction\n"},
	} {
		s := decode(d, []byte(x.input))
		assert.Equal(t, x.want, s.String(), x.name)
	}
	ones := decode(d, []byte(strings.Repeat("\xff", longestInput)))
	require.NotEmpty(t, ones.Actions)
}

// A changed bit changes a part of the schedule, and most bits change something.
func TestAChangedBitIsAChangeOfTheSchedule(t *testing.T) {
	z := generator(t)
	input := z.seeds()[1]
	was := strings.Split(decode(z.property.drawer, input).String(), "\n")
	changed := map[string]bool{}
	for i := range 8 * 8 {
		other := append([]byte(nil), input...)
		other[i/8] ^= 0x80 >> (i % 8)
		changed[decode(z.property.drawer, other).String()] = true
	}
	require.Greater(t, len(changed), 20, "of 64 bits, from %d lines", len(was))
}
