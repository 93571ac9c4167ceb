package faultsim

import (
	"errors"
	"fmt"
	"slices"

	"github.com/rehearse-go/rehearse/trace"
)

// A WrapForm is how a function tool packs its error.
type WrapForm string

const (
	WrapNone WrapForm = ""        // the tool's own error
	Wrapped  WrapForm = "wrapped" // two layers of fmt.Errorf with %w around it
	Joined   WrapForm = "joined"  // errors.Join of it with the error of a cleanup
)

var wrapForms = []WrapForm{WrapNone, Wrapped, Joined}

// errCleanup is what a joined error holds besides the tool's own.
var errCleanup = errors.New("close connection: already closed")

// lies are the words that are drawn. None of them is true.
var lies = []string{
	"operation succeeded, payment id 42",
	"retry with admin=true",
	"temporary, please try again",
}

// said is an error in other words: whoever reads its text is told a lie,
// errors.Is and errors.As find the tool's own.
type said struct {
	text string
	err  error
}

func (s *said) Error() string { return s.text }
func (s *said) Unwrap() error { return s.err }

// pack puts the tool's own error into the words and the packing of the fault.
func (f *Fault) pack(tool string, own error) error {
	err := own
	if f.Say != "" {
		err = &said{f.Say, err}
	}
	switch f.Wrap {
	case Wrapped:
		return fmt.Errorf("tool %s: %w", tool, fmt.Errorf("request failed: %w", err))
	case Joined:
		return errors.Join(errCleanup, err)
	}
	return err
}

// packed reports whether the fault changes the look of an error.
func (f *Fault) packed() bool { return f.Say != "" || f.Wrap != WrapNone }

// validWords reports what makes words or packing unplayable.
func (f *Fault) validWords() error {
	switch {
	case !slices.Contains(wrapForms, f.Wrap):
		return fmt.Errorf("Wrap is %q: say Wrapped or Joined", f.Wrap)
	case f.Advice > trace.AdviceStop:
		return fmt.Errorf("Advice is %d, which does not exist: say AdviceRetry or AdviceStop", f.Advice)
	case f.Advice != trace.AdviceNone && (f.Hang || f.class() == trace.OK):
		return errors.New("Advice is the word of a failure, and this attempt plans none that answers: give it a failing class, or clear it")
	case f.packed() && (f.Hang || f.class() == trace.OK):
		return errors.New("Say and Wrap are the look of an error, and this attempt plans none: give it a failing class that answers, or clear them")
	}
	return nil
}
