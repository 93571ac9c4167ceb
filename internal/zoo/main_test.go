package zoo

import (
	"os"
	"runtime/debug"
	"testing"
)

// Hundreds of thousands of trials leave little behind each: with the collector's usual
// pace they would take a sixth longer.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}
