package invariants

import (
	"fmt"
	"strings"
	"unicode"
)

// short is: the whole is no longer than the limit.
func (o Observation) short() Invariant {
	return each("observation-short", fmt.Sprintf("what is handed on has at most %d bytes", o.Limit), func(h *handed) (v Verdict) {
		v.Applied++
		if n := len(h.tr.Events[h.event].Result); n > o.Limit {
			v.report(h.a, fmt.Sprintf("%d bytes were handed on, at most %d are allowed", n, o.Limit),
				"hand on the class and one sentence; the rest belongs into the log", h.event)
		}
		return v
	})
}

// telling is: the message says what went wrong.
func (o Observation) telling() Invariant {
	return each("observation-telling", "the message says what went wrong, not only a status", func(h *handed) (v Verdict) {
		value, _ := h.at(o.Message)
		message, ok := value.(string)
		if !ok || message == "" || digest(value) {
			return v
		}
		v.Applied++
		if bare(message) {
			v.report(h.a, fmt.Sprintf("the message that was handed on is a bare status: %q", message),
				"say in a sentence what failed and why, as far as it is known", h.event)
		}
		return v
	})
}

// hollow are words that say no more than that something failed.
var hollow = map[string]bool{
	"error": true, "err": true, "errors": true, "failed": true, "failure": true, "fail": true, "exception": true, "unknown": true,
	"http": true, "status": true, "code": true, "internal": true, "server": true, "request": true, "tool": true, "call": true,
	"an": true, "a": true, "the": true, "occurred": true, "something": true, "went": true, "wrong": true, "with": true, "null": true, "nil": true,
}

// bare reports whether the message has no word that tells anything.
func bare(message string) bool {
	for word := range strings.FieldsFuncSeq(strings.ToLower(message), func(r rune) bool { return !unicode.IsLetter(r) }) {
		if !hollow[word] {
			return false
		}
	}
	return true
}
