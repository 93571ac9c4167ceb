// Package gold compares texts with golden files, for the tests of this module.
// go test -update of one package writes its files anew; read the difference
// before it is committed.
package gold

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Update is set by -update.
var Update = flag.Bool("update", false, "write the golden files of this package anew")

// Equal compares the text with the content of the file at path, or writes it.
func Equal(t testing.TB, path, got string) {
	t.Helper()
	if *Update {
		write(t, path, got)
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v: go test -update writes it", err)
	}
	if diff := cmp.Diff(strings.SplitAfter(string(want), "\n"), strings.SplitAfter(got, "\n")); diff != "" {
		t.Errorf("%s is not what comes out now (-file +now), go test -update writes it anew:\n%s", path, diff)
	}
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}
