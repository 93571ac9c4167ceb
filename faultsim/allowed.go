package faultsim

import (
	"fmt"
	"slices"
)

// forbids reports why the tools that an action may call cannot be told from
// others; nil: they can.
func (s *Stage) forbids(allowed []string) error {
	for _, name := range allowed {
		if name == Main || s.lookup(name) == nil {
			return fmt.Errorf("faultsim: Allowed names %q, the stage has %s: correct the name, or take it out", name, s.names())
		}
	}
	if !slices.ContainsFunc(s.tools, func(t *tool) bool { return !slices.Contains(allowed, t.name) }) {
		return fmt.Errorf("faultsim: Allowed names every tool on the stage (%s), so that nothing could be called that is not: put a tool there that the code could turn to and must not, or clear Allowed", s.names())
	}
	return nil
}
