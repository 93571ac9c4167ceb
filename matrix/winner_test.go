package matrix_test

import (
	"slices"
	"testing"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/matrix"
	"github.com/stretchr/testify/require"
)

// The loop returns what the tool answers, and so lets the success win.
func TestTheDeclaredWinnerHasARow(t *testing.T) {
	for wins, want := range map[invariants.Winner]string{invariants.WinnerSuccess: "", invariants.WinnerCancel: "breaks declared-winner"} {
		a := loop(with(read, func(p *invariants.Policy) { p.Winner = wins }))
		played, err := matrix.Play(t, a)
		require.NoError(t, err)
		i := slices.IndexFunc(played, func(p matrix.Played) bool { return p.Row.Name == "success-after-cancel" })
		require.NoError(t, played[i].Skipped)
		require.Equal(t, want, played[i].Complaint)
	}
}
