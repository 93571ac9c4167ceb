package invariants

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-go/rehearse/trace"
)

// AllowedTools is: an action makes attempts at these tools only, whatever becomes
// of them. Where the approved tools are down the action fails: "a retry budget is
// not permission to broaden authority" (Testing Agent Tool-Call Retry Behavior).
// Calls that are no attempts, such as fetching credentials, are not judged.
// Without names it is a rule that nothing can break.
func AllowedTools(names ...string) Invariant {
	names = slices.Clone(names)
	list := strings.Join(names, ", ")
	return rule("allowed-tools", "an action calls the tools that it may call, and no other",
		func(_ *trace.Trace, a *trace.Action) (v Verdict) {
			if len(names) == 0 {
				return v
			}
			for i := range a.Attempts {
				v.Applied++
				if at := &a.Attempts[i]; !slices.Contains(names, at.Tool) {
					v.report(a, fmt.Sprintf("%s was called, and the action may call %s", at.Tool, list),
						"choose an alternative by the same permissions as the first tool, and fail where none is left", at.Event)
					return v
				}
			}
			return v
		})
}
