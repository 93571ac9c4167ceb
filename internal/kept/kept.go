// Package kept knows where the files of a test are kept, beside the package
// that it tests, and writes them whole or not at all.
package kept

import (
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"
)

// packageDir is where the test binary began, which is the folder of the package
// that it tests. A test may change the working directory.
var packageDir, _ = os.Getwd()

// PackageDir is the folder of the package under test.
func PackageDir() string { return packageDir }

// Move makes another folder the package's and returns what undoes it. It is for
// tests of what becomes of files, one at a time.
func Move(dir string) (back func()) {
	was := packageDir
	packageDir = dir
	return func() { packageDir = was }
}

// Dir is where the files of a test live, seen from its package.
func Dir(test string) string { return filepath.Join("testdata", "rehearse", Safe(test)) }

// Path is a path below the package, or an absolute one, as the program opens it.
func Path(below string) string {
	if filepath.IsAbs(below) {
		return below
	}
	return filepath.Join(packageDir, below)
}

// Safe turns a name into a file name on every system, and not into one that is hidden
// by a dot. Names that would collide after that differ by a hash.
func Safe(name string) string {
	safe := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '_'
	}, name)
	if len(safe) > longestName {
		safe = safe[:longestName]
	}
	if safe != name || safe == "" || safe[0] == '.' {
		safe = strings.TrimLeft(safe, ".") + "-" + Hash(name)
	}
	return safe
}

const longestName = 120

// Hash is eight digits that tell texts apart.
func Hash(s string) string {
	h := fnv.New32a()
	h.Write([]byte(s))
	return fmt.Sprintf("%08x", h.Sum32())
}

// Save writes a file with its folders to where Path says that it is. Who reads it at the
// same time finds the old content or the new one.
func Save(below, content string) error {
	path := Path(below)
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return Brief(err)
	}
	temp, err := os.CreateTemp(dir, ".kept-*")
	if err != nil {
		return Brief(err)
	}
	_, err = temp.WriteString(content)
	err = errors.Join(err, temp.Close(), os.Chmod(temp.Name(), 0o644))
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(temp.Name())
		return Brief(err)
	}
	return nil
}

// Brief words an error of a file with the path below the package, or as it is where it
// lies elsewhere, and leaves the path of a temporary file out.
func Brief(err error) error {
	if e, ok := errors.AsType[*os.PathError](err); ok {
		if strings.Contains(e.Path, ".kept-") {
			return fmt.Errorf("%s: %w", e.Op, e.Err)
		}
		path := e.Path
		if rel, bad := filepath.Rel(packageDir, path); bad == nil && filepath.IsLocal(rel) {
			path = rel
		}
		return fmt.Errorf("%s %s: %w", e.Op, filepath.ToSlash(path), e.Err)
	}
	return err
}
