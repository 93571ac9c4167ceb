package trace

import (
	"fmt"
	"strings"
)

// Timeline is a placeholder until the renderer lands.
func (t *Trace) Timeline(marked ...int) string {
	var b strings.Builder
	for i := range t.Events {
		e := &t.Events[i]
		mark := " "
		for _, m := range marked {
			if m == i {
				mark = ">"
			}
		}
		fmt.Fprintf(&b, "%s %10v %-9v %s %s %s %v %s\n", mark, e.At, e.Kind, e.Action, e.Tool, e.Args, e.Outcome, e.Error)
	}
	return b.String()
}
