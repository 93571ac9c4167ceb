package double

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/rehearse-go/rehearse/trace"
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

// Slack is how much later than Seen a caller that heeds the hint may come: it
// measures an HTTP-date, rounded up, from a Date that is rounded down.
func (h Hint) Slack() time.Duration {
	if h.Form == HintDate {
		return time.Second
	}
	return 0
}

// Sent is the shortest wait that heeds the hint when it is sent at the instant
// now, and how much later a caller may come: an HTTP-date falls on a whole
// second, and so does the Date that it may be measured from.
func (h Hint) Sent(now time.Time) (wait, slack time.Duration) {
	if h.Form != HintDate {
		return h.Seen(), 0
	}
	server := now.Add(h.Offset)
	return h.due(server).Sub(server), server.Sub(server.Truncate(time.Second))
}

// due is the whole second that the date names: never earlier than asked.
func (h Hint) due(server time.Time) time.Time {
	due := server.Add(h.Wait)
	if whole := due.Truncate(time.Second); !whole.Equal(due) {
		due = whole.Add(time.Second)
	}
	return due
}

// write sets the fields of a response that is sent at the instant now.
func (h Hint) write(header http.Header, now time.Time) {
	switch h.Form {
	case HintSeconds:
		header.Set("Retry-After", strconv.FormatInt(int64(h.Seen()/time.Second), 10))
	case HintMillis:
		header.Set(HeaderMillis, strconv.FormatInt(int64(h.Seen()/time.Millisecond), 10))
	case HintDate:
		server := now.Add(h.Offset).UTC()
		header.Set("Date", server.Format(http.TimeFormat))
		header.Set("Retry-After", h.due(server).Format(http.TimeFormat))
	}
}

func roundUp(d, unit time.Duration) time.Duration {
	if rest := d % unit; rest > 0 && d <= math.MaxInt64-unit {
		return d - rest + unit
	}
	return d
}

// ReadHint reads the wait that a response asks for, as [trace.ParseRetryAfter]
// does, and how much later a caller may come. A date is measured from the
// response's own Date, or by the caller's own clock: where the two agree, the
// part of a second that the Date leaves out decides nothing.
func ReadHint(header http.Header, now time.Time) (wait, slack time.Duration) {
	wait, ok := trace.ParseRetryAfter(header, now)
	due, err := http.ParseTime(strings.TrimSpace(header.Get("Retry-After")))
	sent, undated := http.ParseTime(header.Get("Date"))
	if !ok || err != nil || undated != nil || wait != due.Sub(sent) {
		return wait, 0
	}
	if late := now.Sub(sent); late >= 0 && late < time.Second {
		return wait - late, late
	}
	return wait, 0
}
