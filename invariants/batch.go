package invariants

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rehearse-go/rehearse/trace"
)

// BatchRetry is: of a batch that failed in part, the next request holds exactly
// the items that failed and may be retried.
//
//   - An item that is done is not sent again (field case F059).
//   - An item that failed for good is not sent again, and one that may pass is
//     not left out of the retry.
//   - Nothing else is mixed into the retry. A request with new items only, the
//     next chunk, is none: what failed in one chunk may be sent again before the
//     next or when all have been sent.
//   - The action claims success only where every item has a final outcome: it
//     is done, or failed in a way that a retry cannot mend (F058).
//
// So no item is asked for more often than [MaxAttempts] allows requests, and the
// work of a batch is bounded.
//
// retry lists the classes of an item's failure that a retry may mend; none:
// transient, throttled, timeout, reset and not-connected. A request that
// failed as a whole leaves its items as that failure says, so list what
// Policy.Retry does. Requests at once are not judged, and neither are calls that
// name no items.
func BatchRetry(retry ...trace.Class) Invariant {
	again := classSet(retry...)
	if len(retry) == 0 {
		again = passing
	}
	return rule("batch-retry", "the retry of a batch holds exactly the items that failed and may pass",
		func(_ *trace.Trace, a *trace.Action) (v Verdict) {
			var tools []string
			if len(a.Restarts) > 0 {
				return v // which items a crash has left to do, the trace does not tell
			}
			for i := range a.Attempts {
				if at := &a.Attempts[i]; at.Items != "" && !slices.Contains(tools, at.Tool) {
					tools = append(tools, at.Tool)
				}
			}
			for _, tool := range tools {
				b := batch{again: again, a: a, now: map[string]trace.Class{}, in: map[string]int{}}
				if b.run(tool); len(b.v.Findings) > 0 {
					return b.v
				}
				v.Applied += b.v.Applied
			}
			return v
		})
}

// passing are the classes of an item's failure that a retry may mend, where
// nobody says otherwise.
var passing = classSet(trace.Transient, trace.Throttled, trace.Timeout, trace.Reset, trace.NotConnected)

// A batch follows the items of one action at one tool.
type batch struct {
	again classes
	a     *trace.Action
	now   map[string]trace.Class // what became of each item; zero: not known
	in    map[string]int         // the call that last asked for it
	order []string               // the items in the order in which they were first sent
	v     Verdict
}

func (b *batch) run(tool string) {
	var before *trace.Attempt
	for i := range b.a.Attempts {
		at := &b.a.Attempts[i]
		if at.Tool != tool || at.Items == "" || b.a.Ended && at.Event > b.a.EndEvent {
			continue
		}
		if at.Interrupted != 0 && at.AnswerEvent >= 0 && (!b.a.Ended || at.AnswerEvent < b.a.EndEvent) {
			return // answered after its time: which of the two the program went by is not known
		}
		if before != nil {
			if !before.Seen || before.AnswerEvent < 0 || before.AnswerEvent > at.Event {
				return // at once
			}
			b.v.Applied++
			if text, advice := b.request(at); text != "" {
				b.v.report(b.a, text, advice, before.AnswerEvent, at.Event)
				return
			}
		}
		b.answer(at)
		before = at
	}
	b.end(before)
}

// answer notes what became of the items of a request.
func (b *batch) answer(at *trace.Attempt) {
	for _, it := range at.Items.List() {
		if _, known := b.now[it.ID]; !known {
			b.order = append(b.order, it.ID)
		}
		b.now[it.ID], b.in[it.ID] = 0, at.Call
		if at.Seen && at.Outcome.Items == "" { // else an item that the answer forgets stays open
			b.now[it.ID] = at.Outcome.Class
		}
	}
	for _, it := range at.Outcome.Items.List() {
		b.now[it.ID] = it.Class
	}
}

// open reports whether the item has no final outcome.
func (b *batch) open(id string) bool {
	c := b.now[id]
	return c == 0 || c == trace.Cancelled || b.again.has(c)
}

