package matrix_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/internal/zoo"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/matrix"
	"github.com/stretchr/testify/require"
)

// specimen is a subject of the zoo.
func specimen(t *testing.T, name string) faultsim.Adapter {
	t.Helper()
	for _, s := range append(zoo.Right(), zoo.Faulty()...) {
		if s.Name == name {
			return s.Adapter
		}
	}
	t.Fatalf("the zoo has no %s", name)
	return faultsim.Adapter{}
}

// told plays the rows of a tool: how the calls of each ended, what it was
// skipped for, or what is wrong with it.
func told(t *testing.T, a faultsim.Adapter) map[string]string {
	t.Helper()
	played, err := matrix.Play(t, a)
	require.NoError(t, err)
	rows := map[string]string{}
	for _, p := range played {
		require.Equal(t, matrix.Repeated, p.Row.Group)
		require.NotEmpty(t, p.Row.Proves)
		switch {
		case p.Skipped != nil:
			rows[p.Row.Name] = "skipped: " + p.Skipped.Error()
		case p.Complaint != "":
			rows[p.Row.Name] = p.Complaint
		default:
			rows[p.Row.Name] = ends(p)
		}
	}
	require.Len(t, rows, len(matrix.RowsOf(matrix.Repeated)))
	return rows
}

// ends is how the calls ended.
func ends(p matrix.Played) string {
	var list []string
	for _, a := range p.Result.Trace.Actions() {
		switch {
		case a.Code != "":
			list = append(list, a.Code)
		case a.Error != "":
			list = append(list, "failure")
		default:
			list = append(list, "success")
		}
	}
	return strings.Join(list, ", ")
}

func TestRowsOfATool(t *testing.T) {
	const crashless = "skipped: the schedule crashes the process in action 1, and Served does not say that the tool survives it: set Restarts"
	require.Equal(t, map[string]string{
		"repeat-after-success":              "success, success, success",
		"repeat-at-once":                    "success, success, success, success",
		"repeat-at-the-end-of-retention":    "success, success",
		"repeat-after-caller-left":          "failure, failure, failure",
		"repeat-after-lost-reply":           "failure, failure, failure",
		"repeat-after-outage":               "failure, success, success",
		"repeat-after-cancel-before":        "failure, success",
		"repeat-after-refusal":              "failure, failure",
		"waiting-behind-a-failure":          "failure, success, success",
		"key-with-other-arguments":          "success, clash, success",
		"key-with-other-arguments-at-once":  "success, clash, success, success",
		"same-order-twice":                  "success, success",
		"keys-that-look-alike":              "success, success, success, success",
		"repeat-after-crash":                crashless,
		"repeat-after-crash-before-keeping": crashless,
		"repeat-after-crash-when-kept":      crashless,
		"kept-over-a-restart":               strings.Replace(crashless, "action 1", "action 2", 1),
		"call-without-key":                  "skipped: the contract does not say what a call without a key gets",
	}, told(t, specimen(t, "refund-waits")))
}

// What the contract declares is what the rows want.
func TestRowsFollowTheContractOfATool(t *testing.T) {
	refusing := told(t, specimen(t, "refund-refuses-at-once"))
	require.Equal(t, "success, in-progress, in-progress, success", refusing["repeat-at-once"])
	require.Equal(t, "no-key, no-key", refusing["call-without-key"])
	require.Equal(t, "success, success", told(t, specimen(t, "refund-without-a-key"))["call-without-key"])
	durable := told(t, specimen(t, "refund-on-disk"))
	require.Equal(t, "failure, in-progress, success, success", durable["repeat-after-crash"])
	require.Equal(t, "success, failure, success", durable["kept-over-a-restart"])
	state := told(t, specimen(t, "conditional-insert"))
	require.Contains(t, state["same-order-twice"], "knows repeats by the state")
	require.Contains(t, state["key-with-other-arguments"], "no Other")
}

func TestFailingRowsOfAToolNameTheRule(t *testing.T) {
	require.Equal(t, "breaks clash-is-refused", told(t, specimen(t, "refund-by-key-only"))["key-with-other-arguments"])
	require.Equal(t, "breaks repeat-has-no-effect", told(t, specimen(t, "refund-kept-in-memory"))["kept-over-a-restart"])
}

// A tool that asks no other has the rows that need none.
func TestRowsOfAToolWithoutToolsBelow(t *testing.T) {
	a := faultsim.Served[string, int]{
		Name: "count", Args: "once", Repeats: invariants.Repeats{Retention: time.Hour},
		Subject: func(s *faultsim.Stage) faultsim.Serve[string, int] { return newCounter(s).count },
	}.Adapter()
	rows := told(t, a)
	require.Equal(t, "success, success, success", rows["repeat-after-success"])
	require.Contains(t, rows["repeat-at-once"], "no two calls are under way at once")
	require.Contains(t, rows["repeat-after-outage"], "no tool below has a failure that passes")
}

// A counter counts, once for each key.
type counter struct {
	s    *faultsim.Stage
	mu   sync.Mutex
	kept map[string]int
}

func newCounter(s *faultsim.Stage) *counter { return &counter{s: s, kept: map[string]int{}} }

func (c *counter) count(ctx context.Context, key, _ string) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.kept[key]; !ok {
		c.s.Effect(ctx)
		c.kept[key] = len(c.kept) + 1
	}
	return c.kept[key], nil
}
