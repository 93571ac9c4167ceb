package trace

// A lane follows one tool through an action's attempts.
type lane struct {
	tool   string
	before int // index of the tool's latest attempt
	total  int // attempts in all
	first  int // where the lane's attempts begin in the grouped copy
}

// lanes are the tools of one action; the storage is used for every action.
type lanes struct {
	all   []lane
	names map[string]int // tool → index, once there are many
	of    []int32        // attempt → lane
}

// arrange sorts every action's attempts into series and computes their numbers
// and gaps.
func arrange(actions []Action) {
	var room [4]lane
	ls := lanes{all: room[:0]}
	total := 0
	for i := range actions {
		total += ls.number(&actions[i])
	}
	store := make([]Series, total)
	for i := range actions {
		store = actions[i].cut(store)
	}
}

// number computes the number of each attempt and the gap before it, brings the
// attempts of each of several tools together, and returns how many series there are.
func (ls *lanes) number(a *Action) (series int) {
	ls.all, ls.names, ls.of = ls.all[:0], nil, ls.of[:0]
	for i := range a.Attempts {
		n := ls.find(a.Attempts[i].Tool)
		l := &ls.all[n]
		place(a.Attempts, i, l)
		if a.Attempts[i].N == 1 {
			series++
		}
		l.before, l.total = i, l.total+1
		if len(ls.all) > 1 || len(ls.of) > 0 {
			ls.note(i, n)
		}
	}
	a.grouped = a.Attempts
	if len(ls.all) > 1 {
		a.grouped = ls.group(a.Attempts)
	}
	return series
}

// note remembers the lane of attempt i; those before it were in lane 0 as long
// as there was only one.
func (ls *lanes) note(i, n int) {
	for len(ls.of) < i {
		ls.of = append(ls.of, 0)
	}
	ls.of = append(ls.of, int32(n))
}

func (ls *lanes) find(tool string) int {
	if ls.names != nil {
		if n, ok := ls.names[tool]; ok {
			return n
		}
	} else {
		for n := range ls.all {
			if ls.all[n].tool == tool {
				return n
			}
		}
	}
	n := len(ls.all)
	ls.all = append(ls.all, lane{tool: tool, before: -1})
	switch {
	case ls.names != nil:
		ls.names[tool] = n
	case n == few:
		ls.names = make(map[string]int, 4*few)
		for i := range ls.all {
			ls.names[ls.all[i].tool] = i
		}
	}
	return n
}

// place computes attempt i's number in its series and the gap before it.
func place(attempts []Attempt, i int, l *lane) {
	at := &attempts[i]
	at.N = 1
	if l.before < 0 {
		return
	}
	before := &attempts[l.before]
	if before.Seen && before.Outcome.Class == OK && !SameArgs(before.Args, at.Args) {
		return
	}
	at.N = before.N + 1
	if before.Seen {
		at.Gap = at.Begin - before.End
	}
}

// group returns a copy of the attempts, tool by tool.
func (ls *lanes) group(attempts []Attempt) []Attempt {
	first := 0
	for n := range ls.all {
		ls.all[n].first = first
		first += ls.all[n].total
	}
	grouped := make([]Attempt, len(attempts))
	for i := range attempts {
		l := &ls.all[ls.of[i]]
		grouped[l.first] = attempts[i]
		l.first++
	}
	return grouped
}

// cut puts the action's series into the front of store and returns the rest: a
// number 1 begins a new one.
func (a *Action) cut(store []Series) (rest []Series) {
	n, first, at := 0, 0, a.grouped
	a.grouped = nil
	for i := 1; i <= len(at); i++ {
		if i == len(at) || at[i].N == 1 {
			store[n] = Series{at[first].Tool, at[first:i:i]}
			n, first = n+1, i
		}
	}
	if n > 0 {
		a.Series = store[:n:n]
	}
	return store[n:]
}
