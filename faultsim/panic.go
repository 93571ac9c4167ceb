package faultsim

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
)

// panicSite is the file and line of the code under test that panicked. It
// must be called from a deferred function.
func panicSite() string {
	pc := make([]uintptr, 32)
	frames := runtime.CallersFrames(pc[:runtime.Callers(2, pc)])
	panicking := false
	for {
		f, more := frames.Next()
		if panicking && !strings.HasPrefix(f.Function, "runtime.") {
			return fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line)
		}
		if f.Function == "runtime.gopanic" {
			panicking = true
		}
		if !more {
			return "an unknown place"
		}
	}
}
