package invariants

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// The canaries: made-up texts that a double puts into the words of a failure,
// as a careless tool would. Where one of them turns up in what was handed on,
// so would a real one.
const (
	CanarySecret = "sk-canary-4f1d7c0b9e62"
	CanaryHost   = "db-7.canary.internal"
)

// Canaries returns all of them.
func Canaries() []string { return []string{CanarySecret, CanaryHost} }

// secret is: neither a canary nor a declared text was handed on.
func (o Observation) secret() Invariant {
	wanted := append(Canaries(), o.Never...)
	return each("observation-secret", "no secret and no internal host is handed on", func(h *handed) (v Verdict) {
		text := texts(h.value)
		at := slices.IndexFunc(wanted, func(s string) bool { return strings.Contains(text, s) })
		planted := h.planted()
		if at < 0 && planted < 0 && len(o.Never) == 0 {
			return v // nothing was there to leak
		}
		if v.Applied++; at < 0 {
			return v
		}
		v.report(h.a, fmt.Sprintf("%q was handed on", wanted[at]),
			"hand on words of your own for each class; what the tool said belongs into the log", planted, h.event)
		return v
	})
}

// planted is the answer before the observation that holds a canary; -1: none.
func (h *handed) planted() int {
	for i := range h.a.Attempts {
		at := h.a.Attempts[i].AnswerEvent
		if at < 0 || at > h.event {
			continue
		}
		e := &h.tr.Events[at]
		said := e.Error + string(e.Result)
		if slices.ContainsFunc(Canaries(), func(c string) bool { return strings.Contains(said, c) }) {
			return at
		}
	}
	return -1
}

// stack is: no stack trace was handed on.
func (o Observation) stack() Invariant {
	return each("observation-stack", "no stack trace is handed on", func(h *handed) (v Verdict) {
		v.Applied++
		if frame := stackLike().FindString(texts(h.value)); frame != "" {
			v.report(h.a, fmt.Sprintf("a stack trace was handed on: %q", strings.TrimSpace(frame)),
				"log the trace, and hand on the class and one sentence", h.event)
		}
		return v
	})
}

// stackLike finds what only stack traces have: those of Go, Python, and of
// Java and JavaScript. It is made when it is first needed.
var stackLike = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)goroutine \d+ \[|\.go:\d+ \+0x|Traceback \(most recent call last\)|^ *File "[^"\n]+", line \d+, in|^\s*at \S.*\.(java|kt|js|mjs|ts):\d+`)
})

// texts is all text of a value, a piece a line: names and values alike.
func texts(value any) string {
	var b strings.Builder
	gather(&b, value)
	return b.String()
}

func gather(b *strings.Builder, value any) {
	switch v := value.(type) {
	case string:
		b.WriteString(v + "\n")
	case []any:
		for _, element := range v {
			gather(b, element)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) { // always the same finding
			b.WriteString(name + "\n")
			gather(b, v[name])
		}
	}
}
