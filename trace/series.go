package trace

// A lane follows one tool through an action's attempts. Calls of one tool that
// are under way at once with different arguments have a lane each.
type lane struct {
	tool   string
	before int // index of the lane's latest attempt
	total  int // attempts in all
	first  int // where the lane's attempts begin in the grouped copy
	beside int // index of the next lane of the tool; 0: none
}

// lanes are those of one action; the storage is used for every action.
type lanes struct {
	all   []lane
	names map[string]int // tool → index of its first lane, once there are many
	of    []int32        // attempt → lane
}

// arrange sorts every action's attempts into series and computes their numbers
// and gaps.
func arrange(actions []Action) {
	var ls lanes
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
	a.grouped = a.Attempts
	if oneLane(a.Attempts) { // as most actions have: no lanes are needed
		l := lane{before: -1}
		for i := range a.Attempts {
			series += l.place(a.Attempts, i)
		}
		return series
	}
	ls.all, ls.names, ls.of = ls.all[:0], nil, ls.of[:0]
	for i := range a.Attempts {
		n := ls.find(a.Attempts, i)
		ls.of = append(ls.of, int32(n))
		series += ls.all[n].place(a.Attempts, i)
	}
	a.grouped = ls.group(a.Attempts)
	return series
}

func oneLane(attempts []Attempt) bool {
	for i := range attempts {
		if attempts[i].Tool != attempts[0].Tool || i > 0 && (beside(&attempts[i-1], &attempts[i]) || begins(attempts, i)) {
			return false
		}
	}
	return true
}

// beside reports whether at is another request that runs at the same time as b.
// Equal arguments are a hedge of b.
func beside(b, at *Attempt) bool { return underWay(b, at) && !SameArgs(b.Args, at.Args) }

// underWay reports whether at began before b was answered. Where b never was,
// nothing is known.
func underWay(b, at *Attempt) bool {
	return b.Seen && (b.End > at.Begin || b.End == at.Begin && b.Interrupted == 0 && b.AnswerEvent > at.Event)
}

// find returns the lane of attempt i. Of a batch it is that of its chunk. Else,
// where the tool has several, it is the one that last sent the same arguments; else one that is free, since an answer has
// come, and a success there before a failure; else a new one.
func (ls *lanes) find(attempts []Attempt, i int) int {
	at := &attempts[i]
	first := ls.tool(at.Tool)
	if ls.all[first].before < 0 {
		return first
	}
	if n, ok := ls.chunk(attempts, i, first); ok {
		return n
	}
	free, last := -1, first
	for n := first; ; n = ls.all[n].beside {
		last = n
		b := &attempts[ls.all[n].before]
		switch {
		case SameArgs(b.Args, at.Args):
			return n
		case underWay(b, at):
		case free < 0, b.Outcome.Class == OK, attempts[ls.all[free].before].Outcome.Class != OK:
			free = n
		}
		if ls.all[n].beside == 0 {
			break
		}
	}
	if free >= 0 {
		return free
	}
	return ls.open(at.Tool, last)
}

// open opens a lane behind the last one of the tool.
func (ls *lanes) open(tool string, last int) int {
	ls.all = append(ls.all, lane{tool: tool, before: -1})
	ls.all[last].beside = len(ls.all) - 1
	return len(ls.all) - 1
}

// tool returns the first lane of the tool.
func (ls *lanes) tool(tool string) int {
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
	case n >= few:
		ls.names = make(map[string]int, 4*few)
		for i := range ls.all {
			if _, known := ls.names[ls.all[i].tool]; !known {
				ls.names[ls.all[i].tool] = i
			}
		}
	}
	return n
}

// place computes attempt i's number in its series and the gap before it, and
// returns how many series begin with it.
func (l *lane) place(attempts []Attempt, i int) (begun int) {
	at, before := &attempts[i], l.before
	l.before, l.total = i, l.total+1
	at.N = 1
	if before < 0 {
		return 1
	}
	b := &attempts[before]
	if b.Seen && b.Outcome.Class == OK && !SameArgs(b.Args, at.Args) {
		return 1
	}
	at.N = b.N + 1
	if b.Seen {
		at.Gap = at.Begin - b.End
	}
	return 0
}

// group returns a copy of the attempts, lane by lane.
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
