package faultsim

import (
	"context"
	crypto "crypto/rand"
	"encoding/binary"
	"errors"
	"math/rand"
	randv2 "math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// drawing plugs in a loop whose waits are a random part of a second.
func drawing(draw func() uint64) Adapter {
	a := subjectAdapter(func(ctx context.Context, _ *Stage, tool trace.Func[string, int]) (any, error) {
		for n := 1; ; n++ {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			v, err := tool(ctx, "Pune")
			if err == nil || n == 3 || ctx.Err() != nil || !errors.Is(err, errBusy) {
				return v, err
			}
			if err := pause(ctx, time.Duration(draw()%uint64(time.Second))); err != nil {
				return nil, err
			}
		}
	})
	a.Policy.Retry = a.Policy.Retry[:1]
	a.Policy.Backoff = invariants.Backoff{Base: time.Second, Factor: 1, Jitter: invariants.FullJitter}
	return a
}

func fromMath() uint64 { return rand.Uint64() }
func fromV2() uint64   { return randv2.Uint64() }

func fromCrypto() uint64 {
	var b [8]byte
	_, _ = crypto.Read(b[:])
	return binary.LittleEndian.Uint64(b[:])
}

var twice = One(Fail(trace.Transient), Fail(trace.Transient))

// differs plays the schedule twice.
func differs(t *testing.T, a Adapter, s Schedule) *trace.Difference {
	t.Helper()
	return trace.Diff(Run(t, a, s), Run(t, a, s))
}

func TestRandomNumbersFollowFromTheSchedule(t *testing.T) {
	other := twice
	other.Seed = 7
	for name, draw := range map[string]func() uint64{"math/rand": fromMath, "crypto/rand": fromCrypto} {
		a := drawing(draw)
		require.Nil(t, differs(t, a, twice), name)
		require.Nil(t, differs(t, a, other), name)
		d := trace.Diff(Run(t, a, twice), Run(t, a, other))
		require.NotNil(t, d, "%s: another seed gives other numbers", name)
		require.Equal(t, "At", d.Field)
		a.Unseeded = true
		require.NotNil(t, differs(t, a, twice), "%s: left to chance", name)
	}
	require.NotNil(t, differs(t, drawing(fromV2), twice), "math/rand/v2 cannot be seeded; where it can be now, say so")
}

// A test beside others has no process for itself.
func TestParallelTestsAreNotSeeded(t *testing.T) {
	for range 2 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			require.NotNil(t, differs(t, drawing(fromCrypto), twice))
			t.Run("child", func(t *testing.T) { require.NotNil(t, differs(t, drawing(fromMath), twice)) })
		})
	}
}

// What a test draws after a trial is left to chance, and the test may still be what it
// wants to be.
func TestSeedingEndsWithTheTrial(t *testing.T) {
	reader := crypto.Reader
	var after [2]uint64
	for i := range after {
		t.Run("", func(t *testing.T) {
			Run(t, drawing(fromMath), twice)
			require.Equal(t, reader, crypto.Reader)
		})
		after[i] = rand.Uint64()
		require.NotEqual(t, fromCrypto(), fromCrypto())
	}
	require.NotEqual(t, after[0], after[1])
	t.Run("", func(t *testing.T) {
		Run(t, drawing(fromMath), twice)
		t.Parallel()
	})
}

// Trials at once share the process: none of them is seeded in the middle of another,
// and none waits for ever.
func TestTrialsAtOnceShareTheProcess(t *testing.T) {
	done := make(chan error, 16)
	for i := range cap(done) {
		draw := []func() uint64{fromCrypto, fromMath}[i%2]
		go func() { done <- Trial(t, drawing(draw), twice).Err }()
	}
	for range cap(done) {
		require.NoError(t, <-done)
	}
}

func TestSeedIsPartOfTheText(t *testing.T) {
	s := twice
	s.Seed = 7
	back, err := Parse(s.String())
	require.NoError(t, err)
	require.Equal(t, s, back)
	for _, line := range []string{"seed", "seed x", "seed 0", "seed -1", "seed 7\nseed 8"} {
		_, err := Parse("rehearse schedule 1\naction\n" + line + "\n")
		require.ErrorContains(t, err, "seed", line)
	}
}
