package faultsim

import (
	"cmp"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// A goroutine is one of a dump of all stacks.
type goroutine struct {
	head  string // "goroutine 7 [chan receive (durable), synctest bubble 3]:"
	lines []string
}

// stackSize is how much there is to read of most stacks. A dump that does not fit takes
// as long as one that does, and has to be taken again.
const stackSize = 4 << 10

// goroutines reads the stacks of all goroutines that are in a bubble.
func goroutines() []goroutine {
	buf := make([]byte, stackSize*(runtime.NumGoroutine()+16))
	n := runtime.Stack(buf, true)
	for n == len(buf) && n < 1<<26 {
		buf = make([]byte, 2*len(buf))
		n = runtime.Stack(buf, true)
	}
	var found []goroutine
	for text := range strings.SplitSeq(string(buf[:n]), "\n\n") {
		lines := strings.Split(strings.TrimSpace(text), "\n")
		if strings.Contains(lines[0], "synctest bubble") {
			found = append(found, goroutine{lines[0], lines[1:]})
		}
	}
	return found
}

// state is what the goroutine does: "chan receive (durable)".
func (g *goroutine) state() string {
	_, state, _ := strings.Cut(g.head, "[")
	state, _, _ = strings.Cut(state, "]")
	state, _, _ = strings.Cut(state, ",")
	return state
}

// bubble is the number of its bubble.
func (g *goroutine) bubble() string { return numberIn(g.head) }

func numberIn(head string) string {
	_, number, _ := strings.Cut(head, "synctest bubble ")
	return number[:len(number)-len(strings.TrimLeft(number, "0123456789"))]
}

// root reports whether it is the goroutine that runs the bubble.
func (g *goroutine) root() bool { return strings.Contains(g.head, "synctest.Run") }

// bubbleNumber is the number of the caller's bubble.
func bubbleNumber() string {
	var buf [128]byte
	return numberIn(string(buf[:runtime.Stack(buf[:], false)]))
}

// leftovers says where the goroutines that a bubble has left behind are
// blocked, in one line that begins with a line break.
func leftovers(bubble string) string {
	var places []string
	for _, g := range goroutines() {
		if g.bubble() != bubble || g.root() {
			continue
		}
		if at := g.site(); at != "" {
			state, _, _ := strings.Cut(g.state(), " (")
			places = append(places, state+" in "+at)
		}
	}
	if len(places) == 0 {
		return ""
	}
	slices.Sort(places)
	places = slices.Compact(places)
	text := strings.Join(places[:min(len(places), 3)], "; ")
	if len(places) > 3 {
		text += fmt.Sprintf("; and %d more", len(places)-3)
	}
	return "\n: " + text
}

// site is the innermost place in the goroutine's stack that belongs neither to
// the standard library nor to this module: "pay.(*Agent).retry (pay.go:34)";
// empty: there is none.
func (g *goroutine) site() string {
	for i := 0; i+1 < len(g.lines); i += 2 {
		fn, at := g.lines[i], strings.TrimSpace(g.lines[i+1])
		if cut := strings.LastIndexByte(fn, '('); cut > 0 {
			fn = fn[:cut]
		}
		at, _, _ = strings.Cut(at, " ")
		if strings.HasPrefix(fn, "created by ") {
			return ""
		}
		file, _, _ := strings.Cut(at, ":")
		if strings.HasSuffix(file, "_test.go") || !strings.HasPrefix(at, goroot) && !ours(fn) {
			return fmt.Sprintf("%s (%s)", fn[strings.LastIndexByte(fn, '/')+1:], filepath.Base(at))
		}
	}
	return ""
}

// ours tells the toolkit's own functions from its users'.
func ours(fn string) bool {
	const module = "github.com/rehearse-go/rehearse/"
	for _, p := range []string{"faultsim.", "internal/double.", "trace.", "invariants."} {
		if strings.HasPrefix(fn, module+p) {
			return true
		}
	}
	return strings.HasPrefix(fn, "runtime.") || strings.HasPrefix(fn, "testing.") || strings.HasPrefix(fn, "time.") || strings.HasPrefix(fn, "sync.")
}

// goroot is the folder of the standard library, as stacks show it.
var goroot = func() string {
	f, _ := runtime.CallersFrames([]uintptr{funcPC()}).Next()
	if root, _, ok := strings.Cut(filepath.ToSlash(f.File), "/src/runtime/"); ok {
		return root + "/src/"
	}
	return "\x00" // trimmed paths: tell by the name alone
}()

// funcPC is a place in package runtime.
func funcPC() uintptr {
	var pc [16]uintptr
	return pc[runtime.Callers(0, pc[:])-1]
}

// A holdup is a goroutine that virtual time waits for.
type holdup struct {
	cause string // what it does, and why that stops the time
	stack string
}

// holdups returns the goroutines in the bubble that are not durably blocked.
// Where the bubble's number is not known, it takes all bubbles, the latest first.
func holdups(bubble string) []holdup {
	all := goroutines()
	slices.SortStableFunc(all, func(a, b goroutine) int {
		return cmp.Or(cmp.Compare(len(b.bubble()), len(a.bubble())), strings.Compare(b.bubble(), a.bubble()))
	})
	var found []holdup
	for _, g := range all {
		if strings.Contains(g.head, "(durable)") || g.root() || bubble != "" && g.bubble() != bubble {
			continue
		}
		at := g.site()
		if at == "" {
			at = "an unknown place"
		}
		stack := append([]string{g.head}, g.lines[:min(len(g.lines), 10)]...)
		found = append(found, holdup{at + " " + reasonOf(g.state()), strings.Join(stack, "\n")})
	}
	return found
}

// reasonOf words the state of a goroutine that holds virtual time up.
func reasonOf(state string) string {
	switch {
	case strings.HasPrefix(state, "sync.Mutex"), strings.HasPrefix(state, "sync.RWMutex"):
		return "waits for a mutex that another goroutine holds while it waits: virtual time cannot see that; let go of the lock before waiting"
	case state == "IO wait", state == "syscall":
		return "waits for the real world (network, file, process): use Stage.Client, or net.Pipe"
	case strings.HasPrefix(state, "chan"), strings.HasPrefix(state, "select"):
		return "waits for a channel that was made outside the bubble: make it in Subject"
	case strings.HasPrefix(state, "sync.WaitGroup"), strings.HasPrefix(state, "semacquire"):
		return "waits for a WaitGroup or semaphore from outside the bubble: make it in Subject"
	case strings.HasPrefix(state, "sync.Cond"):
		return "waits for a condition variable from outside the bubble: make it in Subject"
	case state == "running", state == "runnable":
		return "computes without end and without waiting"
	case strings.HasPrefix(state, "sleep"):
		return "sleeps in real time"
	}
	return "is in state \"" + state + "\", which virtual time waits for"
}
