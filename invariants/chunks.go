package invariants

import (
	"fmt"
	"slices"
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// A batch that is sent chunk by chunk has a series for each chunk. A program may
// bring one chunk to its end before the next, or send all of them and then what
// is left of any, in requests of their own or in one.

// otherChunks lets the wait before the next attempt of a chunk last longer by
// what the requests of other chunks take in between. A request that goes on with
// items of several chunks has no latest instant: another one may have to wait.
func (w *walk) otherChunks() {
	for i := range w.a.Attempts {
		b := &w.a.Attempts[i]
		if b.Event > w.at.Event && b.Event < w.then.Event && b.Tool == w.at.Tool && b.Seen && b.End <= w.then.Begin {
			w.side = max(w.side, b.End-w.end)
		}
	}
	if !within(w.then.Items, w.at.Items) {
		w.side = max(w.side, w.then.Begin-w.end)
	}
}

// within reports whether all of the items are among the others.
func within(items, others trace.Items) bool {
	list := others.List()
	for _, it := range items.List() {
		if !slices.ContainsFunc(list, func(o trace.Item) bool { return o.ID == it.ID }) {
			return false
		}
	}
	return true
}

// resumed reports whether requests that are of other chunks too go on with all
// that the attempt left open, and how long after its answer the first of them came.
func (w *walk) resumed() (after time.Duration, ok bool) {
	if w.at.Items == "" {
		return 0, false
	}
	first := never
	for _, id := range w.leftOpen() {
		next := w.asksAgain(id)
		if next == nil {
			return 0, false
		}
		first = min(first, next.Begin)
	}
	return first - w.end, first != never
}

// leftOpen lists the items of the attempt that a retry is due for.
func (w *walk) leftOpen() (ids []string) {
	list := w.went.Items.List()
	if len(list) == 0 { // it failed as a whole
		for _, it := range w.at.Items.List() {
			ids = append(ids, it.ID)
		}
		return ids
	}
	for _, it := range list {
		if w.p.Retries(it.Class) {
			ids = append(ids, it.ID)
		}
	}
	return ids
}

// asksAgain is the next request of the action with the item; nil: there is none.
func (w *walk) asksAgain(id string) *trace.Attempt {
	for i := range w.a.Attempts {
		b := &w.a.Attempts[i]
		if b.Event > w.at.Event && b.Tool == w.at.Tool && within(trace.ItemsOf(trace.Item{ID: id}), b.Items) {
			return b
		}
	}
	return nil
}

// chunked reports whether the attempt is of one chunk among several: the end of
// the action need not follow from it, since another chunk may still be waiting.
func (s *step) chunked() bool { return s.at.Items != "" && len(s.a.Series) > 1 }

// abandoned reports whether a later request of another chunk failed as a whole
// and was the action's last, so that the program may have left the rest; or the
// action's time ended, of which the other chunks may have taken what was left.
func (w *walk) abandoned() bool {
	if w.chunked() && timeUp(w.a) {
		return true
	}
	last := lastBegun(w.a)
	return w.chunked() && w.a.Error != "" && last != nil && last.Event > w.at.Event && last.Outcome.Failed() && last.Outcome.Items == ""
}

// goesOn words what is wrong with an end of the series where another attempt is
// due; empty: nothing.
func (w *walk) goesOn() (text, advice string) {
	after, ok := w.resumed()
	switch {
	case !ok && w.abandoned():
	case !ok:
		return w.tooEarly(w.p)
	case after < w.lo():
		return fmt.Sprintf("%s was asked for items of request %d again %v after its answer, the earliest is %v", w.at.Tool, w.at.N, after, w.lo()),
			"wait for what was left of all chunks before it is sent again"
	}
	return "", ""
}

// asked reports an item of a batch that an action has asked for too often.
func (v *Verdict) asked(a *trace.Action, most int) {
	var counts map[itemAt]int
	for i := range a.Attempts {
		at := &a.Attempts[i]
		for _, it := range at.Items.List() {
			if counts == nil {
				counts = map[itemAt]int{}
			}
			item := itemAt{at.Tool, it.ID}
			if counts[item]++; counts[item] > most {
				v.report(a, fmt.Sprintf("%s was asked for %s %d times, %d are allowed", at.Tool, listed([]string{it.ID}), counts[item], most),
					"count the requests of each item over all chunks", at.Event)
				return
			}
		}
	}
}
