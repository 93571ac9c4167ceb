package invariants

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-go/rehearse/trace"
)

// A deviation is how far the arguments of a call are from what a step wants.
type deviation struct {
	fields []fieldDiff // only where they are listed
	list   bool        // list the fields, which is for the one call that is shown
	wrong  int         // fields that differ
	total  int         // fields that were compared
	where  error       // what Where said
}

// A fieldDiff is one field that differs; a text is empty where there is no value.
type fieldDiff struct {
	path, got, want string
	hidden          bool // got is a digest
}

func (d *deviation) none() bool { return d.wrong == 0 && d.where == nil }

// part is how much of what was compared differs, in parts of n; at least 1.
func (d *deviation) part(n int64) int64 {
	wrong, total := int64(d.wrong), int64(d.total)
	if d.where != nil {
		wrong, total = wrong+1, total+1
	}
	return max(1, n*wrong/max(total, 1))
}

// from compares the arguments of a call of the same tool.
func (d *deviation) from(s *StepMatcher, c *tcall) {
	switch {
	case s.text == nil:
	case len(s.only) > 0:
		got := c.value()
		for _, field := range s.only {
			want, _ := fieldAt(s.want, field)
			value, found := fieldAt(got, field)
			d.compare(field, side{want, true}, side{value, found}, false)
		}
	case !s.partial && string(s.text) == string(c.args()):
	default:
		d.compare("", side{s.want, true}, side{c.value(), true}, s.partial)
	}
	slices.SortFunc(d.fields, func(x, y fieldDiff) int { return strings.Compare(x.path, y.path) })
	if d.wrong == 0 && s.where != nil {
		d.where = s.where(slices.Clone(c.args()))
	}
}

// A side is a value that may be missing.
type side struct {
	value any
	there bool
}

// compare counts the leaves that differ. Where it is partial, got may have fields
// that want has not.
func (d *deviation) compare(path string, want, got side, partial bool) {
	if partial && !want.there {
		return
	}
	switch w := want.value.(type) {
	case map[string]any:
		if g, same := got.value.(map[string]any); same && len(w)+len(g) > 0 {
			for name, value := range w {
				other, there := g[name]
				d.compare(d.within(path, name), side{value, true}, side{other, there}, partial)
			}
			for name, value := range g {
				if _, wanted := w[name]; !wanted {
					d.compare(d.within(path, name), side{}, side{value, true}, partial)
				}
			}
			return
		}
	case []any:
		if g, same := got.value.([]any); same && len(w)+len(g) > 0 {
			for i := range max(len(w), len(g)) {
				d.compare(d.element(path, i), nth(w, i), nth(g, i), partial && i < len(w))
			}
			return
		}
	}
	d.total++
	if want.there == got.there && equal(want.value, got.value) {
		return
	}
	d.wrong++
	if d.list {
		d.fields = append(d.fields, fieldDiff{path, got.String(), want.String(), digest(got.value)})
	}
}

func (s side) String() string {
	if !s.there {
		return ""
	}
	return encoded(s.value)
}

// equal compares leaves, and containers that have nothing in them.
func equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, same := b.(map[string]any)
		return same && len(a)+len(b) == 0
	case []any:
		b, same := b.([]any)
		return same && len(a)+len(b) == 0
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	return a == b
}

func nth(list []any, i int) side {
	if i < len(list) {
		return side{list[i], true}
	}
	return side{}
}

// within and element are paths, which are of use where fields are listed only.
func (d *deviation) within(path, name string) string {
	if path == "" || !d.list {
		return name
	}
	return path + "." + name
}

func (d *deviation) element(path string, i int) string {
	if !d.list {
		return ""
	}
	return fmt.Sprintf("%s[%d]", path, i)
}

// fieldAt is the field with the dotted path.
func fieldAt(value any, path string) (field any, found bool) {
	for name := range strings.SplitSeq(path, ".") {
		object, _ := value.(map[string]any)
		if value, found = object[name]; !found {
			return nil, false
		}
	}
	return value, true
}

// encoded is the value as JSON.
func encoded(value any) string {
	if value == nil {
		return "null"
	}
	return string(trace.Canonical(trace.Marshal(value)))
}
