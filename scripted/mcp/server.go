package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rehearse-go/rehearse/internal/double"
	"github.com/rehearse-go/rehearse/scripted"
	"github.com/rehearse-go/rehearse/trace"
)

// A Tool is a double whose steps a person writes down: see package scripted. Its
// arguments are what came over the wire, as JSON.
type Tool = scripted.Tool[json.RawMessage, Result]

// A Func is a tool of a server. It answers with a [Result], a [ToolError] or a
// [ProtocolError], or with [ErrLost] or [ErrNotSent], which take the session away.
// Another error is answered as the JSON-RPC error -32603.
type Func = trace.Func[json.RawMessage, Result]

// A Server is a double of an MCP server: the SDK's own server, with tools that
// answer as they are told. Clients connect by [Link.Transport] or [Link.HTTP].
// Make it with [NewServer], or on a stage with [Serve]. Its methods may be called
// by several goroutines at once.
type Server struct {
	*Link
	t    scripted.TB  // nil: on a stage
	door *double.Door // nil: on a stage
	rec  *trace.Recorder

	mu       sync.Mutex
	tools    map[string]Func // all that there ever were
	removed  map[string]bool
	asResult bool
}

// NewServer returns a server without tools. A call of a tool that it never had is
// reported to the test. Its tools write into one recorder, in clear.
func NewServer(t scripted.TB) *Server {
	t.Helper()
	s := newServer(&trace.Recorder{Clear: true})
	s.t, s.door = t, double.NewDoor(t, nil)
	return s
}

func newServer(rec *trace.Recorder, inner ...sdk.Middleware) *Server {
	s := &Server{rec: rec, tools: map[string]Func{}, removed: map[string]bool{}}
	impl := sdk.NewServer(&sdk.Implementation{Name: "rehearse", Version: "1"},
		&sdk.ServerOptions{Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{ListChanged: true}}})
	impl.AddReceivingMiddleware(append(inner, s.guard)...)
	s.Link = NewLink(impl)
	return s
}

// Into lets the tools that are declared after it write into r, which several
// doubles may share.
func (s *Server) Into(r *trace.Recorder) *Server {
	s.t.Helper()
	if r == nil {
		s.misuse("Into(nil)", double.Caller(0), "there is no recorder; give one, or leave Into out")
		return s
	}
	s.rec = r
	return s
}

// UnknownAsResult lets a call of a tool that is not there be answered by a result
// with isError. By default it is the JSON-RPC error -32602, as the specification
// has it (server/tools, Error Handling); servers do either.
func (s *Server) UnknownAsResult() *Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asResult = true
	return s
}

// Tool declares a tool with the schema of its arguments: anything that is written
// as a JSON schema of type object. Nil: an object of any kind. Arguments are not
// held to the schema: what a server says of wrong ones is for a step to say.
func (s *Server) Tool(name string, schema any) *Tool {
	s.t.Helper()
	at := double.Caller(0)
	tool := scripted.NewTool[json.RawMessage, Result](s.t, name).Into(s.rec)
	s.mu.Lock()
	_, twice := s.tools[name]
	s.mu.Unlock()
	if twice {
		s.misuse(fmt.Sprintf("Tool(%q)", name), at, "the server has that tool; Redefine changes its schema")
		return tool
	}
	if err := s.Add(&sdk.Tool{Name: name, InputSchema: schema}, tool.Call); err != nil {
		s.misuse(fmt.Sprintf("Tool(%q)", name), at, err.Error())
	}
	return tool
}

// Add gives the server a tool that is any function, such as one of a
// faultsim.Stage. The error says what is wrong with its definition. Sessions that
// are open hear of it, as of each change of the list, some 10 ms later.
func (s *Server) Add(def *sdk.Tool, call Func) (err error) {
	if def == nil || def.Name == "" {
		return errors.New("a tool needs a name")
	}
	if call == nil {
		return fmt.Errorf("tool %q has no function to call: give one", def.Name)
	}
	own := *def
	if own.InputSchema == nil {
		own.InputSchema = anyObject
	}
	s.mu.Lock()
	before := s.tools[own.Name]
	s.tools[own.Name] = call
	s.mu.Unlock()
	err = s.define(&own)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		delete(s.removed, own.Name)
	case before == nil:
		delete(s.tools, own.Name)
	default:
		s.tools[own.Name] = before
	}
	return err
}

