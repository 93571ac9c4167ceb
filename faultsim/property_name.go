package faultsim

import (
	"fmt"
	"sync"
	"testing"
)

// running are the names of the properties whose tests are not over.
var running = struct {
	sync.Mutex
	names map[string]bool
}{names: map[string]bool{}}

// propertyName is the name by which a property keeps its cases and its results, and from
// which its seed follows: that of its test. A further property of the same test has the
// adapter's name behind it, and a number where that is taken too, as the tests of t.Run
// do. Run again, by -count, the test has the same names.
func propertyName(t *testing.T, adapter string) string {
	running.Lock()
	defer running.Unlock()
	name := t.Name()
	for n := 0; running.names[name]; n++ {
		name = t.Name() + "/" + adapter
		if n > 0 {
			name += fmt.Sprintf("#%02d", n)
		}
	}
	running.names[name] = true
	t.Cleanup(func() {
		running.Lock()
		defer running.Unlock()
		delete(running.names, name)
	})
	return name
}
