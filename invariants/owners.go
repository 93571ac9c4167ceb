package invariants

import (
	"fmt"
	"strings"

	"github.com/rehearse-go/rehearse/trace"
)

// RetryOwners is: after a failure of a class, it is the layer that owns the class
// that makes the next attempt, and no other; after a class without an owner
// nobody does. owners maps a class to the name of a layer as trace.Layer has it;
// the empty name is the code above all layers.
//
//	invariants.RetryOwners(map[trace.Class]string{
//		trace.NotConnected: "transport", trace.Timeout: "transport", // safe reads
//		trace.Throttled: "adapter",                                  // by the tool's guidance
//	})
//
// Which layer made an attempt follows from the paths: the innermost one that
// both attempts have in common went round again. How many attempts there are in
// all is the business of [PhysicalAttempts]; the source of both is "assign retry
// ownership per failure class" (Testing Agent Tool-Call Retry Behavior) and rule
// 10 of the field collection. It does not apply to attempts without a layer, which
// [Attributed] finds.
func RetryOwners(owners map[trace.Class]string) Invariant {
	return seriesRule("retry-owner", "after a failure the layer that owns its class retries, and no other",
		func(a *trace.Action, s *trace.Series) (v Verdict) {
			for i := range len(s.Attempts) - 1 {
				at, again := &s.Attempts[i], &s.Attempts[i+1]
				if !at.Seen || !at.Outcome.Failed() || at.Layer == "" || again.Layer == "" || again.Begin < at.End {
					continue
				}
				v.Applied++
				if text := trespass(owners, at, again); text != "" {
					v.report(a, text, "let one layer retry each class of failure, and switch it off in the others, so that their attempts do not multiply",
						at.AnswerEvent, again.Event)
					return v
				}
			}
			return v
		})
}

// trespass words a repeat by a layer that does not own the class; empty: it does,
// in one of the ways in which the outcome can be read.
func trespass(owners map[trace.Class]string, at, again *trace.Attempt) string {
	maker := repeater(at.Layer, again.Layer)
	class := ownTimeout(at.Outcome.Class)
	owner, owned := owners[class]
	if owned && owner == maker {
		return ""
	}
	if o, when, two := secondReading(at); two && when <= again.Begin {
		if other, ok := owners[ownTimeout(o.Class)]; ok && other == maker {
			return ""
		}
	}
	by := layerName(maker)
	if !owned {
		return fmt.Sprintf("%s was called again after %v by %s, and no layer owns the retries of it", again.Tool, class, by)
	}
	return fmt.Sprintf("%s was called again after %v by %s, and %s owns the retries of it", again.Tool, class, by, layerName(owner))
}

// repeater is the layer that went round between two attempts: the innermost
// that both were made in.
func repeater(before, after string) string {
	name := ""
	next := strings.Split(after, "/")
	for i, entry := range strings.Split(before, "/") {
		if i >= len(next) || next[i] != entry {
			break
		}
		name, _, _ = strings.Cut(entry, "#")
	}
	return name
}

func layerName(name string) string {
	if name == "" {
		return "the code above all layers"
	}
	return fmt.Sprintf("%q", name)
}
