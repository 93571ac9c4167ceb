package faultsim

import (
	"os"
	"path/filepath"
	"regexp"
)

// quoteMeta quotes a test's name for -run and a shell's single quotes.
func quoteMeta(name string) string { return regexp.QuoteMeta(name) }

// packageOf is the package of the running test as an argument of go test,
// seen from the root of its module: go test runs a test binary in the folder
// of its package.
func packageOf() string {
	here, err := os.Getwd()
	if err != nil {
		return "."
	}
	for root := here; ; root = filepath.Dir(root) {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			rel, err := filepath.Rel(root, here)
			if err != nil || rel == "." {
				return "."
			}
			return "./" + filepath.ToSlash(rel)
		}
		if root == filepath.Dir(root) {
			return "."
		}
	}
}
