package faultsim_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/trace"
)

// What a profile prints is Go code, as gofmt writes it: the one at the end of this file
// is compiled, and prints itself.
func TestAProfilePrintsAsGo(t *testing.T) {
	source, err := os.ReadFile("profile_print_test.go")
	require.NoError(t, err)
	_, want, _ := strings.Cut(string(source), "\nvar stormy = ")
	require.Equal(t, strings.TrimSpace(want), fmt.Sprintf("%#v", stormy))
	require.Equal(t, "faultsim.Profile{}", fmt.Sprintf("%#v", faultsim.Profile{}))
}

// Every class prints as the name of its constant.
func TestClassesPrintAsTheirConstants(t *testing.T) {
	source, err := os.ReadFile("../trace/class.go")
	require.NoError(t, err)
	for _, c := range trace.Classes() {
		text := fmt.Sprintf("%#v", faultsim.Profile{Tools: map[string]faultsim.Behaviour{"a": {Outage: faultsim.Downtimes{Class: c}}}})
		_, name, _ := strings.Cut(text, "Class: trace.")
		name, _, _ = strings.Cut(name, "}")
		require.Regexp(t, `(?m)^\s+`+name+`\s`, string(source))
	}
}

var stormy = faultsim.Profile{
	Tools: map[string]faultsim.Behaviour{
		faultsim.Main: {
			Streak:  faultsim.AtMost(8, faultsim.Geometric(0.4)),
			Classes: faultsim.Weights{trace.Transient: 30, trace.QuotaExhausted: 1.5, trace.NotConnected: 2},
			Hang:    0.1,
			Lost:    0.25,
			Latency: faultsim.Lognormal(200*time.Millisecond, 0.8),
			Hint:    faultsim.Hints{Share: 0.5, Classes: []trace.Class{trace.Throttled}, Wait: faultsim.Empirical(time.Second, 2*time.Second), Forms: []faultsim.HintForm{"", "ms"}},
			Outage:  faultsim.Downtimes{Share: 0.1, Length: faultsim.Pareto(time.Minute, 1.1), Class: trace.Transient},
			Quota:   faultsim.Quota{N: 3, Per: time.Minute},
			Bucket:  faultsim.Bucket{Burst: 5, Every: 200 * time.Millisecond},
		},
		"news": {
			Burst: faultsim.GilbertElliott{ToBad: 0.045, ToGood: 0.29, Good: 0.01, Bad: 0.95},
		},
	},
	Actions:  faultsim.Even(1, 3),
	AtOnce:   0.5,
	Deadline: faultsim.Constant(20 * time.Second),
	Cancel:   faultsim.Cancels{Share: 0.2, When: []faultsim.Moment{"in-flight"}},
	Swarm:    true,
}