var anyObject = json.RawMessage(`{"type":"object"}`)

// define hands the definition to the SDK, which panics where it cannot be used.
func (s *Server) define(def *sdk.Tool) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v: give a JSON schema of an object", p)
		}
	}()
	s.server.AddTool(def, s.handle)
	return nil
}

// Redefine changes the schema of a tool, and tells open sessions that the list has
// changed. Steps of the tool that are still to come stay.
func (s *Server) Redefine(name string, schema any) {
	s.t.Helper()
	what, at := fmt.Sprintf("Redefine(%q)", name), double.Caller(0)
	s.mu.Lock()
	call := s.tools[name]
	s.mu.Unlock()
	if call == nil {
		s.misuse(what, at, "the server has no such tool; declare it with Tool")
	} else if err := s.Add(&sdk.Tool{Name: name, InputSchema: schema}, call); err != nil {
		s.misuse(what, at, err.Error())
	}
}

// Remove takes a tool away, and tells open sessions that the list has changed. A
// call of it is recorded, and answered as one of a tool that is not there.
func (s *Server) Remove(name string) {
	s.t.Helper()
	s.mu.Lock()
	_, known := s.tools[name]
	s.removed[name] = known
	s.mu.Unlock()
	if !known {
		s.misuse(fmt.Sprintf("Remove(%q)", name), double.Caller(0), "the server has no such tool; declare it with Tool")
	}
	s.server.RemoveTools(name)
}

// Trace returns what has been written down so far.
func (s *Server) Trace() *trace.Trace { return s.rec.Trace() }

func (s *Server) misuse(what string, at double.Pos, advice string) {
	s.t.Helper()
	s.door.Report("misuse", "scripted/mcp: server: %s at %s: %s", what, at, advice)
}

// handle answers a call of a tool that is there.
func (s *Server) handle(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	s.mu.Lock()
	call := s.tools[req.Params.Name]
	s.mu.Unlock()
	r, err := call(ctx, json.RawMessage(req.Params.Arguments))
	if isLoss(err) {
		if c := s.callOf(req); c != nil {
			s.end(c, err)
		}
	}
	if err != nil {
		return answer(err)
	}
	return r.sent(), nil
}

// guard answers calls of tools that are not there.
func (s *Server) guard(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		call, ok := req.(*sdk.CallToolRequest)
		if !ok || method != methodCall || s.has(call.Params.Name) {
			return next(ctx, method, req)
		}
		return s.missing(ctx, call, next)
	}
}

func (s *Server) has(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tools[name] != nil && !s.removed[name]
}

// missing writes a call down whose tool is not there, and answers it.
func (s *Server) missing(ctx context.Context, req *sdk.CallToolRequest, next sdk.MethodHandler) (sdk.Result, error) {
	name := req.Params.Name
	p := s.rec.Call(ctx, trace.Call{Tool: name, Args: json.RawMessage(req.Params.Arguments)})
	s.unknown(name)
	s.mu.Lock()
	asResult := s.asResult
	s.mu.Unlock()
	if asResult {
		r := IsError(fmt.Sprintf("unknown tool %q", name))
		p.Answer(trace.Outcome{Class: trace.Invalid}, trace.Marshal(r), nil)
		return r.sent(), nil
	}
	res, err := next(ctx, methodCall, req)
	o := trace.Outcome{Class: trace.Invalid}
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		o.Code = strconv.FormatInt(e.Code, 10)
	}
	p.Answer(o, nil, err)
	return res, err
}

// unknown reports a call of a tool that the server never had.
func (s *Server) unknown(name string) {
	if s.door == nil {
		return
	}
	s.mu.Lock()
	removed := s.removed[name]
	names := slices.Sorted(maps.Keys(s.tools))
	s.mu.Unlock()
	if removed {
		return // it is for the test to judge
	}
	has := "no tools"
	if len(names) > 0 {
		has = strings.Join(names, ", ")
	}
	s.t.Helper()
	s.door.Report("unknown", "scripted/mcp: server: a client called tool %q, and the server has %s\n\tDeclare it with Tool, or correct the caller; Remove is for a tool that goes.", name, has)
}