// request words what is wrong with the items of a request; empty: nothing.
func (b *batch) request(at *trace.Attempt) (text, advice string) {
	sent := map[string]bool{}
	var done, final, fresh, left []string
	retried := map[int]bool{} // calls whose items are sent again
	for _, it := range at.Items.List() {
		sent[it.ID] = true
		c, known := b.now[it.ID]
		switch {
		case !known:
			fresh = append(fresh, it.ID)
		case c == trace.OK || c == trace.Declined:
			done = append(done, it.ID)
		case !b.open(it.ID):
			final = append(final, fmt.Sprintf("%s (%v)", it.ID, c))
		default:
			retried[b.in[it.ID]] = true
		}
	}
	for _, id := range b.order {
		if b.open(id) && !sent[id] && retried[b.in[id]] { // those of another chunk have their own turn
			left = append(left, fmt.Sprintf("%s (%s)", id, classWord(b.now[id])))
		}
	}
	switch {
	case len(done) > 0:
		return fmt.Sprintf("%s was sent %s again, which it had done", at.Tool, listed(done)),
			"build the next request from the items that failed, not from the whole batch"
	case len(final) > 0:
		return fmt.Sprintf("%s was sent %s again, which no retry can mend", at.Tool, listed(final)),
			"decide for each item by its own class; hand on what failed for good"
	case len(left) > 0:
		return fmt.Sprintf("the retry of %s leaves out %s", at.Tool, listed(left)),
			"read the outcome of every item of the answer, also where the answer as a whole is a success"
	case len(retried) > 0 && len(fresh) > 0:
		return fmt.Sprintf("the retry of %s has %s mixed in, which had not been sent before", at.Tool, listed(fresh)),
			"retry what failed in a request of its own"
	}
	return "", ""
}

// end judges a success.
func (b *batch) end(last *trace.Attempt) {
	if !b.a.Ended || last == nil {
		return
	}
	b.v.Applied++
	if b.a.Error != "" || b.a.Reason != 0 && b.a.Reason != trace.ReasonSuccess {
		return
	}
	var open []string
	for _, id := range b.order {
		if b.open(id) {
			open = append(open, fmt.Sprintf("%s (%s)", id, classWord(b.now[id])))
		}
	}
	if len(open) > 0 {
		b.v.report(b.a, fmt.Sprintf("the action claims success while %s of %s has no final outcome", listed(open), last.Tool),
			"acknowledge a batch only when no item is open, and name the items that failed", last.AnswerEvent, b.a.EndEvent)
	}
}

func classWord(c trace.Class) string {
	if c == 0 {
		return "no answer"
	}
	return c.String()
}

// listed is a list of items for a message.
func listed(ids []string) string {
	const few = 5
	word := "item "
	if len(ids) > 1 {
		word = "items "
	}
	if len(ids) > few {
		return word + strings.Join(ids[:few], ", ") + fmt.Sprintf(" and %d more", len(ids)-few)
	}
	return word + strings.Join(ids, ", ")
}

// itemised is what an answer amounts to for the retry: of a batch that failed
// in part, the failure of an item that is worth retrying, the one that is not
// safe to repeat before others, and then one whose hint is read. Where no item
// is, it stays partial and mixed is false.
func (p *Policy) itemised(o trace.Outcome) (as trace.Outcome, mixed bool) {
	if o.Class != trace.Partial || o.Items == "" {
		return o, false
	}
	for _, it := range o.Items.List() {
		if it.Class == trace.OK || !p.Retries(it.Class) {
			continue
		}
		one := o
		one.Class, one.Items = it.Class, ""
		if !mixed || !p.safe(&one) || p.safe(&as) && !p.asks(&as) && p.asks(&one) {
			as, mixed = one, true
		}
	}
	if !mixed {
		return o, false
	}
	return as, true
}

// asks reports whether the failure asks for a wait that the policy reads.
func (p *Policy) asks(o *trace.Outcome) bool {
	return o.Hint > 0 && (len(p.Hint.Classes) == 0 || slices.Contains(p.Hint.Classes, o.Class))
}

// failedItems reports whether an item of the action failed for good, or was
// still open, when its last request was answered.
func failedItems(a *trace.Action) bool {
	now := map[string]trace.Class{}
	for i := range a.Attempts {
		at := &a.Attempts[i]
		for _, it := range at.Items.List() {
			now[it.ID] = at.Outcome.Class
		}
		for _, it := range at.Outcome.Items.List() {
			now[it.ID] = it.Class
		}
	}
	for _, c := range now {
		if c != trace.OK && c != trace.Declined {
			return true
		}
	}
	return false
}

// handedOn reports whether the items that failed in the attempt did so for good,
// and the action's result names each.
func handedOn(a *trace.Action, at *trace.Attempt) bool {
	if at.Outcome.Class != trace.Partial || at.Outcome.Items == "" {
		return false
	}
	for _, it := range at.Outcome.Items.List() {
		name := trace.Marshal(it.ID)
		if _, err := strconv.Atoi(it.ID); err == nil {
			name = []byte(it.ID) // a number in the result, or a text
		}
		if it.Class != trace.OK && (it.Class == 0 || passing.has(it.Class) || !bytes.Contains(a.Result, name)) {
			return false
		}
	}
	return true
}

// failedOf lists the items that the attempt's answer tells as failed.
func failedOf(at *trace.Attempt) (list []string) {
	for _, it := range at.Outcome.Items.List() {
		if it.Class != trace.OK {
			list = append(list, fmt.Sprintf("%s (%s)", it.ID, classWord(it.Class)))
		}
	}
	return list
}
