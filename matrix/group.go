package matrix

import (
	"slices"

	"github.com/rehearse-go/rehearse/trace"
)

// A Group files the rows of the matrix by what they are about.
type Group string

const (
	Basics      Group = "basics"      // calls and ends
	Timing      Group = "timing"      // cancels, deadlines and hints
	Writes      Group = "writes"      // effects and what actions share
	Adversarial Group = "adversarial" // what a hostile or muddled tool sends
	Restarts    Group = "restart"     // crashes of the process and an operator's retries; only where the adapter has a Resume or Again
	Observed    Group = "observation" // what is handed on of a failure; only where the adapter declares it
	Repeated    Group = "repeats"     // what a tool under test makes of a second call; see [ToolRows]
)

// own is the group of rows that name none.
const own Group = "own"

func (g Group) orOwn() Group {
	if g == "" {
		return own
	}
	return g
}

// place is where the group stands in the grid.
func (g Group) place() int {
	return slices.Index([]Group{Basics, Timing, Writes, Adversarial, Restarts, Observed, Repeated}, g)
}

// furtherRows are the rows behind those of the article.
func furtherRows() []Row {
	var all []Row
	for _, part := range []struct {
		group Group
		rows  []Row
	}{{Basics, basicRows()}, {Timing, timingRows()}, {Writes, writeRows()}, {Adversarial, adversarialRows()}} {
		for _, r := range part.rows {
			r.Group = part.group
			all = append(all, r)
		}
	}
	return all
}

func basicRows() []Row {
	return []Row{
		{Name: "unknown-failure", Proves: "A failure that nobody can read is not tried again unless the policy says so.", Schedule: refusedBy(trace.Unknown)},
		{Name: "business-decline", Proves: "A business no is a valid answer, and neither a failure nor a reason to ask again.", Schedule: refusedBy(trace.Declined)},
		{Name: "malformed-answer", Proves: "An answer without what it must have is no evidence of a success.", Schedule: refusedBy(trace.Malformed)},
	}
}
