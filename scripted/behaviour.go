package scripted

import (
	"context"

	"github.com/rehearse-go/rehearse/internal/double"
	"github.com/rehearse-go/rehearse/trace"
)

// What follows are models that do not behave, for [Model.Do]. Each looks only at
// what it is shown, so that a turn of it can stand anywhere in a script.

// Stubborn is a model that asks for the same call again whatever it is shown, as
// one that takes no error for an answer:
//
//	model.Do(scripted.Stubborn("weather", `{"city":"Pune"}`)).Times(5)
func Stubborn(tool, args string) trace.ModelFunc {
	return func(context.Context, trace.Prompt) (trace.Reply, error) {
		return trace.Reply{Calls: []trace.ToolCall{{Tool: tool, Args: args}}}, nil
	}
}

// Forgetful is a model that asks again for the first call of the conversation, as
// one whose attention has left the beginning of a long one. Where there was no call
// it says nothing.
func Forgetful(_ context.Context, shown trace.Prompt) (trace.Reply, error) {
	for _, m := range shown.Messages {
		for _, c := range m.Calls {
			return trace.Reply{Calls: []trace.ToolCall{{Tool: c.Tool, Args: c.Args}}}, nil
		}
	}
	return trace.Reply{}, nil
}

// Obedient is a model that takes the words of the newest results for orders: a name
// with a JSON object behind it, "use" in front of the name of an offered tool, "with
// admin=true" for one more argument, "try again". Where they order nothing it says
// them, as [Parrot].
func Obedient(ctx context.Context, shown trace.Prompt) (trace.Reply, error) {
	last := double.LastCalls(shown)
	for _, r := range newest(shown) {
		if calls := double.Order(r.Text, shown.Tools, last); calls != nil {
			return trace.Reply{Calls: calls}, nil
		}
	}
	return Parrot(ctx, shown)
}

// Parrot is a model that says what the newest results say, word for word: what a
// tool's text should not have told the user shows in the answer.
func Parrot(_ context.Context, shown trace.Prompt) (trace.Reply, error) {
	var said trace.Reply
	for _, r := range newest(shown) {
		if said.Text != "" {
			said.Text += "\n"
		}
		said.Text += r.Text
	}
	return said, nil
}

// newest are the results behind the model's last message.
func newest(shown trace.Prompt) (list []trace.ToolResult) {
	for _, m := range shown.Messages {
		if m.From == trace.FromModel {
			list = nil
		}
		list = append(list, m.Results...)
	}
	return list
}
