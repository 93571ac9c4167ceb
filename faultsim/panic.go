package faultsim

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
)

// panicSite is the file and line of the code under test that panicked, or that
// called what panicked in the standard library or in this module. It must be
// called from a deferred function.
func panicSite() string {
	pc := make([]uintptr, 32)
	frames := runtime.CallersFrames(pc[:runtime.Callers(2, pc)])
	panicking := false
	for {
		f, more := frames.Next()
		if panicking && (strings.HasSuffix(f.File, "_test.go") || !strings.HasPrefix(f.File, goroot) && !ours(f.Function)) {
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
