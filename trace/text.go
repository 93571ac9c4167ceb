package trace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Everything in this file turns what others wrote into text that cannot
// pretend to be a part of the timeline: one line, no control character, no
// direction mark, bounded in length.

const (
	longText  = 96 // runes of a value that is shown whole
	longName  = 32 // runes of a name
	longPiece = 40 // runes of a value within a list of changes
	longKey   = 12 // runes of a key
	headKey   = 8  // runes that are shown of a longer one
)

// escaped writes what does not print as it would be written in Go or JSON.
func escaped(s string) string {
	if !strings.ContainsFunc(s, unprintable) && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r > 0xffff && unprintable(r):
			fmt.Fprintf(&b, `\U%08x`, r)
		case unprintable(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r) // invalid UTF-8 comes as U+FFFD
		}
	}
	return b.String()
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) }

// quoted is a text in quotes, with its length where it is cut.
func quoted(s string, most int) string {
	whole := len(s)
	s, cut := head(s, most)
	s = `"` + escaped(strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s))
	if cut {
		return s + `…" ` + sizeNote(whole)
	}
	return s + `"`
}

// jsonText is a JSON value, with its length where it is cut.
func jsonText(raw json.RawMessage, most int) string {
	s, cut := head(string(raw), most)
	if cut {
		return escaped(s) + "… " + sizeNote(len(raw))
	}
	return escaped(s)
}

func sizeNote(n int) string { return fmt.Sprintf("(%d bytes)", n) }

// head is the first runes of s.
func head(s string, most int) (string, bool) {
	n := 0
	for i := range s {
		if n == most {
			return s[:i], true
		}
		n++
	}
	return s, false
}

// plainName is a name without quotes where it reads as one, and in quotes where
// it could be taken for something else.
func plainName(s string) string {
	if n := utf8.RuneCountInString(s); n > longName {
		runes := []rune(s) // the end often tells more than the middle: "…#7"
		s = string(runes[:longName*2/3]) + "…" + string(runes[n-longName/3+1:])
	}
	plain := strings.TrimSpace(s) == s && !strings.Contains(s, "  ") &&
		!strings.ContainsAny(s, "\"·→>") && !strings.ContainsFunc(s, unprintable) && utf8.ValidString(s)
	if plain {
		return s
	}
	return quoted(s, longName)
}

// shortKey is a key, or the beginning of one that is long.
func shortKey(key string) string {
	if utf8.RuneCountInString(key) <= longKey {
		return plainName(key)
	}
	s, _ := head(key, headKey)
	return plainName(s) + "…"
}

// span is a duration as a person reads it: to the microsecond, and where it is
// a few nanoseconds off a whole millisecond, as schedules make them, with that
// offset, since it decides which event comes first.
func span(d time.Duration) string {
	near := d.Round(time.Millisecond)
	if off := d - near; near != 0 && off != 0 && off.Abs() < time.Microsecond {
		if off < 0 {
			return near.String() + off.String()
		}
		return near.String() + "+" + off.String()
	}
	if d.Abs() < time.Millisecond {
		return d.String()
	}
	text := d.Round(time.Microsecond).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// roughly is a span without the few nanoseconds that only order needs.
func roughly(d time.Duration) string {
	if near := d.Round(time.Millisecond); near != 0 && (d-near).Abs() < time.Microsecond {
		d = near
	}
	return span(d)
}

// changes tells what is different in arguments: "city: "Pune" → "Mumbai"".
func changes(before, after json.RawMessage) string {
	old, err1 := decodeJSON(before)
	now, err2 := decodeJSON(after)
	var list []string
	if err1 != nil || err2 != nil {
		list = []string{piece(before) + " → " + piece(after)}
	} else {
		list = diff(nil, "", old, now)
	}
	const most = 4
	if more := len(list) - most; more > 0 {
		list = append(list[:most], fmt.Sprintf("%d more changes", more))
	}
	return strings.Join(list, ", ")
}

func diff(list []string, path string, old, now any) []string {
	was, ok1 := old.(map[string]any)
	is, ok2 := now.(map[string]any)
	if !ok1 || !ok2 {
		a, b := encodeJSON(old), encodeJSON(now)
		if bytes.Equal(a, b) {
			return list
		}
		return append(list, label(path)+piece(a)+" → "+piece(b))
	}
	for _, field := range union(was, is) {
		a, had := was[field]
		b, has := is[field]
		inner := join(path, field)
		switch {
		case !had:
			list = append(list, label(inner)+"nothing → "+piece(encodeJSON(b)))
		case !has:
			list = append(list, label(inner)+piece(encodeJSON(a))+" → nothing")
		default:
			list = diff(list, inner, a, b)
		}
	}
	return list
}

// union returns the names of both objects in order.
func union(a, b map[string]any) []string {
	names := make([]string, 0, len(a)+len(b))
	for n := range a {
		names = append(names, n)
	}
	for n := range b {
		if _, both := a[n]; !both {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	return names
}

func label(path string) string {
	if path == "" {
		return ""
	}
	return plainName(path) + ": "
}

func piece(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "nothing"
	}
	return jsonText(raw, longPiece)
}
