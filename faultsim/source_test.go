package faultsim

import (
	"context"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/trace"
)

// withTools is homeAdapter with further tools on the stage.
func withTools(names ...string) Adapter {
	a := homeAdapter()
	a.Subject = func(s *Stage) Action {
		for _, name := range append([]string{"weather"}, names...) {
			Tool[string, int](s, name, nil, Errors{trace.Transient: errBusy, trace.Invalid: errForbidden})
		}
		return func(context.Context) (any, error) { return nil, nil }
	}
	return a
}

func drawerOf(t *testing.T, a Adapter) *drawer {
	t.Helper()
	tools, err := inspect(t, &a)
	require.NoError(t, err)
	return newDrawer(&a, tools)
}

func TestAnotherToolMovesNoFaultOfTheFirst(t *testing.T) {
	one, two := drawerOf(t, withTools()), drawerOf(t, withTools("news"))
	moved := 0
	for n := range 2_000 {
		s, more := one.draw(seeded(trialSeed(1, n))), two.draw(seeded(trialSeed(1, n)))
		require.Len(t, more.Actions, len(s.Actions))
		for i := range s.Actions {
			require.Equal(t, s.Actions[i].Faults["weather"], more.Actions[i].Faults["weather"], "trial %d", n)
			require.Equal(t, s.Actions[i].Cancel, more.Actions[i].Cancel)
		}
		if len(more.Actions[0].Faults["news"]) > 0 {
			moved++
		}
	}
	require.Greater(t, moved, 1_000, "the other tool fails too, and apart from the first")
}

// An attempt more moves none of those before it.
func TestALongerStreakMovesNoAttempt(t *testing.T) {
	d := drawerOf(t, withTools())
	more := *d
	more.tools = append([]drawnTool(nil), d.tools...)
	more.tools[0].most++
	for n := range 2_000 {
		short, long := d.streak(seeded(uint64(n)), &d.tools[0]), more.streak(seeded(uint64(n)), &more.tools[0])
		both := min(len(short), len(long))
		require.Equal(t, short[:both], long[:both])
	}
}

func TestActionsAreDrawnApart(t *testing.T) {
	d := drawerOf(t, withTools())
	same, pairs := 0, 0
	for n := range 4_000 {
		s := d.draw(seeded(trialSeed(1, n)))
		if len(s.Actions) < 2 || len(s.Actions[0].Faults["weather"]) < 3 {
			continue
		}
		if pairs++; reflect.DeepEqual(s.Actions[0], s.Actions[1]) {
			same++
		}
	}
	require.Greater(t, pairs, 100)
	require.Less(t, same, pairs/20)
}

func TestStreamsOfASourceAreEvenAndApart(t *testing.T) {
	counts := map[uint64]int{}
	for n := range draws {
		t := seeded(trialSeed(1, n/4)).nth(n % 4).of("weather")
		counts[t.bits(3)<<3|t.bits(3)]++
	}
	require.Len(t, counts, 64)
	for _, n := range counts {
		rare(t, "six bits", n, draws, 1.0/64)
	}
}
