package faultsim

import (
	"maps"
	"slices"
	"sort"
)

// failing is a trial that failed.
type failing struct {
	n     int
	r     *result
	names []string // of the invariants that it breaks: see check.broke
}

// failures are trials of a campaign that failed, by the invariants that they break: of
// each the first ones by number. An invariant with a nil list is left out.
type failures map[string][]failing

// add notes the trial under each invariant that it breaks.
func (l failures) add(f failing) {
	for _, name := range f.names {
		list, ok := l[name]
		if ok && list == nil {
			continue
		}
		at := sort.Search(len(list), func(i int) bool { return list[i].n > f.n })
		if at == mostTried {
			continue
		}
		list = slices.Insert(list, at, f)
		l[name] = list[:min(len(list), mostTried)]
	}
}

// inOrder lists the trials by number.
func (l failures) inOrder() []failing {
	byNumber := map[int]failing{}
	for _, list := range l {
		for _, f := range list {
			byNumber[f.n] = f
		}
	}
	return slices.SortedFunc(maps.Values(byNumber), func(a, b failing) int { return a.n - b.n })
}
