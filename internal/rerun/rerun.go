// Package rerun words the command that runs one test again.
package rerun

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"

	"github.com/rehearse-go/rehearse/internal/kept"
)

// Command is the shell command that runs the test of that name again, and
// nothing else of its package.
func Command(test string) string {
	return "go test -run " + shellQuote(Pattern(test)) + " " + packageOf()
}

// Pattern is the argument of -run that means the test of that name alone.
func Pattern(test string) string {
	parts := strings.Split(test, "/")
	for i := range parts {
		parts[i] = "^" + regexp.QuoteMeta(parts[i]) + "$"
	}
	return strings.Join(parts, "/")
}

// shellQuote quotes for a shell.
func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// packageOf is the package of the running test as an argument of go test: its
// import path, which means the same in every folder of its module; else the
// path from the root of the module.
func packageOf() string {
	if path := ImportPath(); path != "" {
		return path
	}
	for root := kept.PackageDir(); ; root = filepath.Dir(root) {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			rel, err := filepath.Rel(root, kept.PackageDir())
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

// ImportPath is that of the package of the running test; empty: the binary does
// not know it.
func ImportPath() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		if path, ok := strings.CutSuffix(info.Path, ".test"); ok && path != "command-line-arguments" {
			return path
		}
	}
	return ""
}
