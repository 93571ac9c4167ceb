package faultsim

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/internal/kept"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// Cases that are there and cannot be read must not pass for none.
func TestCaseThatCannotBeReadIsAnError(t *testing.T) {
	defer kept.Move(t.TempDir())()
	cases, err := loadCases("TestX")
	require.NoError(t, err)
	require.Empty(t, cases)
	require.NoError(t, os.MkdirAll(filepath.Join(kept.Path(kept.Dir("TestX")), "a.case"), 0o777))
	_, err = loadCases("TestX")
	require.EqualError(t, err, "a saved case of this test cannot be read: read testdata/rehearse/TestX/a.case: is a directory: put the file back, or take this away")
}

func TestCaseOfAnyInvariantIsFoundAgain(t *testing.T) {
	defer kept.Move(t.TempDir())()
	for i, name := range []string{".mine", "...", "a/b", "one charge per invoice"} {
		k := savedCase{invariant: name, schedule: Schedule{Actions: []Plan{{}}}}
		_, err := k.save("TestX", "headline")
		require.NoError(t, err)
		cases, err := loadCases("TestX")
		require.NoError(t, err)
		require.Len(t, cases, i+1, name)
	}
}

// A case that no longer reaches all of its faults is as good as ever: its bug is mended.
func TestCaseOfAMendedBugStays(t *testing.T) {
	const four = "weather 1 transient\n  weather 2 transient\n  weather 3 transient\n  weather 4 transient\n"
	a := homeAdapter()
	present := string(a.Policy.Content())
	for _, x := range []struct{ name, header, policy, faults string }{
		{"one attempt too many", caseHeader, present, four},
		{"a hundred too many", caseHeader, present, "weather 100 transient\n"},
		{"more than that policy allowed too", caseHeader, `{"maxAttempts":5}`, "weather 6 transient\n"},
		{"the fault behind the last attempt", caseHeader, "", four},
		{"an old version, which tells no policy", oldCaseHeader, "", "weather 9 transient\n"},
	} {
		text := x.header + "\ninvariant attempts-bounded\n"
		if x.policy != "" {
			text += "policy " + x.policy + "\n"
		}
		k, err := parseCase(text + "\n" + scheduleHeader + "\naction\n  " + x.faults)
		require.NoError(t, err)
		newCheck(t, &a, settings{}).replayCase(&k) // which ends the test where it fails
	}
}

func TestFaultsAreInReachWhereMoreThanThePolicyCounts(t *testing.T) {
	k := savedCase{policy: `{"maxAttempts":6}`, schedule: Schedule{Actions: []Plan{{Faults: map[string][]Fault{Main: make([]Fault, 5)}}}}}
	for name, c := range map[string]struct {
		change func(*Adapter)
		out    bool
	}{
		"as it is":                  {func(*Adapter) {}, true},
		"pages":                     {func(a *Adapter) { a.Pages = 2 }, false},
		"time alone":                {func(a *Adapter) { a.Policy.MaxAttempts = invariants.Unlimited }, false},
		"a process that comes back": {func(a *Adapter) { a.Resume = a.Subject }, false},
		"a repeat beyond the rest":  {func(a *Adapter) { a.Policy.Refresh.Extra = true }, false},
	} {
		a := homeAdapter()
		tr := Trial(t, a, One()).Trace
		c.change(&a)
		require.Equal(t, c.out, newCheck(t, &a, settings{}).outOfReach(&k, tr) != nil, name)
	}
}

// Of a second tool too the policy says how many attempts there are, unless the code has
// several things to do with it.
func TestCasesOfASecondToolCanBeOutOfReach(t *testing.T) {
	a := homeAdapter()
	a.Policy.MaxAttempts = 3
	charges := 1
	a.Subject = func(s *Stage) Action {
		look := Tool(s, "weather", func(context.Context, string) (int, error) { return 19, nil }, nil)
		charge := Tool(s, "charge", func(context.Context, int) (int, error) { return 1, nil }, Errors{trace.Transient: errB})
		return func(ctx context.Context) (any, error) {
			_, err := look(ctx, "Pune")
			for n := 0; n < charges && err == nil; n++ {
				_, err = charge(ctx, n)
			}
			return 19, err
		}
	}
	k := savedCase{policy: `{"maxAttempts":5}`, schedule: Schedule{Actions: []Plan{{Faults: map[string][]Fault{"charge": make([]Fault, 5)}}}}}
	c := newCheck(t, &a, settings{})
	require.EqualError(t, c.outOfReach(&k, Trial(t, a, One()).Trace), "attempt 5 of charge is never made: the policy allows an action 3")
	charges = 2
	require.Nil(t, c.outOfReach(&k, Trial(t, a, One()).Trace))
}

// What is no case at all is not repeated in full, and marks of editors are no part of it.
func TestAFileOfAnotherKindIsNotRepeated(t *testing.T) {
	long := strings.Repeat("\x00", 2<<20)
	for _, text := range []string{long, caseHeader + "\n" + long, caseHeader + "\ninvariant x\n" + scheduleHeader + "\n" + long, caseHeader + "\ninvariant x\n" + scheduleHeader + "\naction x=" + long} {
		_, err := parseCase(text)
		require.Error(t, err)
		require.Less(t, len(err.Error()), 2000)
		_, err = Parse(text)
		require.Error(t, err)
		require.Less(t, len(err.Error()), 2000)
	}
	text := "\ufeff" + caseHeader + "\r\ninvariant x\r\n" + scheduleHeader + "\r\naction\r\n"
	_, err := parseCase(text)
	require.NoError(t, err)
	_, err = Parse("\ufeff" + scheduleHeader + "\naction\n")
	require.NoError(t, err)
}

func TestAnOutageOfAnUnknownToolNamesItsLine(t *testing.T) {
	source := caseHeader + "\ninvariant conforms\n\n" + scheduleHeader + "\naction\noutage mail to=1s transient\n"
	k, err := parseCase(source)
	require.NoError(t, err)
	k.path, k.source = "a.case", source
	u, unfit := errors.AsType[*UnfitError](Trial(t, homeAdapter(), k.schedule).Err)
	require.True(t, unfit)
	require.Equal(t, "a.case: line 6", k.at(u))
}
