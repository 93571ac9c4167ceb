package rerun

import (
	"strings"
	"testing"
)

func TestCommandIsAnExactPatternForAShell(t *testing.T) {
	for test, pattern := range map[string]string{
		"TestX":                 `'^TestX$'`,
		"TestX/a_b/[x](y)|z":    `'^TestX$/^a_b$/^\[x\]\(y\)\|z$'`,
		"TestX/$HOME_'q'_`d`":   `'^TestX$/^\$HOME_'\''q'\''_` + "`d`" + `$'`,
		"TestX/ünïcode\\x00#01": `'^TestX$/^ünïcode\\x00#01$'`,
	} {
		want := "go test -run " + pattern + " github.com/rehearse-go/rehearse/internal/rerun"
		if got := Command(test); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestCommandSurvivesAnotherWorkingDirectory(t *testing.T) {
	before := Command("TestX")
	t.Chdir(t.TempDir())
	if got := Command("TestX"); got != before || strings.Contains(got, "..") {
		t.Errorf("got %s, want %s", got, before)
	}
}
