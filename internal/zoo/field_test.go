package zoo

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const fieldCases = "../../docs/field.md"

// TestFieldPageSaysWhatIsThere holds docs/field.md against the repository.
func TestFieldPageSaysWhatIsThere(t *testing.T) {
	page, wrong := readFieldPage(fieldText(t))
	if len(page.cases) != 50 || len(page.needs) != 46 {
		t.Errorf("docs/field.md has %d cases and %d needs, the collection has 50 and 46", len(page.cases), len(page.needs))
	}
	for _, w := range append(wrong, page.complaints(known(t), killers(read(t, killTable)), Faulty())...) {
		t.Errorf("docs/field.md: %s", w)
	}
}

// TestNumbersInTheCodeHaveALine wants a line for every case and every rule of
// the collection that the code or the kill table speaks of.
func TestNumbersInTheCodeHaveALine(t *testing.T) {
	page, _ := readFieldPage(fieldText(t))
	number := regexp.MustCompile(`\b(F\d{3}|rule \d+)\b`)
	for _, file := range append(sources(t, ".go"), killTable) {
		for _, n := range number.FindAllString(read(t, file), -1) {
			if _, ok := page.cases[n]; !ok && !page.rules[n] && filepath.Base(file) != "field_test.go" {
				t.Errorf("%s speaks of %s, which has no line in docs/field.md", file, n)
			}
		}
	}
}

// TestFieldPageCanBeWrong breaks the page in one place each and wants to be told.
func TestFieldPageCanBeWrong(t *testing.T) {
	text, names, finders := fieldText(t), known(t), killers(read(t, killTable))
	for _, tt := range []struct{ old, new, want string }{
		{"`nil-after-exhaustion`", "`nil-after-exhaution`", "F003: there is no subject nil-after-exhaution"},
		{"row `hint-above-limit`", "row `hint-over-limit`", "F012: there is no row hint-over-limit"},
		{"invariant `circuit-breaker`", "invariant `fuse`", "F052: there is no invariant fuse"},
		{"test `trace.TestParseRetryAfter`", "test `trace.TestParse`", "F010: there is no test trace.TestParse"},
		{"API `faultsim.Batch`", "API `faultsim.Bach`", "batch-partial: there is no API faultsim.Bach"},
		{"`faultsim.Fault.Items`", "`faultsim.Fault.Item`", "batch-partial: there is no API faultsim.Fault.Item"},
		{"subject `shift-overflow`, ", "subject ", "shift-overflow: the line of its source F005 does not name it"},
		{"| F044 |", "| F144 |", "cancelled-and-completed: its source F044 has no line"},
		{"- rule 11: ", "- rule 12: ", "breaker-blames-wrong-arguments: its source rule 11 has no line"},
		{"#7554](", "#7555](", "F003: its source is no link to the issue that it names"},
		{"invariant `circuit-breaker`", "invariant `no-spin`", "F052: the invariant no-spin finds no subject of the line first"},
		{"row `hint-above-limit`", "row `hint-of-zero`", "F012: the row hint-of-zero finds no subject of the line first"},
		{"| F003 |", "| F002 |", "F002: it is there twice"},
		{"open: timers without a goroutine", "later", `leak-census: "later" is neither a kind`},
		{"open: timers without a goroutine", "open: no `Timer`", "leak-census: \"open: no `Timer`\" quotes a name"},
	} {
		t.Run(tt.want, func(t *testing.T) {
			if !strings.Contains(text, tt.old) {
				t.Fatalf("docs/field.md has no %q: choose another place to break", tt.old)
			}
			page, wrong := readFieldPage(strings.Replace(text, tt.old, tt.new, 1))
			wrong = append(wrong, page.complaints(names, finders, Faulty())...)
			if !slices.ContainsFunc(wrong, func(w string) bool { return strings.HasPrefix(w, tt.want) }) {
				t.Errorf("not told: %q", wrong)
			}
		})
	}
}

func fieldText(t *testing.T) string { return read(t, fieldCases) }
