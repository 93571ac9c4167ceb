package trace

import "slices"

// A program that has many items sends them chunk by chunk, each in a request of
// its own. A chunk is a series with its retries, also where the program goes on
// with the next one after a failure and sends what is left at the end.

// begins reports whether attempt i is the first request of a chunk: its action
// has sent the tool other items before, and none of these.
func begins(attempts []Attempt, i int) bool {
	return attempts[i].Items != "" && chunkOf(attempts, i) < 0
}

// chunkOf is the latest attempt before i that asked the same tool for one of the
// items of attempt i; negative: there is none.
func chunkOf(attempts []Attempt, i int) int {
	items := attempts[i].Items.List()
	for j := i - 1; j >= 0; j-- {
		if b := &attempts[j]; b.Tool == attempts[i].Tool && b.Items != "" && share(b.Items.List(), items) {
			return j
		}
	}
	return -1
}

// chunk is the lane of a request of a batch: a new one for a new chunk, that of
// the items where it goes on with them. ok is false where it is no such request.
// first is the tool's first lane.
func (ls *lanes) chunk(attempts []Attempt, i, first int) (n int, ok bool) {
	if attempts[i].Items == "" {
		return 0, false
	}
	before := chunkOf(attempts, i)
	if before >= 0 {
		return int(ls.of[before]), !underWay(&attempts[before], &attempts[i])
	}
	for ls.all[first].beside != 0 {
		first = ls.all[first].beside
	}
	return ls.open(attempts[i].Tool, first), true
}

func share(a, b []Item) bool {
	return slices.ContainsFunc(a, func(x Item) bool {
		return slices.ContainsFunc(b, func(y Item) bool { return x.ID == y.ID })
	})
}
