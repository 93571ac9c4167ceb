package double

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
)

// A Pos is the place in the test's source where something was written.
type Pos struct {
	File string // the whole path
	Line int
}

// Caller returns the place of the call skip frames above its own caller.
func Caller(skip int) Pos {
	_, file, line, _ := runtime.Caller(skip + 2)
	return Pos{file, line}
}

// String is the place as go test prints it: "pay_test.go:34".
func (p Pos) String() string {
	if p.File == "" {
		return "an unknown line"
	}
	return fmt.Sprintf("%s:%d", filepath.Base(p.File), p.Line)
}

// Any as [Step.Times] lets a step answer any number of calls, none included.
const Any = -1

// A Step is one line of a script: an answer, and how often it is given.
type Step[A any] struct {
	Name   string // as it is called in the test: "Fail"
	Pos    Pos    // where it was written
	Times  int    // how often it answers, from 1; or [Any]
	Timing Timing
	Answer A

	used int
}

// A Script is a strict queue of steps. It is not safe for concurrent use: its
// owner guards it together with what else must stay in the same order.
type Script[A any] struct {
	Steps []*Step[A]
	calls int
}

// Add appends a step that answers once.
func (s *Script[A]) Add(name string, pos Pos, answer A) *Step[A] {
	step := &Step[A]{Name: name, Pos: pos, Times: 1, Answer: answer}
	s.Steps = append(s.Steps, step)
	return step
}

// Last returns the step that was written last; nil: there is none.
func (s *Script[A]) Last() *Step[A] {
	if len(s.Steps) == 0 {
		return nil
	}
	return s.Steps[len(s.Steps)-1]
}

// Take returns a copy of the step that answers the next call, and the number
// of that call from 1. The step is nil where the script is used up.
func (s *Script[A]) Take() (step *Step[A], call int) {
	s.calls++
	next := s.Next()
	if next == nil {
		return nil, s.calls
	}
	next.used++
	taken := *next
	return &taken, s.calls
}

// Next is the step that the next call takes; nil: there is none.
func (s *Script[A]) Next() *Step[A] {
	for _, step := range s.Steps {
		if step.Times == Any || step.used < step.Times {
			return step
		}
	}
	return nil
}

// Calls is how often Take was asked.
func (s *Script[A]) Calls() int { return s.calls }

// Len is how many answers the script holds; steps of [Any] count once.
func (s *Script[A]) Len() int {
	n := 0
	for _, step := range s.Steps {
		n += max(step.Times, 1)
	}
	return n
}

// Unused describes the answers that were not given, a line each, and counts
// them. A step of [Any] is never unused.
func (s *Script[A]) Unused() (text string, n int) {
	var b strings.Builder
	for _, step := range s.Steps {
		left := step.Times - step.used
		if step.Times == Any || left <= 0 {
			continue
		}
		n += left
		fmt.Fprintf(&b, "\n\t%s: %s", step.Pos, step.Name)
		if step.Times > 1 {
			fmt.Fprintf(&b, ", %d of %d times", left, step.Times)
		}
	}
	return b.String(), n
}
