package double

import (
	"fmt"
	"sync"
)

// TB is what a double needs of a test. *testing.T, *testing.B, *testing.F and
// *rapid.T have it.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Cleanup(func())
}

// A Door is the only way from a double to its test. It lets each report
// through once, and none once the test is over: an Errorf after the end of a
// test kills the test binary. It never ends a goroutine, since the goroutine
// is the caller's.
type Door struct {
	t      TB
	mu     sync.Mutex // held during Errorf, so that no report overtakes the end
	over   bool
	passed map[string]bool
}

// NewDoor returns a door to t that closes in t's cleanup, after last has run.
// Nil last is nothing to run.
func NewDoor(t TB, last func()) *Door {
	t.Helper() // the place of a report from the cleanup is that of the registration
	d := &Door{t: t, passed: map[string]bool{}}
	t.Cleanup(func() {
		t.Helper()
		if last != nil {
			last()
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		d.over = true
	})
	return d
}

// Report hands the text to the test's Errorf unless a report of that name has
// been made, or the test is over. It tells whether it did.
func (d *Door) Report(name, format string, args ...any) bool {
	d.t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over || d.passed[name] {
		return false
	}
	d.passed[name] = true
	d.t.Errorf("%s", fmt.Sprintf(format, args...))
	return true
}

// Reported tells whether a report of that name has been made.
func (d *Door) Reported(name string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.passed[name]
}
