package wire

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/rehearse-go/rehearse/trace"
)

// Strict holds the messages to what the service demands: results stand in the
// message right behind the calls, first in it, one for each; ids are unique; nothing
// is empty. Messages of one speaker in a row are one turn. The words are those of
// its answers, as in anthropics/claude-code#8210 and #18947, trycua/cua#524 and
// vectorize-io/hindsight#4250.
func (messages) Strict(a *Ask) *Rejection {
	if len(a.flaws) > 0 {
		return &a.flaws[0]
	}
	s := messagesStrict{a: a, ids: map[string]int{}}
	return s.all()
}

// messagesStrict is the conversation up to some message.
type messagesStrict struct {
	a     *Ask
	ids   map[string]int   // how often each id has stood in a call so far
	calls []trace.ToolCall // of the model's latest turn
	at    int              // the message of the request that has them
	got   map[string]int
	talk  bool // the user has spoken since
	begun bool

	goesOn bool // the message before is the model's too
}

func (s *messagesStrict) all() *Rejection {
	for i := range s.a.Prompt.Messages {
		m := &s.a.Prompt.Messages[i]
		var r *Rejection
		switch m.From {
		case trace.FromModel:
			r = s.model(s.a.place(i), m)
		case trace.FromTool:
			r = s.results(s.a.place(i), m)
		case trace.FromUser:
			s.talk = true
		}
		if r != nil {
			return r
		}
		s.begun = s.begun || m.From != trace.FromSystem
		s.goesOn = m.From == trace.FromModel
	}
	if !s.begun {
		return reject("messages", "at least one message is required")
	}
	if r := s.left(); r != nil {
		return r
	}
	if last := s.a.Prompt.Messages[len(s.a.Prompt.Messages)-1]; last.From == trace.FromModel && strings.TrimRightFunc(last.Text, unicode.IsSpace) != last.Text {
		return reject("messages", "final assistant content cannot end with trailing whitespace")
	}
	return nil
}

// callID is what an id of a call has to look like.
var callID = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

func (s *messagesStrict) model(at int, m *trace.Message) *Rejection {
	if !s.begun {
		return reject("messages", `first message must use the "user" role`)
	}
	if s.goesOn {
		s.calls = slices.Concat(s.calls, m.Calls)
	} else if r := s.left(); r != nil {
		return r
	} else {
		s.calls, s.at, s.got = m.Calls, at, map[string]int{}
	}
	s.talk = false
	first := 0
	if m.Text != "" {
		first = 1
	}
	for n, c := range m.Calls {
		place := fmt.Sprintf("messages.%d.content.%d", at, first+n)
		given := s.a.Given[c.ID]
		if given == 0 && !callID.MatchString(c.ID) {
			return reject(place+".tool_use.id", "String should match pattern '^[a-zA-Z0-9_-]+$'")
		}
		if s.ids[c.ID]++; s.ids[c.ID] > max(1, given) {
			return reject(place, "`tool_use` ids must be unique")
		}
	}
	return nil
}

func (s *messagesStrict) results(at int, m *trace.Message) *Rejection {
	if s.talk {
		if r := s.left(); r != nil {
			return r // what the user says comes behind the results
		}
	}
	for n, r := range m.Results {
		place := fmt.Sprintf("messages.%d.content.%d", at, n)
		asked := 0
		for _, c := range s.calls {
			if c.ID == r.ID {
				asked++
			}
		}
		if asked == 0 {
			return reject(place, "unexpected `tool_use_id` found in `tool_result` blocks: %s. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", r.ID)
		}
		if s.got[r.ID]++; s.got[r.ID] > asked {
			return reject(place, "each tool_use must have a single result. Found multiple `tool_result` blocks with id: %s", r.ID)
		}
	}
	return nil
}

// left tells of calls that have no result in the turn behind them.
func (s *messagesStrict) left() *Rejection {
	var missing []string
	for _, c := range s.calls {
		if s.got[c.ID] == 0 {
			missing = append(missing, c.ID)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return reject(fmt.Sprintf("messages.%d", s.at), "`tool_use` ids were found without `tool_result` blocks immediately after: %s. Each `tool_use` block must have a corresponding `tool_result` block in the next message.", strings.Join(missing, ", "))
}

// messagesErrors are the service's errors (docs.claude.com/en/api/errors). A spending
// limit that is reached is a rate_limit_error with a code in its details, and asks for
// no wait.
var messagesErrors = map[trace.Class]struct {
	status        int
	kind, message string
	code          string
}{
	trace.Transient:       {529, "overloaded_error", "Overloaded", ""},
	trace.Throttled:       {http.StatusTooManyRequests, "rate_limit_error", "This request would exceed your organization's rate limit. Please try again later.", ""},
	trace.QuotaExhausted:  {http.StatusTooManyRequests, "rate_limit_error", "You have reached your organization's monthly spend limit.", "enforced_spend_limit_reached"},
	trace.Invalid:         {http.StatusBadRequest, "invalid_request_error", "The request is not valid.", ""},
	trace.Unauthenticated: {http.StatusUnauthorized, "authentication_error", "invalid x-api-key", ""},
	trace.Forbidden:       {http.StatusForbidden, "permission_error", "Your API key does not have permission to use the specified resource.", ""},
	trace.NotFound:        {http.StatusNotFound, "not_found_error", "The requested resource was not found.", ""},
	trace.Conflict:        {http.StatusConflict, "conflict_error", "The request conflicts with the current state of the resource.", ""},
}

// messagesError is the body of an error, and the data of the event error; the id of
// the request is in a header.
func messagesError(kind, message, code string) []byte {
	inner := object{{"type", kind}, {"message", message}}
	if code != "" {
		inner = append(inner, field{"details", object{{"error_code", code}}})
	}
	return marshal(object{{"type", "error"}, {"error", inner}})
}

func (messages) Failure(class trace.Class, say string, _ time.Duration) (Failure, bool) {
	e, ok := messagesErrors[class]
	if !ok {
		return Failure{}, false
	}
	return Failure{Status: e.status, Header: http.Header{"Request-Id": {"req_1"}}, Body: messagesError(e.kind, orElse(say, e.message), e.code)}, true
}

func (messages) Reject(r *Rejection) Failure {
	return Failure{Status: http.StatusBadRequest, Header: http.Header{"Request-Id": {"req_1"}}, Body: messagesError("invalid_request_error", r.Error(), "")}
}

// Broken is the event error, as the documentation of streams shows it.
func (messages) Broken(class trace.Class, say string) ([]byte, bool) {
	e, ok := messagesErrors[class]
	if !ok || !breaks(class) {
		return nil, false
	}
	return event("error", messagesError(e.kind, orElse(say, e.message), e.code)), true
}
