package faultsim

import (
	"time"

	"github.com/rehearse-go/rehearse/internal/double"
	"github.com/rehearse-go/rehearse/trace"
)

// skew is how far the clock of a skewed server is behind.
const skew = 5 * time.Minute

// hint is the hint as it is written.
func (f *Fault) hint() double.Hint {
	h := double.Hint{Wait: f.Hint, Form: f.form()}
	if f.Form == HintSkewed {
		h.Offset = -skew
	}
	return h
}

// form is the hint's form on the wire.
func (f *Fault) form() double.HintForm {
	switch {
	case f.Hint <= 0:
		return double.HintNone
	case f.Form == HintDate, f.Form == HintSkewed:
		return double.HintDate
	case f.Form == HintMillis:
		return double.HintMillis
	}
	return double.HintSeconds
}

// askers are the classes of failures that can ask for a wait.
var askers = []trace.Class{trace.Throttled, trace.Transient}
