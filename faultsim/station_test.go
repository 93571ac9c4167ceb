package faultsim

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fed is a station that calls come to independently, with so much to do for each of
// its workers on average.
func fed(workers, room int, load float64, calls int, times func(r *rand.Rand, waiting int) time.Duration) (st *station, refused int) {
	r := rand.New(rand.NewPCG(1, 2))
	st = &station{workers: workers, room: room, times: func(waiting int) time.Duration { return times(r, waiting) }}
	gap := float64(time.Second) / (load * float64(workers))
	now := 0.0
	for range calls {
		now += r.ExpFloat64() * gap
		if at := time.Duration(now); !st.admit(&customer{at: at}, at) {
			refused++
		}
	}
	st.until(math.MaxInt64)
	return st, refused
}

func steady(*rand.Rand, int) time.Duration { return time.Second }

// The line is that of the textbooks: M/M/1 and M/M/c by Erlang's formula C, M/D/1 by
// that of Pollaczek and Khinchine, and M/M/c/c, which has no line, by Erlang's B. What
// waits is not independent of what waited before: of ten workers at 0.8, 100,000 calls
// wait 6 % more or less from seed to seed (standard deviation of ten).
func TestStationIsTheQueueOfTheTextbooks(t *testing.T) {
	const calls, service = 100_000, 1.0 // a second
	for _, c := range []struct {
		name    string
		workers int
		load    float64
		times   func(*rand.Rand, int) time.Duration
		wait    float64
		within  float64
	}{
		{"M/M/1", 1, 0.5, exponentialTimes, 0.5 / (1 - 0.5) * service, 0.04},
		{"M/M/4", 4, 0.7, exponentialTimes, erlangC(4, 2.8) / (4 - 2.8) * service, 0.04},
		{"M/M/10", 10, 0.8, exponentialTimes, erlangC(10, 8) / (10 - 8) * service, 0.15},
		{"M/D/1", 1, 0.7, steady, 0.7 / (2 * (1 - 0.7)) * service, 0.04},
	} {
		t.Run(c.name, func(t *testing.T) {
			st, refused := fed(c.workers, -1, c.load, calls, c.times)
			require.Zero(t, refused)
			require.Equal(t, calls, st.served)
			require.InEpsilon(t, c.wait, st.waited/calls/float64(time.Second), c.within)
			require.InEpsilon(t, c.load, st.worked/float64(st.last)/float64(c.workers), 0.01)
		})
	}
	t.Run("M/M/10/10", func(t *testing.T) {
		st, refused := fed(10, 0, 0.8, calls, exponentialTimes)
		require.Zero(t, st.waited)
		require.InEpsilon(t, erlangB(10, 8), float64(refused)/calls, 0.03)
	})
}

// erlangB is the share of calls that find all servers busy, where a of them are
// offered in the time of one.
func erlangB(servers int, a float64) float64 {
	b := 1.0
	for n := 1; n <= servers; n++ {
		b = a * b / (float64(n) + a*b)
	}
	return b
}

// erlangC is the share of calls that have to wait.
func erlangC(servers int, a float64) float64 {
	b := erlangB(servers, a)
	return b / (1 - a/float64(servers)*(1-b))
}

// Whoever comes first is served first, and who leaves the line makes room.
func TestStationServesInTheOrderOfArrival(t *testing.T) {
	st := &station{workers: 1, room: 2, times: func(int) time.Duration { return 10 }}
	all := make([]*customer, 6)
	for i := range all {
		all[i] = &customer{at: time.Duration(i)}
	}
	for i, let := range []bool{true, true, true, false} {
		require.Equal(t, let, st.admit(all[i], all[i].at))
	}
	require.True(t, st.withdraw(all[1]))
	require.False(t, st.withdraw(all[1]), "twice")
	require.False(t, st.withdraw(all[0]), "a worker has it")
	require.True(t, st.admit(all[4], 4))
	require.False(t, st.admit(all[5], 9))
	all[5].at = 10
	require.True(t, st.admit(all[5], 10), "at the very instant at which a place is free")
	st.until(1000)
	require.Equal(t, []time.Duration{10, 0, 20, 0, 30, 40}, []time.Duration{all[0].end, all[1].end, all[2].end, all[3].end, all[4].end, all[5].end})
	require.Equal(t, 4, st.served)
	require.Zero(t, st.waiting)
}

// A service can slow down with the line before it.
func TestStationSlowsDown(t *testing.T) {
	st := &station{workers: 1, room: -1, times: func(waiting int) time.Duration { return time.Duration(10 * (1 + waiting)) }}
	var all [3]customer
	for i := range all {
		st.admit(&all[i], 0)
	}
	st.until(1000)
	require.Equal(t, [3]time.Duration{10, 30, 40}, [3]time.Duration{all[0].end, all[1].end, all[2].end})
}

// The mean wait is right where the waits together are beyond a time.Duration.
func TestTheMeanOfALongLine(t *testing.T) {
	r := reception{st: station{workers: 1, room: -1, times: func(int) time.Duration { return time.Hour }}}
	const calls = 3001
	for range calls {
		r.st.admit(&customer{}, 0)
	}
	r.st.until(calls * time.Hour)
	require.Equal(t, calls/2*time.Hour, r.served().Wait)
	require.InDelta(t, 1, r.served().Busy, 1e-9)
}

// exponentialTimes are service times of a second on average.
func exponentialTimes(r *rand.Rand, _ int) time.Duration {
	return Exponential(time.Second).Quantile(r.Float64())
}
