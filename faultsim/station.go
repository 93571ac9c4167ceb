package faultsim

import (
	"container/heap"
	"time"
)

// A station is the workers of a [Service] and the line before them, as plain
// data: it knows no timers and no goroutines, and is moved on from outside, by
// instants that never go back.
type station struct {
	workers int                             // 0: any number
	room    int                             // of the line; negative: any number
	times   func(waiting int) time.Duration // what a worker takes
	busy    customers                       // those that are worked on, by their end
	line    []*customer                     // those that wait, and those that have left the line
	waiting int                             // those in line that still wait
	started int                             // customers up to now

	served int           // customers whose calls are over
	worked float64       // sum of the times of the workers, in nanoseconds; it may be beyond a time.Duration
	waited float64       // sum of the waits of those whose calls were started, likewise
	last   time.Duration // when the latest call was over
}

// A customer is one call at a service.
type customer struct {
	place    int           // of its caller, which orders calls of one instant
	at       time.Duration // its arrival
	end      time.Duration // when it is answered; meaningful once it is started
	number   int           // in the order of starting, from 1; 0: it is in line
	left     bool          // its caller has given up
	out      bool          // and it has left the line
	over     bool          // it is answered
	refusal  Fault         // why it was not let in; zero: it was
	answered chan struct{} // closed once it is over; nil: nobody waits
}

// admit lets a customer in at an instant, and reports whether there was room.
func (st *station) admit(v *customer, now time.Duration) bool {
	st.until(now)
	switch {
	case st.workers == 0 || len(st.busy) < st.workers:
		st.start(v, now)
	case st.room < 0 || st.waiting < st.room:
		st.line = append(st.line, v)
		st.waiting++
	default:
		return false
	}
	return true
}

// until answers what is over by then, and lets those in line go on.
func (st *station) until(now time.Duration) {
	for len(st.busy) > 0 && st.busy[0].end <= now {
		v := heap.Pop(&st.busy).(*customer)
		st.served, st.last = st.served+1, v.end
		v.answer()
		if next := st.next(); next != nil {
			st.start(next, v.end)
		}
	}
}

// next takes the first out of the line; nil: it is empty.
func (st *station) next() *customer {
	for len(st.line) > 0 {
		v := st.line[0]
		st.line = st.line[1:]
		if !v.out {
			st.waiting--
			return v
		}
	}
	return nil
}

func (st *station) start(v *customer, now time.Duration) {
	st.started++
	takes := min(max(st.times(st.waiting), 0), longestTime)
	v.number, v.end = st.started, now+takes
	st.worked += float64(takes)
	st.waited += float64(now - v.at)
	heap.Push(&st.busy, v)
}

// withdraw takes a customer out of the line, and reports whether it was there.
func (st *station) withdraw(v *customer) bool {
	if v.number > 0 || v.over || v.out {
		return false
	}
	v.out = true
	st.waiting--
	return true
}

// answer tells whoever waits that the call is over.
func (v *customer) answer() {
	v.over = true
	if v.answered != nil {
		close(v.answered)
	}
}

// customers is a heap: the first is the one whose call is over first.
type customers []*customer

func (h customers) Len() int { return len(h) }
func (h customers) Less(i, j int) bool {
	return h[i].end < h[j].end || h[i].end == h[j].end && h[i].number < h[j].number
}
func (h customers) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *customers) Push(v any)   { *h = append(*h, v.(*customer)) }
func (h *customers) Pop() any {
	old := *h
	v := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return v
}
