package double

import (
	"math"
	"net/http"
	"strconv"
	"time"
)

// A HintForm is how a server writes the wait that it asks for.
type HintForm uint8

const (
	HintNone    HintForm = iota
	HintSeconds          // Retry-After: delay-seconds (RFC 9110 section 10.2.3)
	HintDate             // Retry-After: HTTP-date, beside the server's Date
	HintMillis           // retry-after-ms, which model providers send
)

// HeaderMillis is the field of [HintMillis], in canonical form.
const HeaderMillis = "Retry-After-Ms"

// A Hint is the wait that a server asks for. The zero value asks for none.
type Hint struct {
	Form   HintForm
	Wait   time.Duration
	Offset time.Duration // of the server's clock: what it is ahead of the caller's
}

// Seen is the shortest wait that heeds the hint as it is written: seconds and
// milliseconds are rounded up. An HTTP-date has whole seconds too, but when
// it was sent decides about the part of a second, so it asks for Wait.
func (h Hint) Seen() time.Duration {
	switch h.Form {
	case HintNone:
		return 0
	case HintSeconds:
		return roundUp(h.Wait, time.Second)
	case HintMillis:
		return roundUp(h.Wait, time.Millisecond)
	}
	return h.Wait
}

// Slack is how much longer than Seen a right reader may wait. An HTTP-date and
// the Date beside it are whole seconds, so their difference can be up to one
// second more than the wait.
func (h Hint) Slack() time.Duration {
	if h.Form == HintDate && h.Wait > 0 {
		return time.Second
	}
	return 0
}

// Write sets the fields of a response that is sent at the instant now.
func (h Hint) Write(header http.Header, now time.Time) {
	switch h.Form {
	case HintSeconds:
		header.Set("Retry-After", strconv.FormatInt(int64(h.Seen()/time.Second), 10))
	case HintMillis:
		header.Set(HeaderMillis, strconv.FormatInt(int64(h.Seen()/time.Millisecond), 10))
	case HintDate:
		server := now.Add(h.Offset).UTC()
		header.Set("Date", server.Format(http.TimeFormat))
		due := server.Add(h.Wait)
		if whole := due.Truncate(time.Second); !whole.Equal(due) {
			due = whole.Add(time.Second) // never earlier than asked
		}
		header.Set("Retry-After", due.Format(http.TimeFormat))
	}
}

func roundUp(d, unit time.Duration) time.Duration {
	if rest := d % unit; rest > 0 && d <= math.MaxInt64-unit {
		return d - rest + unit
	}
	return d
}

// ReadHint reads the wait that a response asks for: retry-after-ms, then
// Retry-After as seconds, then as an HTTP-date measured from the response's
// own Date, or from now where it has none. What is unreadable, zero or past
// asks for none.
func ReadHint(header http.Header, now time.Time) time.Duration {
	if ms := header.Get(HeaderMillis); ms != "" {
		if n, err := strconv.ParseFloat(ms, 64); err == nil && n > 0 && n < math.MaxInt64/1e6 {
			return time.Duration(n * 1e6)
		}
	}
	after := header.Get("Retry-After")
	if after == "" {
		return 0
	}
	if n, err := strconv.ParseUint(after, 10, 32); err == nil {
		return time.Duration(n) * time.Second
	}
	due, err := http.ParseTime(after)
	if err != nil {
		return 0
	}
	if sent, err := http.ParseTime(header.Get("Date")); err == nil {
		now = sent
	}
	return max(due.Sub(now), 0)
}
