// Package selftest runs a test of the running test binary again in a process
// of its own, so that tests can look at failing tests from the outside.
package selftest

import (
	"errors"
	"os"
	"os/exec"
	"regexp"
	"testing"

	"github.com/rehearse-go/rehearse/internal/rerun"
)

// variable tells a process that it is such a run.
const variable = "REHEARSE_SELFTEST"

// Active reports whether this process is such a run: a test that is meant to
// fail does so only then.
func Active() bool { return os.Getenv(variable) != "" }

// Run runs the named test again, in the folder dir, with further arguments for
// the test binary. It returns what it printed, without what differs from run
// to run, and whether it passed.
func Run(t *testing.T, dir, test string, args ...string) (output string, passed bool) {
	t.Helper()
	output, passed = Binary(t, dir, []string{variable + "=1"}, append([]string{"-test.run=" + rerun.Pattern(test)}, args...)...)
	return stable(output), passed
}

// Binary runs the test binary again, in the folder dir, with variables beside
// those of this process, and returns all that it printed.
func Binary(t *testing.T, dir string, env []string, args ...string) (output string, passed bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0], append([]string{"-test.count=1"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatalf("running the test binary again: %v", err)
	}
	return string(out), err == nil
}

var unstable = regexp.MustCompile(`\(\d+\.\d+s\)|\t\d+\.\d+s`)

var position = regexp.MustCompile(`(\w+_test\.go):\d+:`)

// stable takes out the times of the test run, and the lines of test files, which
// move with every edit above them.
func stable(out string) string {
	return position.ReplaceAllString(unstable.ReplaceAllString(out, "(0.00s)"), "$1:1:")
}
