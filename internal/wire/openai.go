package wire

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// openai is what OpenAI's two APIs have in common: text, and errors.
type openai struct{}

// openaiText is the text of a content, which is a string or a list of parts. A part
// that is no text leaves its type: [image_url].
func openaiText(content json.RawMessage, field string) (string, error) {
	if isNull(content) {
		return "", nil
	}
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text, nil
	}
	var parts []struct {
		Type, Text, Refusal string
	}
	if json.Unmarshal(content, &parts) != nil {
		return "", reject(field, "Invalid type for '%s': expected one of a string or array of objects.", field)
	}
	var b strings.Builder
	for _, p := range parts {
		switch p.Type {
		case "text", "input_text", "output_text", "refusal":
			b.WriteString(p.Text + p.Refusal)
		default:
			b.WriteString("[" + p.Type + "]")
		}
	}
	return b.String(), nil
}

// openaiErrors are the service's errors, by platform.openai.com/docs/guides/error-codes:
// a quota that is used up and a rate limit are both 429, and only the code tells them apart.
var openaiErrors = map[trace.Class]struct {
	status        int
	message, kind string
	code          any
}{
	trace.Transient:       {http.StatusServiceUnavailable, "The engine is currently overloaded, please try again later.", "server_error", nil},
	trace.Throttled:       {http.StatusTooManyRequests, "Rate limit reached for requests per min (RPM). Please try again later.", "requests", "rate_limit_exceeded"},
	trace.QuotaExhausted:  {http.StatusTooManyRequests, "You exceeded your current quota, please check your plan and billing details.", "insufficient_quota", "insufficient_quota"},
	trace.Invalid:         {http.StatusBadRequest, "The request is not valid.", "invalid_request_error", nil},
	trace.Unauthenticated: {http.StatusUnauthorized, "Incorrect API key provided.", "invalid_request_error", "invalid_api_key"},
	trace.Forbidden:       {http.StatusForbidden, "Country, region, or territory not supported", "request_forbidden", "unsupported_country_region_territory"},
	trace.NotFound:        {http.StatusNotFound, "The model does not exist or you do not have access to it.", "invalid_request_error", "model_not_found"},
}

func openaiError(message, kind string, param, code any) object {
	return object{{"error", object{{"message", message}, {"type", kind}, {"param", param}, {"code", code}}}}
}

func (openai) Failure(class trace.Class, say string, _ time.Duration) (Failure, bool) {
	e, ok := openaiErrors[class]
	if !ok {
		return Failure{}, false
	}
	return Failure{Status: e.status, Body: marshal(openaiError(orElse(say, e.message), e.kind, nil, e.code))}, true
}

func (openai) Reject(r *Rejection) Failure {
	var param any
	if r.Field != "" {
		param = r.Field
	}
	return Failure{Status: http.StatusBadRequest, Body: marshal(openaiError(r.Text, "invalid_request_error", param, nil))}
}

// Broken is a chunk that is an error in place of choices, which OpenAI's SDKs take
// for the end of the stream.
func (openai) Broken(class trace.Class, say string) ([]byte, bool) {
	e, ok := openaiErrors[class]
	if !ok || !breaks(class) {
		return nil, false
	}
	return event("", marshal(openaiError(orElse(say, e.message), e.kind, nil, e.code))), true
}

// breaks reports whether a class can still befall an answer that has begun.
func breaks(c trace.Class) bool {
	return c == trace.Transient || c == trace.Throttled || c == trace.QuotaExhausted
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
