package scene

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Pin compares the text with the one that is kept in the file of testdata, and writes
// it there where the test binary has a flag -update that is set.
func Pin(t *testing.T, file, got string) {
	t.Helper()
	file = filepath.Join("testdata", file)
	if f := flag.Lookup("update"); f != nil && f.Value.String() == "true" {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Fatalf("%s differs (-want +got): read the difference, and then write the file anew with -args -update\n%s", file, diff)
	}
}
