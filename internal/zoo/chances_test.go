package zoo

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/internal/gold"
	"github.com/rehearse-go/rehearse/internal/kept"
	"github.com/rehearse-go/rehearse/internal/selftest"
	"github.com/rehearse-go/rehearse/trace"
)

// What is said of subjects that leave something to chance: of those that break a
// rule, and of those that break none and are run twice.
func TestChanceIsSaid(t *testing.T) {
	var got strings.Builder
	for _, run := range []struct {
		test string
		args []string
	}{{"TestChildFaultyChances", nil}, {"TestChildRightChances", []string{"-rehearse.twice"}}} {
		dir := t.TempDir()
		if run.args == nil {
			saveChances(t, dir, run.test)
		}
		out, _ := selftest.Run(t, dir, run.test, append(run.args, "-rehearse.reruns=100", "-test.v")...)
		fmt.Fprintf(&got, "== %s %s\n%s", run.test, strings.Join(run.args, " "), verdicts(out))
	}
	gold.Equal(t, "testdata/chances.golden", got.String())
}

// saveChances saves a case for each subject that breaks a rule, so that what is drawn
// is not left to chance as well.
func saveChances(t *testing.T, dir, test string) {
	t.Helper()
	defer kept.Move(dir)()
	for _, s := range Chances(true) {
		schedule := faultsim.One(faultsim.Fail(trace.Transient), faultsim.Fail(trace.Transient), faultsim.Fail(trace.Transient))
		text := "rehearse case 1\ninvariant attempts-bounded\n\n" + schedule.String()
		path := kept.Path(filepath.Join(kept.Dir(test+"/"+s.Name), "old.case"))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// verdicts is what the output says of each subject, without what chance decides.
func verdicts(out string) string {
	var b strings.Builder
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "=== RUN") && strings.Contains(line, "/"):
			b.WriteString(line[strings.Index(line, "/")+1:] + "\n")
		case strings.HasPrefix(line, "--- ") && strings.Contains(line, "/"):
			b.WriteString("    " + strings.TrimSuffix(line, " (0.00s)") + "\n")
		case strings.Contains(line, "deterministic: "), strings.Contains(line, "differ from the first"):
			b.WriteString("    " + settled(line) + "\n")
		}
	}
	return b.String()
}

var (
	position  = regexp.MustCompile(`^\w+\.go:\d+: `)
	number    = regexp.MustCompile(`event \d+`)
	event     = regexp.MustCompile(`(differs in \w+: ).* in one run, .* in another`)
	sometimes = regexp.MustCompile(`\b[1-9]\d? of 100 runs`)
	seeds     = regexp.MustCompile(`of 100 other seeds of its random numbers \d+ fail`)
	further   = regexp.MustCompile(`runs, \d+ differ`)
)

func settled(line string) string {
	line = number.ReplaceAllString(position.ReplaceAllString(line, ""), "event N")
	line = event.ReplaceAllString(line, "$1… in one run, … in another")
	line = sometimes.ReplaceAllString(line, "some of 100 runs")
	line = seeds.ReplaceAllString(line, "of 100 other seeds of its random numbers some fail")
	return further.ReplaceAllString(line, "runs, some differ")
}

func TestChildFaultyChances(t *testing.T) { checkChances(t, Chances(true)) }

func TestChildRightChances(t *testing.T) { checkChances(t, Chances(false)) }

func checkChances(t *testing.T, list []Specimen) {
	if !selftest.Active() {
		t.Skip("for a run of the binary inside another test")
	}
	for _, s := range list {
		s.Adapter.Trials = 200
		t.Run(s.Name, func(t *testing.T) { faultsim.Check(t, s.Adapter) })
	}
}

// Right subjects do the same twice, but for those whose goroutines meet at one
// instant. REHEARSE_TRIALS=200 looks further.
func TestRightSubjectsDoTheSameTwice(t *testing.T) {
	t.Setenv("REHEARSE_TWICE", "1")
	racing := map[string]string{
		"session-closed-when-lost":   "two callers lose one session",
		"paced":                      "callers queue at a limiter",
		"watchdog-ends-the-attempt":  "the attempt is told to end while the next one begins",
		"hedged-payment":             "hedges overtake each other",
		"hedged-read":                "hedges overtake each other",
		"goroutine-for-each-attempt": "an answer and the end of its time",
		"refund-waits":               "several callers wait for one, and go on at one instant",
	}
	for _, s := range Right() {
		if racing[s.Name] != "" {
			continue
		}
		s.Adapter.Trials = 12
		s.Adapter.Unseeded = strings.Contains(s.Name, "jitter")
		o, err := faultsim.Explore(t, s.Adapter)
		if err != nil {
			t.Fatal(err)
		}
		if o.Trial > 0 {
			t.Errorf("%s, trial %d, seed %d: %v, %s\n%s", s.Name, o.Trial, o.Seed, o.Differs, o.Invariant(), o.Schedule)
		}
	}
}
