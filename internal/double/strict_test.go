package double_test

import (
	"testing"

	"github.com/rehearse-go/rehearse/internal/double"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

func system(text string) trace.Message { return trace.Message{From: trace.FromSystem, Text: text} }
func user(text string) trace.Message   { return trace.Message{From: trace.FromUser, Text: text} }

// asks is a reply with a call for each id, of the tool weather.
func asks(ids ...string) trace.Message {
	m := trace.Message{From: trace.FromModel}
	for _, id := range ids {
		m.Calls = append(m.Calls, trace.ToolCall{ID: id, Tool: "weather", Args: `{}`})
	}
	return m
}

// results is a message of the tool with a result for each id.
func results(ids ...string) trace.Message {
	m := trace.Message{From: trace.FromTool}
	for _, id := range ids {
		m.Results = append(m.Results, trace.ToolResult{ID: id, Tool: "weather", Text: "19 °C"})
	}
	return m
}

func said(text string) trace.Message { return trace.Message{From: trace.FromModel, Text: text} }

func with(m trace.Message, text string) trace.Message {
	m.Text = text
	return m
}

func from(m trace.Message, who trace.Speaker) trace.Message {
	m.From = who
	return m
}

func TestConversationsThatAnAPITakes(t *testing.T) {
	for name, messages := range map[string][]trace.Message{
		"a question":                        {user("How warm?")},
		"with orders":                       {system("Be brief."), system("Be kind."), user("How warm?")},
		"a round":                           {user("How warm?"), asks("c1"), results("c1")},
		"a round with words":                {user("How warm?"), with(asks("c1"), "Let me look."), results("c1")},
		"parallel calls":                    {user("How warm?"), asks("c1", "c2"), results("c1", "c2")},
		"results in another order":          {user("How warm?"), asks("c1", "c2"), results("c2", "c1")},
		"results in a message each":         {user("How warm?"), asks("c1", "c2"), results("c1"), results("c2")},
		"results in a message of the user":  {user("How warm?"), asks("c1"), with(from(results("c1"), trace.FromUser), "And the sea?")},
		"a result without text":             {user("Turn it on."), asks("c1"), {From: trace.FromTool, Results: []trace.ToolResult{{ID: "c1"}}}},
		"results by id alone":               {user("How warm?"), asks("c1"), {From: trace.FromTool, Results: []trace.ToolResult{{ID: "c1", Text: "19"}}}},
		"two rounds":                        {user("How warm?"), asks("c1"), results("c1"), asks("c2"), results("c2")},
		"the next question":                 {user("How warm?"), asks("c1"), results("c1"), said("19 °C."), user("And the sea?")},
		"two messages of the user":          {user("How warm?"), user("In Pune.")},
		"two calls with the model's one id": {user("How warm?"), asks("x", "x"), results("x", "x")},
		"the model's old id again":          {user("How warm?"), asks("x"), results("x"), asks("x"), results("x")},
		"calls without ids":                 {user("How warm?"), asks("", ""), results("", "")},
	} {
		t.Run(name, func(t *testing.T) {
			require.Empty(t, double.Complaints(trace.Prompt{Messages: messages}))
		})
	}
}

func TestConversationsThatAnAPIRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		messages []trace.Message
		want     []string
	}{
		"nothing": {nil, []string{"messages[0]: there must be a message of the user"}},
		"only orders": {[]trace.Message{system("Be brief.")}, []string{
			"messages[1]: there must be a message of the user"}},
		"the request cut off": {[]trace.Message{system("Be brief."), asks("c1"), results("c1")}, []string{
			"messages[1]: the first message behind those of the system must be the user's, and this one is from the model"}},
		"cut within a round": {[]trace.Message{results("c1"), user("And the sea?")}, []string{
			"messages[0]: the first message behind those of the system must be the user's, and this one is from the tool",
			`messages[0]: a result must be of a call in the model's message before it, and there is none of "c1" of weather`}},
		"an empty message": {[]trace.Message{user("How warm?"), said(""), user("Well?")}, []string{
			"messages[1]: a message must not be empty"}},
		"only white space": {[]trace.Message{user("How warm?"), with(asks("c1"), "\n "), results("c1")}, []string{
			"messages[1]: a message must not be empty"}},
		"nobody": {[]trace.Message{user("How warm?"), from(user("x"), "assistant")}, []string{
			`messages[1]: it is from "assistant", whom no API knows`}},
		"a call without its result": {[]trace.Message{user("How warm?"), asks("c1", "c2"), results("c2"), user("Well?")}, []string{
			`messages[1]: every call must have its result in the messages right behind it, and "c1" of weather has none`}},
		"a call at the end": {[]trace.Message{user("How warm?"), asks("c1")}, []string{
			`messages[1]: every call must have its result in the messages right behind it, and "c1" of weather has none`}},
		"a result that comes late": {[]trace.Message{user("How warm?"), asks("c1"), user("Well?"), results("c1")}, []string{
			`messages[1]: every call must have its result in the messages right behind it, and "c1" of weather has none`,
			`messages[3]: a result must be of a call in the model's message before it, and there is none of "c1" of weather`}},
		"the reply lost": {[]trace.Message{user("How warm?"), results("c1")}, []string{
			`messages[1]: a result must be of a call in the model's message before it, and there is none of "c1" of weather`}},
		"two results": {[]trace.Message{user("How warm?"), asks("c1"), results("c1", "c1")}, []string{
			`messages[2]: there must be one result for each call, and "c1" of weather has one already`}},
		"one result for two calls of one id": {[]trace.Message{user("How warm?"), asks("x", "x"), results("x")}, []string{
			`messages[1]: every call must have its result in the messages right behind it, and "x" of weather has none`}},
		"an id of the loop's own": {[]trace.Message{user("How warm?"), asks(""), results("made-up")}, []string{
			`messages[1]: every call must have its result in the messages right behind it, and the call of weather without id has none`,
			`messages[2]: a result must be of a call in the model's message before it, and there is none of "made-up" of weather`}},
		"a result of nothing": {[]trace.Message{user("How warm?"), asks("c1"), {From: trace.FromTool, Results: []trace.ToolResult{{Text: "19"}, {ID: "c1"}}}}, []string{
			`messages[2]: a result must be of a call in the model's message before it, and there is none of a call without id`}},
		"the tool's words without a result": {[]trace.Message{user("How warm?"), asks("c1"), from(user("19 °C"), trace.FromTool)}, []string{
			`messages[1]: every call must have its result in the messages right behind it, and "c1" of weather has none`,
			"messages[2]: a message of the tool must hold a result"}},
		"calls of the user": {[]trace.Message{from(asks("c1"), trace.FromUser)}, []string{
			"messages[0]: calls must be in a message of the model, and this one is from the user"}},
		"results of the model": {[]trace.Message{user("How warm?"), asks("c1"), from(results("c1"), trace.FromModel), user("Well?")}, []string{
			"messages[2]: results must be in a message of the tool, and this one is from the model"}},
		"the model's words at the end": {[]trace.Message{user("How warm?"), said("Let me see.")}, []string{
			"messages[1]: the last message must not be the model's own"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, c := range double.Complaints(trace.Prompt{Messages: tc.messages}) {
				got = append(got, c.String())
				require.NotEmpty(t, c.Advice)
			}
			require.Equal(t, tc.want, got)
		})
	}
}
