package trace

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// ParseRetryAfter returns the wait that a response asks for; ok is false where
// it asks for none. It reads, in this order, Retry-After-Ms (milliseconds, as
// several model providers send them), then Retry-After as seconds, then as an
// HTTP-date (RFC 9110 section 10.2.3).
//
// A number is a non-negative decimal integer: "1.5", "+3" and "-3" are no hint.
// A date is read relative to the response's own Date header, so that a clock
// that is off does not matter, and to now where that is missing; a date that
// is past or present is no hint. "0" is a hint of no wait. A number that is too
// large for a Duration is the longest Duration.
func ParseRetryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	d, _, ok := retryAfter(h, now)
	return d, ok
}

// retryAfter also tells whether the wait was given as a date.
func retryAfter(h http.Header, now time.Time) (d time.Duration, dated, ok bool) {
	if d, ok := parseWait(h.Get("Retry-After-Ms"), time.Millisecond); ok {
		return d, false, true
	}
	value := h.Get("Retry-After")
	if d, ok := parseWait(value, time.Second); ok {
		return d, false, true
	}
	at, err := http.ParseTime(strings.TrimSpace(value))
	if err != nil {
		return 0, false, false
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	if d = at.Sub(now); d <= 0 {
		return 0, false, false
	}
	return d, true, true
}

// hintOf is the outcome that the headers alone tell: the wait that they ask
// for. A date has whole seconds, so a caller that reads it faithfully may come
// up to one later. Where the response's Date agrees with the recorder's clock,
// a caller may as well go by its own, which does not leave out the part of a
// second that the Date does.
func hintOf(h http.Header, now time.Time) Outcome {
	d, dated, _ := retryAfter(h, now)
	o := Outcome{Hint: d}
	if !dated {
		return o
	}
	o.Slack = time.Second
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		if late := now.Sub(date); late >= 0 && late < time.Second {
			o.Hint, o.Slack = d-late, late
		}
	}
	return o
}

// parseWait reads a number of units; digits only.
func parseWait(value string, unit time.Duration) (time.Duration, bool) {
	value = strings.TrimSpace(value)
	if value == "" || strings.Trim(value, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n > math.MaxInt64/int64(unit) {
		return math.MaxInt64, true
	}
	return time.Duration(n) * unit, true
}
