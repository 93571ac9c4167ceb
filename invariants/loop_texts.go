package invariants

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/rehearse-go/rehearse/trace"
)

// A segment is what the user was shown between two calls of models, its pieces
// joined.
type segment struct {
	pieces []piece
	text   string
}

// A piece is one text that the user was shown.
type piece struct {
	event int
	text  string
}

// last is the event of the segment's last piece.
func (s *segment) last() int { return s.pieces[len(s.pieces)-1].event }

// gatherTexts cuts what the user was shown at the calls of models. What the run
// returned as a text was shown too.
func (r *run) gatherTexts() {
	talks := r.talks
	var s segment
	for _, e := range r.a.Said {
		cut := false
		for len(talks) > 0 && talks[0].event < e {
			cut = cut || r.tr.Events[talks[0].event].Role == trace.RoleModel
			talks = talks[1:]
		}
		if cut {
			r.close(&s)
		}
		s.pieces = append(s.pieces, piece{e, saidText(r.tr.Events[e].Result)})
	}
	r.close(&s)
	if text := r.returned(); text != "" {
		r.close(&segment{pieces: []piece{{r.a.EndEvent, text}}})
	}
}

func (r *run) close(s *segment) {
	if len(s.pieces) > 0 {
		s.text = join(s.pieces)
		if strings.TrimSpace(s.text) != "" {
			r.spoken = append(r.spoken, *s)
		}
	}
	*s = segment{}
}

func join(pieces []piece) string {
	if len(pieces) == 1 {
		return pieces[0].text
	}
	var b strings.Builder
	for i := range pieces {
		b.WriteString(pieces[i].text)
	}
	return b.String()
}

// returned is the text that the run returned; empty: none, or an error.
func (r *run) returned() string {
	if !r.a.Ended || r.a.Error != "" || len(r.a.Result) == 0 {
		return ""
	}
	return valuesOf(r.a.Result)
}

// valuesOf is the texts and numbers of a JSON value, a piece a line. Names of fields
// are no part of it: "done" may be false.
func valuesOf(raw json.RawMessage) string {
	var b strings.Builder
	gatherValues(&b, decoded(raw))
	return strings.TrimSuffix(b.String(), "\n")
}

func gatherValues(b *strings.Builder, value any) {
	switch v := value.(type) {
	case string:
		b.WriteString(v + "\n")
	case json.Number:
		b.WriteString(v.String() + "\n")
	case []any:
		for _, element := range v {
			gatherValues(b, element)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) { // always the same finding
			gatherValues(b, v[name])
		}
	}
}

// saidText is the text of a piece.
func saidText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return string(raw)
	}
	return text
}

// told is what the user was shown behind the event, in one.
func (r *run) told(event int) string {
	var b strings.Builder
	for i := range r.spoken {
		for _, p := range r.spoken[i].pieces {
			if p.event > event {
				b.WriteString(p.text)
			}
		}
	}
	return strings.TrimSpace(b.String())
}

// failing are words that tell of a failure.
var failing = []string{
	"error", "fail", "not ", "n't", "n’t", "no such", "cannot", "unable", "denied", "refus", "reject", "invalid", "unknown", "unavailable",
	"timeout", "timed out", "exhausted", "forbidden", "declined", "expired", "missing", "limit", "throttl", "too many", "cancel", "down",
	"unauth", "conflict", "malformed", "reset", "refuse", "exception", "wrong", "bad ",
}

// asking are further words that a model may be told of a failure in. In an answer of a tool
// they tell nothing.
var asking = []string{
	"required", "must ", "ask ", "again", "retry", "busy", "overload", "temporar", "problem", "trouble", "sorry", "wait", "later", "nothing", "need",
}

// status is a number that HTTP has for a failure.
var status = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b[45]\d\d\b`) })

// mayTellFailure reports whether somebody who reads the text could take it for a failure.
func mayTellFailure(text string) bool {
	lower := strings.ToLower(text) + " "
	return digest(text) || tellsFailure(text) || status().MatchString(text) ||
		slices.ContainsFunc(asking, func(word string) bool { return strings.Contains(lower, word) })
}

// tellsFailure reports whether a text tells of a failure, as far as words go. Those that
// a recorder has hidden tell nothing.
func tellsFailure(text string) bool {
	if digest(text) {
		return false
	}
	text = strings.ToLower(text) + " "
	for _, w := range failing {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}
