package faultsim

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
)

// packageOf is the package of the running test as an argument of go test: its
// import path, which means the same in every folder of its module; else the
// path from the root of the module.
func packageOf() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		if path, ok := strings.CutSuffix(info.Path, ".test"); ok && path != "command-line-arguments" {
			return path
		}
	}
	for root := packageDir; ; root = filepath.Dir(root) {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			rel, err := filepath.Rel(root, packageDir)
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
