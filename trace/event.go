package trace

import (
	"encoding/json"
	"sync"
	"time"
)

// Schema is the version of the trace format that this package writes.
const Schema = 1

// A Kind says what an event tells.
type Kind uint8

const (
	_               Kind = iota
	KindBegin            // an action begins
	KindCall             // a tool is reached: one physical attempt begins
	KindInterrupt        // the attempt's context ended while the tool was still at work
	KindAnswer           // the tool's answer to a call
	KindWait             // the program asked its sleeper for a wait
	KindCancel           // the caller cancelled the action
	KindEffect           // the tool did it: the ledger's truth
	KindPublish          // the program published a terminal for the action
	KindObservation      // the program handed a failure on, to its model or caller
	KindHit              // the program answered a call without making it: from a cache, or as another action's
	KindClose            // the program closed a session
	KindEnd              // the action returned to its caller
	KindHang             // the action never returned
	KindLeak             // something was still running after the action had ended
	KindPanic            // the action panicked
	KindSpin             // the action called a tool without end at one instant
	KindCrash            // the program's process died while the action was under way
	KindRestart          // the program is up again, and may go on with the action
	KindSay              // the user was shown a text
	KindDrain            // the program's process was told to stop, and is killed after Wait
	KindHandback         // the process that was told to stop has stopped by itself, and left the action to the next one
	KindCalm             // the faults that were put in on purpose have stopped; it is of no action
)

var kindNames = [...]string{
	"", "begin", "call", "interrupt", "answer", "wait", "cancel", "effect", "publish", "observation", "hit", "close", "end",
	"hang", "leak", "panic", "spin", "crash", "restart", "say", "drain", "handback", "calm",
}

// String is the name of the value; empty for the zero value.
func (k Kind) String() string { return enumString(kindNames[:], k) }

// MarshalText is the name that String gives; a value that is not in the list is
// an error.
func (k Kind) MarshalText() ([]byte, error) { return enumText("kind", kindNames[:], k) }

// UnmarshalText reads the name that String prints.
func (k *Kind) UnmarshalText(text []byte) error { return enumParse("kind", kindNames[:], text, k) }

// A Role says what a call is for. Only calls of [RoleAttempt] are attempts of
// the action; the others are seen in the trace and not counted.
type Role uint8

const (
	RoleAttempt     Role = iota // the work itself
	RoleAuth                    // fetching or refreshing credentials
	RoleReconcile               // asking what became of an earlier attempt
	RoleLog                     // writing a record that is best effort: a log, a metric
	RoleAudit                   // writing a record that must be kept
	RoleTurn                    // waiting for leave to call, at a limiter of the program's own
	RoleDefinitions             // fetching the definitions of tools, such as the schemas of their arguments
	RoleConnect                 // opening a session, over which calls then go
	RoleModel                   // asking a model for its next turn
	RoleAgent                   // handing a task to another agent
	RoleApproval                // asking somebody for leave to call a tool
)

var roleNames = [...]string{"", "auth", "reconcile", "log", "audit", "turn", "definitions", "connect", "model", "agent", "approval"}

// String is the name of the value; empty for the zero value.
func (r Role) String() string { return enumString(roleNames[:], r) }

// MarshalText is the name that String gives; a value that is not in the list is
// an error.
func (r Role) MarshalText() ([]byte, error) { return enumText("role", roleNames[:], r) }

// UnmarshalText reads the name that String prints.
func (r *Role) UnmarshalText(text []byte) error { return enumParse("role", roleNames[:], text, r) }

// An Event is one thing that happened. Which fields are set depends on the
// kind; the zero value of a field means that it does not apply.
type Event struct {
	At         time.Duration   // since the trace's Start
	Kind       Kind            // what happened; never zero
	Role       Role            // of a call
	Reason     Reason          // of an end or a publication: what the program said
	Ambiguous  bool            // the call could belong to several actions and is not judged
	Call       int             // number of the physical call over the whole trace, from 1; pairs a call with its answer
	Action     string          // the action's name; empty: the only, undeclared one
	Tool       string          // of a call, and of what came of it
	CallID     string          // the id that the model or the protocol gave the call
	Ask        int             // of a call: the number, over the action, of the model's call that it serves, from 1; 0: of none that is known
	Layer      string          // of a call: the path of the layers above it, outermost first; see [Layer]
	Key        string          // the idempotency key that the call carried
	Credential string          // the credential that the call carried; see [Recorder.Credential]
	Definition string          // of a call: the version of the tool's definition that the program had; see [Recorder.Definition]
	Session    int             // of a call: the session that it goes over, or opens; of a close: the one that is closed; 0: not known
	Args       json.RawMessage // canonical, without the key
	Result     json.RawMessage // of an answer, of the action's end, or what an observation or a text for the user holds
	Want       json.RawMessage // of an end: the result that the evidence calls for; nil: not known
	Outcome    Outcome         // of an answer or interrupt: what the caller saw; of a batch's call, Items: what it asks for
	Prompt     *Prompt         // of a call of a model: what it is shown; never changed
	Reply      *Reply          // of its answer: what it says, or what came of it before it broke off; never changed
	Deadline   time.Duration   // instant at which the given context ends, since Start; 0: none
	Wait       time.Duration   // the wait that was asked for; of a drain: the time of grace
	Error      string          // text of the error; never empty where there was one
	Cause      int             // of an end: the call whose error the returned error keeps; -1: of none; 0: not looked at
	Count      int             // of an end: the attempts that the returned error tells of; 0: it does not say. Of a begin: the number of the action that it does again, from 1; 0: of none. Of a crash: the number of the durable write at which it came; 0: at none
}

// A Trace is what happened in one trial or one recording. The events are the
// one truth; everything else is computed from them. A Trace is read-only once
// it has been handed out, and may then be read by several goroutines at once.
type Trace struct {
	Schema int             // version of the format; see [Schema]
	Policy json.RawMessage // content of the policy in force; nil: none declared
	Beside json.RawMessage // content of what is declared beside the policy, such as a breaker; nil: nothing
	Start  time.Time       // instant of At == 0
	Events []Event

	once    sync.Once
	actions []Action
	talk    sync.Once
	turns   [][]Turn
}
