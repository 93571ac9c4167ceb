package wire

import (
	"bytes"
	"strings"
)

// event is one server-sent event (WHATWG HTML, section 9.2): its name, where the API
// gives one, and its data in one line.
func event(name string, data []byte) []byte {
	b := make([]byte, 0, len(name)+len(data)+16)
	if name != "" {
		b = append(append(append(b, "event: "...), name...), '\n')
	}
	b = append(append(b, "data: "...), data...)
	return append(b, "\n\n"...)
}

// isStream tells a stream of events from a body of JSON.
func isStream(body []byte) bool {
	return bytes.HasPrefix(body, []byte("event:")) || bytes.HasPrefix(body, []byte("data:"))
}

// datas are the data of the events that have come as a whole.
func datas(body []byte) (list [][]byte) {
	text := strings.ReplaceAll(string(body), "\r\n", "\n")
	for {
		one, rest, whole := strings.Cut(text, "\n\n")
		if !whole {
			return list
		}
		text = rest
		var data []string
		for line := range strings.SplitSeq(one, "\n") {
			if value, ok := strings.CutPrefix(line, "data:"); ok {
				data = append(data, strings.TrimPrefix(value, " "))
			}
		}
		if len(data) > 0 {
			list = append(list, []byte(strings.Join(data, "\n")))
		}
	}
}
