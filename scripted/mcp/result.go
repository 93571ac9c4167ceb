package mcp

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Result is what a tool answers. The zero Result is an answer that holds
// nothing: no content at all. [Text], [Structured] and [IsError] make the usual
// ones.
type Result struct {
	// Content are the blocks, in their order.
	Content []sdk.Content `json:"content,omitempty"`

	// Structured is the structured content. Clients before revision 2025-06-18
	// do not read it. Nil: there is none.
	Structured any `json:"structuredContent,omitempty"`

	// IsError: the tool was carried out and has failed. The blocks say how, and
	// are meant for the model.
	IsError bool `json:"isError,omitempty"`
}

// Text is an answer of one block for each text.
func Text(texts ...string) Result {
	var r Result
	for _, t := range texts {
		r.Content = append(r.Content, &sdk.TextContent{Text: t})
	}
	return r
}

// Structured is an answer with structured content, and with the same as text for
// clients that do not read that, as the specification advises (revision 2025-06-18,
// server/tools). Without the text it is Result{Structured: v}.
func Structured(v any) Result {
	b, err := json.Marshal(v)
	if err != nil {
		return IsError(fmt.Sprintf("mcp.Structured: encoding/json cannot write the value: %v", err))
	}
	r := Text(string(b))
	r.Structured = v
	return r
}

// IsError is the answer of a tool that has failed (revision 2025-06-18,
// server/tools, Error Handling): a result like any other but for its flag.
func IsError(text string) Result {
	r := Text(text)
	r.IsError = true
	return r
}

// sent is the result as the SDK sends it; each call gets its own.
func (r Result) sent() *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: r.Content, StructuredContent: r.Structured, IsError: r.IsError}
}

// ToolError is the error of a tool that was carried out and has failed (revision
// 2025-06-18, server/tools, Error Handling). The client gets an [IsError] with its
// words, which are meant for the model. MCP has no field by which a program could
// tell one failure from another; a code that is not empty is the field "code" of
// the structured content, as some servers have it.
func ToolError(code, text string) error { return &toolError{code, text} }

type toolError struct{ code, text string }

func (e *toolError) Error() string { return e.text }

// result is the error in words that may be packed around it.
func (e *toolError) result(words string) Result {
	r := IsError(words)
	if e.code != "" {
		r.Structured = map[string]string{"code": e.code}
	}
	return r
}

// ProtocolError is the error of a server that does not carry the call out: a
// JSON-RPC error, which models do not see. The codes are those of package jsonrpc
// of the SDK: -32602 for parameters and for a tool that is not there, -32603 for
// what went wrong inside.
func ProtocolError(code int64, message string) error {
	return &jsonrpc.Error{Code: code, Message: message}
}

// answer is how a tool's error goes over the wire. Words that are packed around it
// go with it.
func answer(err error) (*sdk.CallToolResult, error) {
	if e, ok := errors.AsType[*toolError](err); ok {
		return e.result(err.Error()).sent(), nil
	}
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return nil, &jsonrpc.Error{Code: e.Code, Message: err.Error(), Data: e.Data}
	}
	return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
}

// What a client sends: a call of a tool, and the word that it is cancelled.
const (
	methodCall      = "tools/call"
	methodCancelled = "notifications/cancelled"
)
