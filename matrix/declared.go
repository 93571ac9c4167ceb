package matrix

import (
	"cmp"
	"slices"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
)

// RowsFor returns the rows that [Run] plays for the adapter: [Rows], and in each
// group behind them those of what not every adapter declares. Without the
// declaration such rows are left out (those of [Streaming] follow from the stage), since a skipped line in every grid would say nothing.
func RowsFor(a faultsim.Adapter) []Row {
	rows := Rows()
	if len(a.Policy.Tools) > 0 {
		rows = append(rows, toolRows()...)
	}
	if a.Policy.Spend > 0 {
		rows = append(rows, spendRows()...)
	}
	if a.Policy.Advice != invariants.AdviceIgnored {
		rows = append(rows, adviceRows()...)
	}
	if len(a.Allowed) > 0 {
		rows = append(rows, allowedRows()...)
	}
	if a.Spreads {
		rows = append(rows, spreadRows()...)
	}
	if a.EscalatesAfter > 0 {
		rows = append(rows, escalationRows()...)
	}
	if a.Allowance != nil {
		rows = append(rows, allowanceRows()...)
	}
	if a.Observation != nil {
		rows = append(rows, observationRows()...)
	}
	return inGroups(rows)
}

// inGroups files rows by their groups, in order.
func inGroups(rows []Row) []Row {
	slices.SortStableFunc(rows, func(a, b Row) int { return cmp.Compare(a.Group.place(), b.Group.place()) })
	return rows
}
