package invariants

import (
	"fmt"
	"strings"

	"github.com/rehearse-go/rehearse/trace"
)

// streamOnce is: where a reply breaks off that the user has begun to read, the reply
// that takes its place does not begin anew before their eyes (field case F078: "buffers
// are per attempt").
func (l *Loop) streamOnce(p *Policy) Invariant {
	const least = 8 // of shorter texts two replies may have the same by chance
	return l.runRule(p, "stream-once", "the user is not shown the same words again after a reply broke off", func(r *run) (v Verdict) {
		for i := range r.turns {
			t := &r.turns[i]
			shown := ""
			last := -1
			for n, call := range t.Calls {
				text, event := r.streamed(t, n)
				if n > 0 && len(shown) >= least && text != "" {
					v.Applied++
					if text = strings.TrimLeft(text, " \n"); len(text) >= least && (strings.HasPrefix(text, shown) || strings.HasPrefix(shown, text)) {
						v.report(r.a, fmt.Sprintf("the user was shown %q again, after the reply of %s had broken off", short([]byte(shown)), t.Model),
							"show a reply when it is whole, or take back what was shown of one that broke off, or go on where it ended", last, call, event)
						return v
					}
				}
				if text = strings.TrimLeft(text, " \n"); text != "" {
					shown, last = text, event
				}
			}
		}
		return v
	})
}

// streamed is what the user was shown of the reply to call n of the turn, and its last
// event: of one that failed what came before it did, else all until the next call.
func (r *run) streamed(t *trace.Turn, n int) (text string, last int) {
	from, to := t.Calls[n], len(r.tr.Events)
	switch {
	case n+1 < len(t.Calls):
		if to = t.Calls[n+1]; r.answerTo(from) >= 0 {
			to = min(to, r.answerTo(from))
		}
	case t.Next >= 0:
		to = t.Next
	case t.Answer < 0 && r.answerTo(from) >= 0:
		to = r.answerTo(from)
	}
	var b strings.Builder
	for _, e := range r.saidBetween(from, to) {
		b.WriteString(saidText(r.tr.Events[e].Result))
		last = e
	}
	return b.String(), last
}

// answerTo is the answer to the talk's call; -1: none has come.
func (r *run) answerTo(event int) int {
	if i := r.talkAt(event); i >= 0 {
		return r.talks[i].answer
	}
	return -1
}

// saidBetween lists the texts between two events.
func (r *run) saidBetween(from, to int) []int {
	lo, hi := search(r.a.Said, from), search(r.a.Said, to)
	return r.a.Said[lo:max(lo, hi)]
}
