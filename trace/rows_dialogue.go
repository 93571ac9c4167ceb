package trace

import "slices"

// tellPrompt shows what is new in a conversation to its model.
func (w *teller) tellPrompt(e *Event, d *detail) {
	if e.Prompt == nil {
		return
	}
	p := spot{e.Action, e.Tool, e.Role}
	last := w.prompts[p]
	w.prompts[p] = e.Prompt
	fresh := e.Prompt.Messages
	if last != nil {
		known := 0
		for known < len(fresh) && known < len(last.Messages) && fresh[known].same(&last.Messages[known]) {
			known++
		}
		if known < len(last.Messages) {
			d.add("from message %d on it is ANOTHER conversation", known+1)
		}
		if fresh = fresh[known:]; len(fresh) == 0 {
			d.add("shown the same")
		}
	}
	const most = 4
	for i := range fresh {
		if i == most {
			d.add("and %s", plural(len(fresh)-most, "more message"))
			return
		}
		fresh[i].tell(d)
	}
}

// same reports whether two messages say the same.
func (m *Message) same(o *Message) bool {
	return m.From == o.From && m.Text == o.Text && slices.Equal(m.Calls, o.Calls) && slices.Equal(m.Results, o.Results)
}

func (m *Message) tell(d *detail) {
	if m.From == FromModel {
		d.add("its own reply")
		return
	}
	if m.Text != "" || len(m.Calls)+len(m.Results) == 0 {
		d.add("%s: %s", plainName(string(m.From)), quoted(m.Text, longPiece))
	}
	for _, r := range m.Results {
		word := "result"
		if r.Failed {
			word = "error"
		}
		d.add("%s of %s: %s", word, orElse(shortKey(r.ID), plainName(r.Tool)), quoted(r.Text, longPiece))
	}
}

// tellReply shows what a model says and asks for.
func tellReply(said *Reply, d *detail) {
	if said == nil {
		return
	}
	if said.Text != "" {
		d.add("says %s", quoted(said.Text, longText))
	}
	for _, c := range said.Calls {
		id := ""
		if c.ID != "" {
			id = " as " + shortKey(c.ID)
		}
		d.add("asks for %s%s %s", plainName(c.Tool), id, escaped(cut(c.Args, longPiece)))
	}
	switch {
	case said.Stop != StopEnd:
		d.add("stopped by %s", plainName(string(said.Stop)))
	case said.Text == "" && len(said.Calls) == 0:
		d.add("says nothing")
	}
}

// cut is a text, with an ellipsis where it is longer than wanted.
func cut(s string, most int) string {
	if short, long := head(s, most); long {
		return short + "…"
	}
	return s
}
