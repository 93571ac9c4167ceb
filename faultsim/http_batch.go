package faultsim

import (
	"errors"
	"net/http"

	"github.com/rehearse-go/rehearse/internal/double"
	"github.com/rehearse-go/rehearse/trace"
)

// A RouteBatch says how a [Route] takes several items in one request and answers
// for each, as with a multi-status (207) or a list. Its faults are those of
// [Batch]: requests that fail as a whole, with the answers of the Route, and
// [Fault.Items]. Answer and Empty of the Route are not asked, and single items
// ask for no waits.
type RouteBatch struct {
	// Items reads the ids of the items off the body of a request.
	Items func(body []byte) []string

	// Answer writes what became of each item, in the order of the request.
	Answer func(w http.ResponseWriter, items []ItemStatus)
}

// An ItemStatus is an item of a request and how it went, in the numbers of HTTP.
type ItemStatus struct {
	ID     string
	Status int // 200 where it is done
}

func (b *RouteBatch) unusable() error {
	if b != nil && (b.Items == nil || b.Answer == nil) {
		return errors.New("Route.Batch has no Items or no Answer: give the function that reads the ids and the one that answers")
	}
	return nil
}

// asked are the items of a request.
func (b *RouteBatch) asked(body []byte) []trace.Item {
	if b.unusable() != nil {
		return nil // which is reported
	}
	ids := b.Items(body)
	items := make([]trace.Item, len(ids))
	for i, id := range ids {
		items[i].ID = id
	}
	return items
}

// canItems reports whether the failures of the items have a status, and ask for
// no wait: only the whole answer could tell it.
func (r *route) canItems(f *Fault) bool {
	for _, it := range f.Items.List() {
		if !usually[it.Class] || it.Class == trace.Malformed || !(double.Reply{Class: it.Class}).Connects() {
			return false
		}
	}
	return f.Hint == 0 && !f.packed()
}

// went is what became of each item that the request asks for.
func (x *exchange) went(f *Fault) []trace.Item {
	items := make([]trace.Item, len(x.asked))
	for i, it := range x.asked {
		items[i] = trace.Item{ID: it.ID, Class: f.item(it.ID, x.order)}
	}
	return items
}

// itemised is the answer that tells what became of each item.
func (x *exchange) itemised(f *Fault) double.Reply {
	if !f.works() {
		x.deliverWork(f)
	}
	class := trace.OK
	var list []ItemStatus
	for _, it := range x.went(f) {
		if it.Class != trace.OK {
			class = trace.Partial
		}
		list = append(list, ItemStatus{it.ID, double.Reply{Class: it.Class}.StatusCode()})
	}
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if x.r.Batch.Answer != nil {
			x.r.Batch.Answer(w, list)
		}
	})
	reply := x.served(h)
	reply.Class = class
	return reply
}

// workOf records the effect on the items that the fault leaves alone, each once
// for a key.
func (x *exchange) workOf(f *Fault) {
	var done []trace.Item
	for _, it := range x.went(f) {
		key := x.p.Key()
		if key != "" {
			key += " " + it.ID
		}
		if it.Class == trace.OK && x.s.first(x.r.tool, key) {
			done = append(done, trace.Item{ID: it.ID})
		}
	}
	if len(done) > 0 {
		x.p.EffectOf(trace.ItemsOf(done...))
	}
}
