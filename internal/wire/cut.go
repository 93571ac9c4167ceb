package wire

import (
	"bytes"
	"slices"

	"github.com/rehearse-go/rehearse/trace"
)

// Cut is how many events of a stream have come where it breaks off half-way: the
// last call has some of its arguments and, without calls, the text some of its words.
// A call that comes in one piece has not come.
func Cut(f Format, list [][]byte) int {
	var before, last trace.Reply
	whole := f.Read(bytes.Join(list, nil))
	var grown []int // the events with which the last call, or the text, grows
	for i := range list {
		last = f.Read(bytes.Join(list[:i+1], nil))
		if last.Text != before.Text && len(whole.Calls) == 0 || len(last.Calls) == len(whole.Calls) && !slices.Equal(last.Calls, before.Calls) {
			grown = append(grown, i)
		}
		before = last
	}
	switch len(grown) {
	case 0:
		return len(list) / 2
	case 1:
		return grown[0]
	}
	return grown[len(grown)/2-1] + 1
}

// Begun is how many events tell all of the reply, and not yet that it ends.
func Begun(f Format, list [][]byte) int {
	whole := f.Read(bytes.Join(list, nil))
	for n := range list {
		if r := f.Read(bytes.Join(list[:n], nil)); r.Text == whole.Text && slices.Equal(r.Calls, whole.Calls) {
			return n
		}
	}
	return len(list)
}
