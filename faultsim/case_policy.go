package faultsim

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// since says under which policy a case was found, where it has changed since, or
// what is declared beside it has. It is no error: the case is played all the same.
func (c *check) since(k *savedCase) string {
	if k.policy == "" {
		return ""
	}
	changes := append(changesOf(k.policy, string(c.content)), changesOf(k.beside, string(c.beside))...)
	if len(changes) == 0 {
		return ""
	}
	more := ""
	if n := len(changes) - mostChanges; n > 0 {
		changes, more = changes[:mostChanges], fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("\nfound under policy %s, which has changed since: %s%s", idOf(k.policy), strings.Join(changes, ", "), more)
}

// mostChanges is how many changes of a policy are told.
const mostChanges = 6

// idOf is the id of the policy with that content.
func idOf(content string) string {
	var p struct{ ID string }
	if json.Unmarshal([]byte(content), &p) != nil || p.ID == "" {
		return "without an id"
	}
	return p.ID
}

// changesOf lists the fields in which two contents differ: "MaxAttempts 3 → 5".
func changesOf(before, now string) []string {
	old, young := map[string]string{}, map[string]string{}
	flatten(old, "", decoded(before))
	flatten(young, "", decoded(now))
	fields := map[string]bool{}
	for f := range old {
		fields[f] = true
	}
	for f := range young {
		fields[f] = true
	}
	var list []string
	for _, f := range slices.Sorted(maps.Keys(fields)) {
		was, had := old[f]
		is, has := young[f]
		switch {
		case !had:
			was = "nothing"
		case !has:
			is = "nothing"
		}
		if was != is {
			list = append(list, fmt.Sprintf("%s %s → %s", f, was, is))
		}
	}
	return list
}

func decoded(content string) (v any) {
	if json.Unmarshal([]byte(content), &v) != nil {
		return nil
	}
	return v
}

// flatten writes the values of a content down by their dotted path; a list is one
// value.
func flatten(into map[string]string, path string, v any) {
	if fields, ok := v.(map[string]any); ok {
		for name, v := range fields {
			flatten(into, strings.TrimPrefix(path+"."+name, "."), v)
		}
		return
	}
	if v == nil {
		return
	}
	if text, ok := v.(string); ok {
		into[path] = text
		return
	}
	text, err := json.Marshal(v)
	if err != nil { // it came from JSON
		text = []byte(fmt.Sprint(v))
	}
	into[path] = string(text)
}
