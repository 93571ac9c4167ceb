package zoo

import (
	"cmp"
	"os"
	"runtime"
	"runtime/debug"
	"testing"
)

// Hundreds of thousands of trials leave little behind each: with the collector's usual
// pace they would take a sixth longer. Of hundreds of failures each is run again twenty
// times only, which takes a fifth off; REHEARSE_RERUNS=0 does what Check does.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Setenv("REHEARSE_RERUNS", cmp.Or(os.Getenv("REHEARSE_RERUNS"), "20"))
	os.Exit(m.Run())
}

// onOneCore is for tests that mostly play one trial after the other: that Go wakes
// another core for each goroutine, which finds nothing to do, takes a fifth of their
// time.
func onOneCore(t *testing.T) {
	cores := runtime.GOMAXPROCS(1)
	t.Cleanup(func() { runtime.GOMAXPROCS(cores) })
}
