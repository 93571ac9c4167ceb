package faultsim

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A header says whole seconds. A schedule that shrank to a microsecond would
// ask for one thing, and the timeline would show another.
func TestHintsShrinkInWholeSeconds(t *testing.T) {
	s := One(Throttle(90 * time.Second))
	tried := 0
	rounder(s, 0, func(change step) bool {
		hint := with(s, change).Actions[0].Faults[Main][0].Hint
		require.Zero(t, hint%time.Second, "%v", hint)
		tried++
		return true
	})
	require.NotZero(t, tried)
}
