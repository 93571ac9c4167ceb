package scripted

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/rehearse-go/rehearse/internal/double"
)

// An Option changes the response of one step of a [Route].
type Option struct {
	name  string
	apply func(*double.Reply) (advice string)
}

// RetryAfter asks for a wait in the field Retry-After, as delay-seconds
// (RFC 9110 section 10.2.3). A part of a second is rounded up.
func RetryAfter(wait time.Duration) Option { return hint("RetryAfter", double.HintSeconds, wait) }

// RetryAfterDate asks for a wait in the field Retry-After, as an HTTP-date
// (RFC 9110 section 10.2.3), beside the server's Date. Both are computed when
// the response is sent, on the server's clock; see [Server.ClockOffset]. An
// HTTP-date has no parts of a second: the date is rounded up, so a caller may
// come up to a second later than asked and is right.
func RetryAfterDate(wait time.Duration) Option {
	return hint("RetryAfterDate", double.HintDate, wait)
}

// RetryAfterMs asks for a wait in the field retry-after-ms, which providers of
// models send. A part of a millisecond is rounded up.
func RetryAfterMs(wait time.Duration) Option {
	return hint("RetryAfterMs", double.HintMillis, wait)
}

func hint(name string, form double.HintForm, wait time.Duration) Option {
	return Option{fmt.Sprintf("%s(%v)", name, wait), func(r *double.Reply) string {
		if wait < 0 {
			return "no server asks for a wait in the past; give 0 or more, or use Header for junk"
		}
		r.Hint.Form, r.Hint.Wait = form, wait
		return ""
	}}
}

// Header sets a field of the response, after all others: a Retry-After that
// cannot be read, for example. An empty value takes the field away.
func Header(name, value string) Option {
	return Option{fmt.Sprintf("Header(%q)", name), func(r *double.Reply) string {
		if name == "" {
			return "a field needs a name"
		}
		if r.Header == nil {
			r.Header = http.Header{}
		}
		r.Header.Set(name, value)
		return ""
	}}
}

// JSON is a handler that answers every request with v. A value that
// encoding/json cannot write is answered with status 500 and its error.
func JSON(status int, v any) http.Handler {
	body, err := json.Marshal(v)
	if err != nil {
		status, body = http.StatusInternalServerError, double.ErrorBody("marshal", err.Error())
	}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write(body)
	})
}
