package trace

import (
	"fmt"
	"net/url"
	"strings"
)

// An Item is one of several things in a batch, and how it went.
type Item struct {
	ID    string
	Class Class // zero: not told; of a call: none
}

// Items are the items of a batch, in order, as one comparable text:
// "a:ok,b:throttled,c:forbidden". Empty: the call is no batch, or its answer
// tells nothing of single items. Make it with [ItemsOf].
type Items string

// ItemsOf writes a list down. Odd characters of ids are escaped as in a URL.
func ItemsOf(list ...Item) Items {
	var b strings.Builder
	for i, it := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(url.QueryEscape(it.ID))
		if it.Class != 0 {
			b.WriteByte(':')
			b.WriteString(it.Class.String())
		}
	}
	return Items(b.String())
}

// List reads the items back. What cannot be read is left out; see [ParseItems].
func (s Items) List() []Item {
	list, _ := ParseItems(string(s))
	return list
}

// ParseItems reads the text of [Items]. It returns what it could read as well.
func ParseItems(text string) (list []Item, err error) {
	if text == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		id, class, classed := strings.Cut(part, ":")
		name, bad := url.QueryUnescape(id)
		it := Item{ID: name}
		if bad == nil && classed {
			bad = it.Class.UnmarshalText([]byte(class))
		}
		if bad != nil {
			err = fmt.Errorf("trace: item %q: %w", part, bad)
			continue
		}
		list = append(list, it)
	}
	return list, err
}

// words is the list for a reader, with the classes.
func (s Items) words() string {
	var parts []string
	for _, it := range s.List() {
		part := plainName(it.ID)
		if it.Class != 0 {
			part += " " + it.Class.String()
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

// hideItems replaces the ids, which are data, by digests.
func (r *Recorder) hideItems(s Items) Items {
	if s == "" || r.Clear {
		return s
	}
	list := s.List()
	for i := range list {
		list[i].ID = r.hideText(KeepItem, list[i].ID)
	}
	return ItemsOf(list...)
}
