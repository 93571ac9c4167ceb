package matrix

import (
	"slices"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/trace"
)

// A Group files the rows of the matrix by what they are about.
type Group string

const (
	Basics      Group = "basics"      // calls and ends
	Timing      Group = "timing"      // cancels, deadlines and hints
	Writes      Group = "writes"      // effects and what actions share
	Adversarial Group = "adversarial" // what a hostile or muddled tool sends
	Paged       Group = "pages"       // later requests that fail; only where the adapter needs several
	Batches     Group = "batch"       // single items that fail; only where the main tool is a faultsim.Batch
	Breakers    Group = "breaker"     // many actions before a breaker; only where the adapter declares one
	Layers      Group = "layers"      // failures of all kinds through all layers; only where the adapter bounds its physical attempts
	Observed    Group = "observation" // what is handed on of a failure; only where the adapter declares it
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
	return slices.Index(Groups(), g)
}

// Groups returns all groups in the order of the grid.
func Groups() []Group {
	return []Group{Basics, Timing, Writes, Adversarial, Paged, Batches, Breakers, Layers, Observed}
}

// RowsOf returns the rows of a group, also of one that only some adapters run.
func RowsOf(g Group) []Row {
	switch g {
	case Paged:
		return filed(g, pageRows())
	case Batches:
		return filed(g, batchRows())
	case Breakers:
		return filed(g, breakerRows())
	case Layers:
		return filed(g, layerRows())
	case Observed:
		return observationRows()
	}
	return slices.DeleteFunc(Rows(), func(r Row) bool { return r.Group != g })
}

// special are the groups that the adapter gives reason to, beside those of all.
func (s *Setting) special(a *faultsim.Adapter) (list []Group) {
	if s.Pages > 1 {
		list = append(list, Paged)
	}
	if s.Items > 0 {
		list = append(list, Batches)
	}
	if s.Breaker != nil {
		list = append(list, Breakers)
	}
	if bounded(a) {
		list = append(list, Layers)
	}
	if a.Observation != nil {
		list = append(list, Observed)
	}
	return list
}

// filed puts the rows into the group.
func filed(g Group, rows []Row) []Row {
	for i := range rows {
		rows[i].Group = g
	}
	return rows
}

// furtherRows are the rows behind those of the article.
func furtherRows() []Row {
	var all []Row
	for _, part := range []struct {
		group Group
		rows  []Row
	}{{Basics, basicRows()}, {Timing, timingRows()}, {Writes, writeRows()}, {Adversarial, adversarialRows()}} {
		all = append(all, filed(part.group, part.rows)...)
	}
	return all
}

func basicRows() []Row {
	return []Row{
		{Name: "unknown-failure", Proves: "A failure that nobody can read is not tried again unless the policy says so.", Schedule: refusedBy(trace.Unknown)},
		{Name: "business-decline", Proves: "A business no is a valid answer, and neither a failure nor a reason to ask again.", Schedule: refusedBy(trace.Declined)},
		{Name: "empty-answer", Proves: "An answer that holds nothing is an answer: no failure, not asked for again, and not filled.", Schedule: emptyAnswer},
		{Name: "malformed-answer", Proves: "An answer without what it must have is no evidence of a success.", Schedule: refusedBy(trace.Malformed)},
	}
}

// emptyAnswer queues a failure behind the answer, for whoever asks again.
func emptyAnswer(s Setting) (faultsim.Schedule, error) {
	empty := faultsim.Fault{Empty: true}
	if !s.Can(empty) {
		return faultsim.Schedule{}, NotFor("the tool has no answer that holds nothing")
	}
	f, err := s.Retried()
	if err != nil {
		return faultsim.One(empty), nil
	}
	return faultsim.One(empty, f), nil
}
