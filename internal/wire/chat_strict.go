package wire

import (
	"fmt"
	"strings"

	"github.com/rehearse-go/rehearse/trace"
)

// Strict holds the messages to the pairs that the service demands. The words are
// those of its answers, as in agno-agi/agno#5116 and sdcb/chats#132.
func (chat) Strict(a *Ask) *Rejection {
	if len(a.flaws) > 0 {
		return &a.flaws[0]
	}
	if len(a.Prompt.Messages) == 0 {
		return reject("messages", "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.")
	}
	open := chatOpen{}
	for i := range a.Prompt.Messages {
		m := &a.Prompt.Messages[i]
		if m.From == trace.FromTool {
			if r := open.result(a.place(i), m); r != nil {
				return r
			}
			continue
		}
		if r := open.left(fmt.Sprintf("messages.[%d].role", a.place(i))); r != nil {
			return r
		}
		open = chatOpen{calls: m.Calls, got: map[string]int{}}
	}
	return open.left("messages")
}

// chatOpen is the latest message of the model and the results that follow it.
type chatOpen struct {
	calls []trace.ToolCall
	got   map[string]int // id → place of its result
}

// left tells of calls that have no result where something else follows.
func (o *chatOpen) left(field string) *Rejection {
	var missing []string
	for _, c := range o.calls {
		if _, ok := o.got[c.ID]; !ok {
			missing = append(missing, c.ID)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return reject(field, "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: %s", strings.Join(missing, ", "))
}

func (o *chatOpen) result(at int, m *trace.Message) *Rejection {
	if len(o.calls) == 0 {
		return reject(fmt.Sprintf("messages.[%d].role", at), "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.")
	}
	for _, r := range m.Results {
		asked := 0
		for _, c := range o.calls {
			if c.ID == r.ID {
				asked++
			}
		}
		field := fmt.Sprintf("messages.[%d].tool_call_id", at)
		if asked == 0 {
			return reject(field, "Invalid parameter: 'tool_call_id' of '%s' not found in 'tool_calls' of previous message.", r.ID)
		}
		// Of calls that share an id, which only a model can make, each may have one.
		if before, twice := o.got[r.ID]; twice && asked == 1 {
			return reject(field, "Invalid parameter: Duplicate value for 'tool_call_id' of '%s', in messages[%d] and messages[%d].", r.ID, before, at)
		}
		o.got[r.ID] = at
	}
	return nil
}
