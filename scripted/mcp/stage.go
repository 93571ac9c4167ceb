package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"reflect"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/trace"
)

// A StageTool is a tool of a server whose failures a schedule plans.
type StageTool struct {
	Name string

	// Schemas are the schema of the arguments, in its successive versions: an
	// invalid that is planned makes the tool go on to the next, see
	// faultsim.Stage.Definitions, and the list of tools is announced to have
	// changed. One or none: it does not change. None: an object of any kind.
	Schemas []json.RawMessage

	// Fake does the tool's work and makes its answer. Nil: a result that holds
	// nothing.
	Fake Func

	// Failures are the failures that the tool can have, and how they look. Nil:
	// those of [Failures].
	Failures faultsim.Errors
}

// Serve puts an MCP server on the stage, whose tools fail as the schedule plans.
// Clients connect in memory, by [Stage.Transport].
//
// The first tool is the adapter's main one. Where it has failures of class reset and
// not-connected, which take the session away, Serve makes the Sessions of the stage
// for it, so that an adapter may have a contract of its sessions. Other tools do
// not have these classes.
//
// The code under test must close its sessions, as it would in a program: give what
// does so to faultsim.Stage.Close.
func Serve(st *faultsim.Stage, first StageTool, more ...StageTool) *Stage {
	return serve(st, inMemory, first, more)
}

// ServeHTTP is [Serve] for clients that connect over streamable HTTP, without a
// socket. A server that takes the session away is one that is started again: the
// call finds the connection reset or refused, and what follows in the session 404.
func ServeHTTP(st *faultsim.Stage, first StageTool, more ...StageTool) *Stage {
	s := serve(st, overHTTP, first, more)
	s.web = true
	return s
}

func serve(st *faultsim.Stage, show func(error) error, first StageTool, more []StageTool) *Stage {
	s := &Stage{looks: map[string]look{}, show: show}
	s.server = newServer(&trace.Recorder{}, s.list)
	errs := s.failures(first)
	if errs[trace.Reset] != nil || errs[trace.NotConnected] != nil {
		s.sessions = st.Sessions(first.Name)
	}
	s.put(st, first, errs)
	for _, t := range more {
		errs := s.failures(t)
		delete(errs, trace.Reset)
		delete(errs, trace.NotConnected)
		s.put(st, t, errs)
	}
	return s
}

// A Stage is an MCP server on a faultsim.Stage: see [Serve].
type Stage struct {
	server   *Server
	web      bool
	show     func(error) error  // words the loss of a session
	sessions *faultsim.Sessions // nil: they cannot be lost
	looks    map[string]look    // by tool, where its schema changes
}

// look reads the definition of a tool.
type look = func(context.Context) (faultsim.Definition, error)

// Transport returns a transport of a client. Its Connect opens a session of the
// stage, and fails where the schedule has an outage. It is for one session.
func (s *Stage) Transport() sdk.Transport {
	if s.web {
		return &dialed{link: s.server.Link, sessions: s.sessions}
	}
	return &memory{link: s.server.Link, sessions: s.sessions}
}

// Received is how many messages of the method the server has had.
func (s *Stage) Received(method string) int { return s.server.Received(method) }

// failures are those of the tool, with a loss in the words of the transport.
func (s *Stage) failures(t StageTool) faultsim.Errors {
	errs := maps.Clone(t.Failures)
	if t.Failures == nil {
		errs = Failures()
	}
	losses(errs, s.show)
	return errs
}

// put gives the server a tool of the stage.
func (s *Stage) put(st *faultsim.Stage, t StageTool, errs faultsim.Errors) {
	call := faultsim.Tool(st, t.Name, t.Fake, errs)
	def := &sdk.Tool{Name: t.Name}
	if len(t.Schemas) > 0 {
		def.InputSchema = t.Schemas[0]
	}
	if len(t.Schemas) > 1 {
		call = s.moving(st, t, def, call, errs[trace.Invalid])
	}
	if err := s.server.Add(def, call); err != nil {
		panic(err) // it is Subject that called, and the trial reports it
	}
}

// moving is a tool whose schema changes with each answer that is invalid.
func (s *Stage) moving(st *faultsim.Stage, t StageTool, def *sdk.Tool, call Func, invalid error) Func {
	texts := make([]string, len(t.Schemas))
	for i, schema := range t.Schemas {
		texts[i] = string(schema)
	}
	s.looks[t.Name] = st.Definitions(t.Name, texts...).Aside("tools/list")
	known := invalid != nil && reflect.ValueOf(invalid).Comparable()
	return func(ctx context.Context, args json.RawMessage) (Result, error) {
		r, err := call(ctx, args)
		if known && errors.Is(err, invalid) {
			_ = s.server.define(def) // what is announced is that there was a change
		}
		return r, err
	}
}

// list answers with the schemas as they are.
func (s *Stage) list(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		res, err := next(ctx, method, req)
		list, ok := res.(*sdk.ListToolsResult)
		if err != nil || !ok {
			return res, err
		}
		own := *list
		own.Tools = make([]*sdk.Tool, len(list.Tools))
		for i, t := range list.Tools {
			if own.Tools[i], err = s.current(ctx, t); err != nil {
				return nil, err
			}
		}
		return &own, nil
	}
}

// current is the tool with the schema that it has now.
func (s *Stage) current(ctx context.Context, t *sdk.Tool) (*sdk.Tool, error) {
	look := s.looks[t.Name]
	if look == nil {
		return t, nil
	}
	d, err := look(ctx)
	now := *t
	now.InputSchema = json.RawMessage(d.Text)
	return &now, err
}

// Failures are how a tool's failures usually look in MCP. What the tool itself
// says of its work is a [ToolError], what the server says in its place a
// [ProtocolError], and what the connection says takes the session away:
//
//	transient         ToolError "unavailable"
//	throttled         ToolError "throttled"
//	quota-exhausted   ToolError "quota"
//	timeout           ToolError "timeout": of a service behind the tool
//	forbidden         ToolError "forbidden"
//	not-found         ToolError "not-found"
//	conflict          ToolError "conflict"
//	declined          ToolError "declined"
//	invalid           ProtocolError -32602
//	unknown           ProtocolError -32603
//	reset             ErrLost
//	not-connected     ErrNotSent
//
// Other classes do not apply: a client is unauthenticated at the transport's
// level, a cancelled call has no answer, and what is malformed, partial or holds
// nothing depends on the answer (see [Result] and faultsim.Value). From revision
// 2025-11-25 on a server is to answer invalid arguments by a ToolError; put one in
// its place. MCP has no field for a wait that a tool asks for.
func Failures() faultsim.Errors {
	return faultsim.Errors{
		trace.Transient:      ToolError("unavailable", "the service is not available, try again later"),
		trace.Throttled:      ToolError("throttled", "there were too many requests"),
		trace.QuotaExhausted: ToolError("quota", "there is nothing left for this month"),
		trace.Timeout:        ToolError("timeout", "the service did not answer, and it is not known what became of the request"),
		trace.Forbidden:      ToolError("forbidden", "this is not allowed"),
		trace.NotFound:       ToolError("not-found", "there is no such thing"),
		trace.Conflict:       ToolError("conflict", "the thing has changed meanwhile"),
		trace.Declined:       ToolError("declined", "the request was understood, and the answer is no"),
		trace.Invalid:        ProtocolError(jsonrpc.CodeInvalidParams, "invalid params"),
		trace.Unknown:        ProtocolError(jsonrpc.CodeInternalError, "internal error"),
		trace.Reset:          ErrLost,
		trace.NotConnected:   ErrNotSent,
	}
}
