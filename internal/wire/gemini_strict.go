package wire

import (
	"net/http"
	"strconv"
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// Strict holds the contents to the turns that the service demands. It counts
// calls and responses, since a call need not have an id. The words are those of
// its answers, as in google-gemini/gemini-cli#3814, googleapis/python-genai#81 and
// BerriAI/litellm#22046.
func (gemini) Strict(a *Ask) *Rejection {
	if len(a.flaws) > 0 {
		return &a.flaws[0]
	}
	turns := geminiTurns(a)
	if len(turns) == 0 {
		return reject("", "* GenerateContentRequest.contents: contents is not specified\n")
	}
	for i, t := range turns {
		before := geminiTurn{from: trace.FromModel}
		if i > 0 {
			before = turns[i-1]
		}
		switch {
		case t.calls > 0 && before.from == trace.FromModel:
			return reject("", "Please ensure that function call turn comes immediately after a user turn or after a function response turn.")
		case t.results > 0 && before.calls == 0:
			return reject("", "Please ensure that function response turn comes immediately after a function call turn.")
		case before.calls > 0 && t.results != before.calls:
			return reject("", "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.")
		}
	}
	if turns[len(turns)-1].from == trace.FromModel {
		return reject("", "Please ensure that multiturn requests ends with a user role or a function response.")
	}
	return nil
}

// A geminiTurn is one content. Contents of one speaker in a row stay apart, so that
// the results of one turn's calls have to stand in one content.
type geminiTurn struct {
	from           trace.Speaker // the model, or the user, who also hands on results
	calls, results int
}

func geminiTurns(a *Ask) (turns []geminiTurn) {
	before := -1
	for i := range a.Prompt.Messages {
		m := &a.Prompt.Messages[i]
		from := m.From
		switch from {
		case trace.FromSystem:
			continue
		case trace.FromTool:
			from = trace.FromUser
		}
		if at := a.place(i); len(turns) == 0 || at != before {
			turns, before = append(turns, geminiTurn{from: from}), at
		}
		t := &turns[len(turns)-1]
		t.calls, t.results = t.calls+len(m.Calls), t.results+len(m.Results)
	}
	return turns
}

// geminiErrors are the service's errors (ai.google.dev/gemini-api/docs/troubleshooting
// and google.rpc.Code). A client reads the code off the body, and a quota is told from a
// rate by the details.
var geminiErrors = map[trace.Class]struct {
	code            int
	status, message string
}{
	trace.Transient:       {http.StatusServiceUnavailable, "UNAVAILABLE", "The model is overloaded. Please try again later."},
	trace.Throttled:       {http.StatusTooManyRequests, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."},
	trace.QuotaExhausted:  {http.StatusTooManyRequests, "RESOURCE_EXHAUSTED", "You exceeded your current quota, please check your plan and billing details."},
	trace.Invalid:         {http.StatusBadRequest, "INVALID_ARGUMENT", "Request contains an invalid argument."},
	trace.Unauthenticated: {http.StatusUnauthorized, "UNAUTHENTICATED", "Request had invalid authentication credentials."},
	trace.Forbidden:       {http.StatusForbidden, "PERMISSION_DENIED", "The caller does not have permission"},
	trace.NotFound:        {http.StatusNotFound, "NOT_FOUND", "The model is not found for API version v1beta, or is not supported for generateContent."},
}

// geminiError is the body of an error.
func geminiError(code int, status, message string, details []any) object {
	inner := object{{"code", code}, {"message", message}, {"status", status}}
	if len(details) > 0 {
		inner = append(inner, field{"details", details})
	}
	return object{{"error", inner}}
}

const geminiDetail = "type.googleapis.com/google.rpc."

func geminiDetails(class trace.Class, wait time.Duration) (list []any) {
	if class == trace.QuotaExhausted {
		list = append(list, object{{"@type", geminiDetail + "QuotaFailure"}, {"violations", []any{
			object{{"quotaId", "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}},
		}}})
	}
	if wait > 0 {
		seconds := strconv.FormatFloat(wait.Seconds(), 'f', -1, 64)
		list = append(list, object{{"@type", geminiDetail + "RetryInfo"}, {"retryDelay", seconds + "s"}})
	}
	return list
}

// Failure asks for a wait in the body, as google.rpc.RetryInfo, and not in a header.
func (gemini) Failure(class trace.Class, say string, wait time.Duration) (Failure, bool) {
	e, ok := geminiErrors[class]
	if !ok {
		return Failure{}, false
	}
	f := Failure{Status: e.code, Body: marshal(geminiError(e.code, e.status, orElse(say, e.message), geminiDetails(class, wait)))}
	if wait > 0 {
		f.Header = http.Header{"Retry-After": {""}}
	}
	return f, true
}

func (gemini) Reject(r *Rejection) Failure {
	return Failure{Status: http.StatusBadRequest, Body: marshal(geminiError(http.StatusBadRequest, "INVALID_ARGUMENT", r.Error(), nil))}
}

// Broken is a chunk that is an error in place of candidates.
func (gemini) Broken(class trace.Class, say string) ([]byte, bool) {
	e, ok := geminiErrors[class]
	if !ok || !breaks(class) {
		return nil, false
	}
	return event("", marshal(geminiError(e.code, e.status, orElse(say, e.message), geminiDetails(class, 0)))), true
}
