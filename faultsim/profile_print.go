package faultsim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// GoString is the profile as Go code, as gofmt writes it: what [Fit] has found can be
// read, changed and kept in a test. A distribution that is not of this package prints
// as %#v prints it.
func (p Profile) GoString() string {
	var b strings.Builder
	b.WriteString("faultsim.Profile{\n")
	if len(p.Tools) > 0 {
		b.WriteString("Tools: map[string]faultsim.Behaviour{\n")
		for _, name := range slices.Sorted(maps.Keys(p.Tools)) {
			by := p.Tools[name]
			fmt.Fprintf(&b, "%s: {\n%s},\n", goTool(name), by.fields())
		}
		b.WriteString("},\n")
	}
	b.WriteString(goFields(
		goField{"Actions", p.Actions}, goField{"AtOnce", p.AtOnce}, goField{"Pause", p.Pause}, goField{"Deadline", p.Deadline},
		goField{"Cancel", goStruct("faultsim.Cancels", goField{"Share", p.Cancel.Share}, goField{"When", p.Cancel.When}, goField{"At", p.Cancel.At})},
		goField{"Restart", goStruct("faultsim.Restarts", goField{"Share", p.Restart.Share}, goField{"Down", p.Restart.Down})},
		goField{"Swarm", p.Swarm},
	))
	b.WriteString("}")
	return formatted(b.String())
}

func (b *Behaviour) fields() string {
	return goFields(
		goField{"Streak", b.Streak},
		goField{"Burst", goStruct("faultsim.GilbertElliott", goField{"ToBad", b.Burst.ToBad}, goField{"ToGood", b.Burst.ToGood}, goField{"Good", b.Burst.Good}, goField{"Bad", b.Burst.Bad})},
		goField{"Classes", b.Classes}, goField{"Hang", b.Hang}, goField{"Lost", b.Lost}, goField{"Latency", b.Latency},
		goField{"Hint", goStruct("faultsim.Hints", goField{"Share", b.Hint.Share}, goField{"Classes", b.Hint.Classes}, goField{"Wait", b.Hint.Wait}, goField{"Forms", b.Hint.Forms})},
		goField{"Partial", b.Partial},
		goField{"Outage", goStruct("faultsim.Downtimes", goField{"Share", b.Outage.Share}, goField{"Begin", b.Outage.Begin}, goField{"Length", b.Outage.Length}, goField{"Recovery", b.Outage.Recovery}, goField{"Class", b.Outage.Class})},
		goField{"Quota", goStruct("faultsim.Quota", goField{"N", float64(b.Quota.N)}, goField{"Per", b.Quota.Per})},
		goField{"Bucket", goStruct("faultsim.Bucket", goField{"Burst", float64(b.Bucket.Burst)}, goField{"Every", b.Bucket.Every})},
	)
}

// A goField is a field of a composite literal.
type goField struct {
	name  string
	value any
}

// goCode is a value that has been written already.
type goCode string

// goFields are the fields that are not zero, one a line.
func goFields(fields ...goField) string {
	var b strings.Builder
	for _, f := range fields {
		if text := goValue(f.value); text != "" {
			fmt.Fprintf(&b, "%s: %s,\n", f.name, text)
		}
	}
	return b.String()
}

// goStruct is a literal in one line; empty where all of its fields are zero.
func goStruct(name string, fields ...goField) goCode {
	text := strings.ReplaceAll(strings.TrimSuffix(goFields(fields...), ",\n"), "\n", " ")
	if text == "" {
		return ""
	}
	return goCode(name + "{" + text + "}")
}

// goValue is the value as Go code; empty: it is the zero value.
func goValue(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case goCode:
		return string(v)
	case float64:
		if v != 0 {
			return goNumber(v)
		}
	case time.Duration:
		if v != 0 {
			return durationGo(v)
		}
	case bool:
		if v {
			return "true"
		}
	case trace.Class:
		if v != 0 {
			return goClass(v)
		}
	case Weights:
		return v.goString()
	case []trace.Class:
		if v != nil {
			return "[]trace.Class{" + joined(v, goClass) + "}"
		}
	case []Moment:
		return goList("faultsim.Moment", v)
	case []HintForm:
		return goList("faultsim.HintForm", v)
	default:
		return fmt.Sprintf("%#v", v)
	}
	return ""
}

func (w Weights) goString() string {
	if w == nil {
		return ""
	}
	return "faultsim.Weights{" + joined(slices.Sorted(maps.Keys(w)), func(c trace.Class) string {
		return goClass(c) + ": " + goNumber(w[c])
	}) + "}"
}

func goList[S ~string](name string, list []S) string {
	if list == nil {
		return ""
	}
	return "[]" + name + "{" + joined(list, func(s S) string { return fmt.Sprintf("%q", string(s)) }) + "}"
}

// goClass is the constant of the class.
func goClass(c trace.Class) string { return "trace." + identifier(c.String()) }

func goTool(name string) string {
	if name == Main {
		return "faultsim.Main"
	}
	return fmt.Sprintf("%q", name)
}
