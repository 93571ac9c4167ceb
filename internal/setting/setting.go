// Package setting holds what a run is told from outside: each setting is a flag
// of the test binary, and a variable that says the same for `go test ./...` over
// packages that do not know the flag. A package that defines settings registers
// flags where it is linked, which is why no package that production code may
// link imports this one.
package setting

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// An Entry is how a setting is called, and what it means.
type Entry struct {
	Flag     string // without its dash
	Variable string
	Meaning  string
}

var entries []Entry

// All lists the settings of the packages that are linked, by their flags.
func All() []Entry {
	return slices.SortedFunc(slices.Values(entries), func(a, b Entry) int { return cmp.Compare(a.Flag, b.Flag) })
}

// A Source says where a value comes from, the weakest first.
type Source int

const (
	Unset    Source = iota
	Variable        // of the environment
	Flag            // of the test binary
)

// A Setting is one value of that type.
type Setting[V any] struct {
	Entry
	parse func(string) (V, error)
	flag  text
}

// Define registers the flag rehearse.NAME, whose variable is REHEARSE_NAME. Parse
// reads both; its error goes on after the value, such as "is no number". It is for
// variables of packages.
func Define[V any](name, meaning string, parse func(string) (V, error)) *Setting[V] {
	s := &Setting[V]{Entry{"rehearse." + name, "REHEARSE_" + strings.ToUpper(name), meaning}, parse, text{}}
	_, s.flag.bool = any(parse).(func(string) (bool, error))
	flag.Var(&s.flag, s.Flag, "rehearse: "+meaning)
	entries = append(entries, s.Entry)
	return s
}

// Read returns the value of the flag, or else that of the variable; an empty
// variable is none. It must be called while a test runs: a variable that is read
// then is part of what go test keeps a passed run under, and one that was read
// before is not. The variable is read where the flag goes before it too.
func (s *Setting[V]) Read() (v V, from Source, err error) {
	variable := os.Getenv(s.Variable)
	switch {
	case s.flag.given:
		v, err = s.parse(s.flag.value)
		return v, Flag, s.explain("-"+s.Flag, s.flag.value, err)
	case variable != "":
		v, err = s.parse(variable)
		return v, Variable, s.explain(s.Variable, variable, err)
	}
	return v, Unset, nil
}

func (s *Setting[V]) explain(name, value string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s=%q %w", name, value, err)
}

// YesOrNo is how a wish is parsed. A word that is neither is an error, for whoever
// writes "no" must not get what "yes" does.
func YesOrNo(text string) (bool, error) {
	yes, err := strconv.ParseBool(text)
	if err != nil {
		return false, errors.New("is neither true nor false")
	}
	return yes, nil
}

// text is a flag that is taken as it is, and read by the test that needs it, so
// that both ways to say a thing have one error.
type text struct {
	value string
	given bool
	bool  bool
}

func (t *text) String() string   { return t.value }
func (t *text) IsBoolFlag() bool { return t.bool }
func (t *text) Set(s string) error {
	t.value, t.given = s, true
	return nil
}
