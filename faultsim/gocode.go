package faultsim

import (
	"cmp"
	"fmt"
	"go/format"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/rehearse-go/rehearse/trace"
)

// GoString is the schedule as a composite literal of Go, as %#v prints it. It is
// read back as the same schedule. Fields that are zero are left out.
func (s Schedule) GoString() string {
	var b strings.Builder
	writeGo(&b, reflect.ValueOf(s), "")
	return formatted(b.String())
}

// GoTest is a test to paste into a file of the adapter's own tests, which plays the
// schedule by [Run]: name is that of the test, such as "TestRefusalIsFinal", and
// adapter an expression for the adapter, such as "adapter()". Its first line names the
// packages that the file has to import.
func (s Schedule) GoTest(name, adapter string) string {
	code := s.GoString()
	return formatted(fmt.Sprintf("// imports: %s\nfunc %s(t *testing.T) {\nfaultsim.Run(t, %s, %s)\n}", strings.Join(importsOf(code), ", "), name, adapter, code))
}

// importsOf are the packages that a test with the code imports.
func importsOf(code string) []string {
	list := []string{"testing", "github.com/rehearse-go/rehearse/faultsim"}
	if strings.Contains(code, "time.") {
		list = append(list, "time")
	}
	if strings.Contains(code, "trace.") {
		list = append(list, "github.com/rehearse-go/rehearse/trace")
	}
	return list
}

// formatted is the code as gofmt has it. What does not parse, because a name that
// was handed in is none, stays as it is.
func formatted(code string) string {
	out, err := format.Source([]byte(code))
	if err != nil {
		return code
	}
	return string(out)
}

// writeGo writes a value as an expression. outer is the type of what it stands in,
// for elements of lists and maps, whose own type need not be said.
func writeGo(b *strings.Builder, v reflect.Value, outer string) {
	switch x := v.Interface().(type) {
	case time.Duration:
		b.WriteString(durationGo(x))
		return
	case trace.Class:
		b.WriteString(goClass(x))
		return
	case trace.Advice:
		b.WriteString("trace.Advice" + identifier(x.String()))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		writeStruct(b, v, outer)
	case reflect.Slice:
		b.WriteString(cmp.Or(outer, typeGo(v.Type())) + "{")
		for i := range v.Len() {
			writeElement(b, v.Index(i))
		}
		if v.Type().Elem().Kind() == reflect.Struct {
			b.WriteString("\n")
		}
		b.WriteString("}")
	case reflect.Map:
		b.WriteString(typeGo(v.Type()) + "{")
		keys := v.MapKeys()
		slices.SortFunc(keys, func(x, y reflect.Value) int { return strings.Compare(x.String(), y.String()) })
		for _, k := range keys {
			b.WriteString("\n" + toolGo(k.String()) + ": ")
			writeGo(b, v.MapIndex(k), elided)
			b.WriteString(",")
		}
		b.WriteString("\n}")
	case reflect.String:
		b.WriteString(strconv.Quote(v.String()))
	default:
		fmt.Fprint(b, v)
	}
}

// elided is the type of an element whose type need not be said.
const elided = " "

// writeElement writes an element of a list: a struct on a line of its own.
func writeElement(b *strings.Builder, v reflect.Value) {
	if v.Kind() == reflect.Struct {
		b.WriteString("\n")
		writeGo(b, v, elided)
		b.WriteString(",")
		return
	}
	if v.Kind() == reflect.String {
		b.WriteString(toolGo(v.String()) + ", ")
		return
	}
	writeGo(b, v, elided)
	b.WriteString(", ")
}

// writeStruct writes the fields that are not zero: each on a line of its own where
// one of them is a list.
func writeStruct(b *strings.Builder, v reflect.Value, outer string) {
	b.WriteString(cmp.Or(outer, typeGo(v.Type())) + "{")
	broken := false
	for i := range v.NumField() {
		broken = broken || !v.Field(i).IsZero() && (v.Field(i).Kind() == reflect.Slice || v.Field(i).Kind() == reflect.Map)
	}
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			continue
		}
		if broken {
			b.WriteString("\n")
		}
		b.WriteString(v.Type().Field(i).Name + ": ")
		writeGo(b, v.Field(i), "")
		b.WriteString(", ")
	}
	if broken {
		b.WriteString("\n")
	}
	b.WriteString("}")
}

// typeGo is a type as another package names it.
func typeGo(t reflect.Type) string {
	switch {
	case t.Name() != "" && t.PkgPath() != "":
		return path.Base(t.PkgPath()) + "." + t.Name()
	case t.Kind() == reflect.Slice:
		return "[]" + typeGo(t.Elem())
	case t.Kind() == reflect.Map:
		return "map[" + typeGo(t.Key()) + "]" + typeGo(t.Elem())
	}
	return t.String()
}

// toolGo is the name of a tool.
func toolGo(name string) string {
	if name == Main {
		return "faultsim.Main"
	}
	return strconv.Quote(name)
}

// identifier is the words of a text, which hyphens or other signs part, as part of a
// name in Go.
func identifier(text string) string {
	if text == trace.OK.String() {
		return "OK"
	}
	parts := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	var b strings.Builder
	for _, word := range strings.FieldsFunc(text, parts) {
		first, size := utf8.DecodeRuneInString(word)
		b.WriteString(string(unicode.ToUpper(first)) + word[size:])
	}
	return b.String()
}

// testName is the name of a test about the rule. Go takes none for a test whose next
// letter is a small one, and some letters have no capital.
func testName(rule string) string {
	name := identifier(rule)
	if first, _ := utf8.DecodeRuneInString(name); unicode.IsLower(first) {
		name = "_" + name
	}
	return "Test" + name
}

var units = []struct {
	size time.Duration
	name string
}{
	{time.Hour, "time.Hour"}, {time.Minute, "time.Minute"}, {time.Second, "time.Second"},
	{time.Millisecond, "time.Millisecond"}, {time.Microsecond, "time.Microsecond"}, {time.Nanosecond, "time.Nanosecond"},
}

// durationGo is a time in the largest unit that needs no more than four digits, or
// else the sum of a time in its largest unit and the rest.
func durationGo(d time.Duration) string {
	if d <= 0 {
		return strconv.FormatInt(int64(d), 10)
	}
	for _, u := range units {
		if d%u.size == 0 && d/u.size < 10_000 {
			return timesGo(d/u.size, u.name)
		}
	}
	for _, u := range units {
		if d >= u.size {
			return timesGo(d/u.size, u.name) + " + " + durationGo(d%u.size)
		}
	}
	return ""
}

func timesGo(n time.Duration, unit string) string {
	if n == 1 {
		return unit
	}
	return fmt.Sprintf("%d*%s", int64(n), unit)
}
