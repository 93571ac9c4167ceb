// Package mcp has a double of an MCP server, for tests of agents that reach their
// tools over the Model Context Protocol. It is the server of the official SDK, with
// tools that answer as a person writes down or as a schedule plans, and with
// sessions that can be lost. Clients are the SDK's own; nothing opens a socket, and
// in a bubble (see testing/synctest) nothing waits.
//
// It is a module of its own, so that the SDK reaches only those who import it.
//
// # A whole test
//
// The tool fails once, in a result, and then answers. Does the agent see the flag?
//
//	func TestForecastReadsTheFlag(t *testing.T) {
//		synctest.Test(t, func(t *testing.T) {
//			srv := mcp.NewServer(t)
//			srv.Tool("weather", schema).
//				Fail(trace.Transient, mcp.ToolError("", "try again later")).After(2 * time.Second).
//				Return(mcp.Structured(Forecast{Celsius: 19}))
//			session, err := client.Connect(t.Context(), srv.Transport(), nil)
//			require.NoError(t, err)
//			defer session.Close()
//
//			got, err := New(session).Forecast(t.Context(), "Pune")
//
//			require.NoError(t, err)
//			require.Equal(t, 19, got.Celsius)
//			invariants.Verify(t, srv.Trace(), invariants.MaxAttempts(2), invariants.SameArguments())
//		})
//	}
//
// [Server.Tool] is a tool of package scripted, so all its steps are there: Return,
// Fail, Lose, Hang and Do, with Times, After, Deaf, Done, Means and Ledger. What they
// answer is a value of this package:
//
//	Text, Structured, IsError, Result     results: one block, several, none
//	ToolError                             a result with isError: data for the model
//	ProtocolError                         a JSON-RPC error: the call was not carried out
//	ErrLost                               the connection breaks under the call
//	ErrNotSent                            it was gone before
//
// Beside the tools, a [Server] can lose its sessions ([Link.Drop]), change a schema
// ([Server.Redefine]), take a tool away ([Server.Remove]) and answer calls of tools
// that are not there in either of two ways ([Server.UnknownAsResult]).
//
// # On a stage
//
// [Serve] and [ServeHTTP] put a server on a faultsim.Stage. Its tools fail as the
// schedule plans, and [Failures] says how each class looks. The adapter is like any
// other:
//
//	faultsim.Adapter{
//		Name: "forecast", Policy: policy, Session: &invariants.Session{},
//		Subject: func(s *faultsim.Stage) faultsim.Action {
//			server := mcp.Serve(s, mcp.StageTool{Name: "weather", Fake: sunny})
//			client := sdk.NewClient(implementation, nil)
//			server.Watch(client)
//			agent := New(func(ctx context.Context) (*sdk.ClientSession, error) {
//				return client.Connect(ctx, server.Transport(), nil)
//			})
//			s.Close(agent.Close)
//			return func(ctx context.Context) (any, error) { return agent.Forecast(ctx, "Pune") }
//		},
//	}
//
// matrix.Run and faultsim.Check then play lost replies, sessions that are gone,
// outages in which none can be opened, cancels and deadlines around an answer, and
// schemas that change under the client ([StageTool].Schemas). What a planned reset
// or not-connected takes away is the session of all actions that share it.
//
// # Cancels
//
// The tool is at the other end of a wire: it has the deadline of the caller's
// context on record, and does not end with it. It ends when the client sends
// notifications/cancelled, as the SDK's does, or when the connection is closed. A
// client that keeps a cancel to itself is found by cancel-reaches-tool. The caller
// leaves at its own time, whatever the tool does.
//
// # A server of your own
//
// [NewLink] connects clients with any server of the SDK, such as the one under test.
// Its handlers see the values of their callers' contexts, so that doubles below the
// tools know which action a call belongs to; faultsim.Served then calls the server
// again and again, as a model would.
//
// # What is not covered
//
//   - Sessions must be closed, in a bubble above all: their goroutines wait. Close of
//     a session waits for the calls that are under way over it.
//   - With the loss of a session the calls that are under way beside the one that
//     lost it are answered first, as those of a faultsim.Sessions are. In a program
//     they would be lost as well.
//   - A client refuses by itself what it is asked after a loss that it knows of; only
//     with Watch is that in the trace. Over HTTP it sends nothing with a context that
//     is over. On a stage, a call of a tool that the server has not is answered and
//     not in the trace.
//   - MCP has no field for the class of a failure nor for a wait that is asked for. A
//     client that tells failures apart does so by convention: see [ToolError].
//   - 401 and OAuth, 429 and 503 of a gateway before the server, resumed streams,
//     progress, sampling, elicitation, prompts and resources are not played. The
//     answer to a call over HTTP comes whole, so what the tool of a server of your
//     own sends before it comes with it.
//   - The stream that a client keeps open over HTTP is opened again after a time that
//     the SDK draws by chance. On a stage there is none, and no list that has changed
//     is announced over HTTP.
//   - Arguments are not held to the schema, and results not to an output schema.
package mcp
