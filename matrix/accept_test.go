package matrix_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/internal/selftest"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/matrix"
	"github.com/stretchr/testify/require"
)

// oneMore is a vendor's client that makes one attempt more than it promises.
func oneMore() faultsim.Adapter {
	a := loop(read)
	a.Subject = on(with(read, func(p *invariants.Policy) { p.MaxAttempts = 4 }), errs)
	return a
}

func named(t *testing.T, list []matrix.Played, name string) matrix.Played {
	t.Helper()
	for _, p := range list {
		if p.Row.Name == name {
			return p
		}
	}
	t.Fatalf("no row %q was played", name)
	return matrix.Played{}
}

// A row whose deviation is known is accepted by its name, and by nothing else.
func TestARowIsAcceptedByItsName(t *testing.T) {
	const exhausted = "transient-until-exhausted"
	a := oneMore()
	require.NotEmpty(t, named(t, played(t, a), exhausted).Complaint)

	const calm = "calm-after-the-last-attempt" // it uses the attempts up as well
	a.Accept = map[string]string{"row " + exhausted: "the vendor makes one more", "row " + calm: "the vendor makes one more"}
	p := named(t, played(t, a), exhausted)
	require.Empty(t, p.Complaint)
	require.Equal(t, "4 calls, the policy calls for 3", p.Accepted)
	matrix.Run(t, a)
}

// What is accepted and no longer there fails, and so does a row that does not
// apply or that there is not.
func TestAnAcceptedRowThatDeviatesNoLongerFails(t *testing.T) {
	a := loop(read)
	a.Accept = map[string]string{"row immediate-success": "it used to call twice"}
	require.Equal(t, `Accept lists "row immediate-success" ("it used to call twice"), and it does not deviate: take it out`,
		named(t, played(t, a), "immediate-success").Complaint)

	a.Accept = map[string]string{"row hint-above-limit": "it waits"}
	_, err := matrix.Play(t, a)
	require.EqualError(t, err, `hint-above-limit: Accept lists "row hint-above-limit", which does not apply (the policy has no limit for hints): take it out`)

	a.Accept = map[string]string{"row immediate-succes": "a typo"}
	_, err = matrix.Play(t, a)
	require.EqualError(t, err, `matrix: Accept names "row immediate-succes", and the matrix of "loop" has no such row: correct the name, or take it out; did you mean "row immediate-success"?`)

	a.Accept = map[string]string{"row immediate-success": " "}
	_, err = matrix.Play(t, a)
	require.ErrorContains(t, err, `Accept gives no reason for "row immediate-success"`)
}

// Check leaves accepted rows to the matrix.
func TestCheckLeavesAcceptedRowsToTheMatrix(t *testing.T) {
	a := loop(read)
	a.Accept = map[string]string{"row transient-until-exhausted": "only the matrix plays it"}
	a.Trials = 50
	faultsim.Check(t, a)
}

// TestChildNewRow runs a client that fails a row, against the baseline of the
// folder that it runs in.
func TestChildNewRow(t *testing.T) {
	if !selftest.Active() {
		t.Skip("run by TestARowThatIsNewToTheBaselineWarns")
	}
	a := oneMore()
	if os.Getenv("CHANGED") == "nothing" {
		a = loop(read)
	}
	matrix.Run(t, a)
}

// A project has adopted its rows; a new version brings one that its client
// fails. It warns, until it is to be adopted.
func TestARowThatIsNewToTheBaselineWarns(t *testing.T) {
	dir := t.TempDir()
	run := func(changed string, args ...string) (string, bool) {
		t.Setenv("CHANGED", changed)
		return selftest.Run(t, dir, "TestChildNewRow", append(args, "-test.v")...)
	}
	out, passed := run("nothing", "-rehearse.accept")
	require.True(t, passed, out)
	out, passed = run("one more")
	require.False(t, passed, "a row that was adopted fails\n%s", out)

	file := filepath.Join(dir, "testdata/rehearse/TestChildNewRow/matrix.baseline")
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	var old []string
	for line := range strings.Lines(string(content)) {
		if !strings.HasPrefix(line, "row transient-until-exhausted:") && !strings.HasPrefix(line, "row calm-after-the-last-attempt:") {
			old = append(old, line)
		}
	}
	require.NoError(t, os.WriteFile(file, []byte(strings.Join(old, "")), 0o666))

	out, passed = run("one more")
	require.True(t, passed, "a new row warns\n%s", out)
	require.Contains(t, out, "warning: a row that the baseline has not adopted fails")
	require.Contains(t, out, "new: 4 calls, the policy calls for 3")
	require.Contains(t, out, "rows that no baseline has yet")
	out, passed = run("one more", "-rehearse.accept")
	require.False(t, passed, "and is not adopted while it fails\n%s", out)
}
