package mcp

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"

	"github.com/rehearse-go/rehearse/faultsim"
)

// What a tool answers by taking the session away. The caller's error is one or the
// other for errors.Is, and reads as the transport words it.
var (
	// ErrLost: the connection breaks while the call is under way, and the caller
	// cannot know what became of it. It is of class trace.Reset. The caller sees
	// io.EOF.
	ErrLost = errors.New("mcp: the connection broke under the call")

	// ErrNotSent: the session was gone before, and the call never arrived. It is
	// of class trace.NotConnected. The caller sees a broken pipe or, over HTTP, a
	// refused connection, and 404 where it goes on with the session.
	ErrNotSent = errors.New("mcp: the session was gone before the call")
)

// A lossError is a loss as a transport words it.
type lossError struct{ seen, loss error }

func (e *lossError) Error() string   { return e.seen.Error() }
func (e *lossError) Unwrap() []error { return []error{e.seen, e.loss} }

// errPipe is what a write to a local server gives that has gone.
var errPipe error = &os.PathError{Op: "write", Path: "|1", Err: syscall.EPIPE}

// errDial is what a dial gives where no server listens.
var errDial error = &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}

// inMemory and overHTTP are how a loss shows.
func inMemory(loss error) error { return shown(loss, errPipe) }
func overHTTP(loss error) error { return shown(loss, errDial) }

// shown is how a loss shows, where notSent is the word for a session that is gone.
func shown(loss, notSent error) error {
	if e, ok := errors.AsType[*lossError](loss); ok {
		return e
	}
	if errors.Is(loss, ErrNotSent) {
		return &lossError{notSent, ErrNotSent}
	}
	return &lossError{io.EOF, ErrLost}
}

// losses words the losses among a tool's failures as a transport does.
func losses(errs faultsim.Errors, show func(error) error) {
	for c, err := range errs {
		if isLoss(err) {
			errs[c] = show(err)
		}
	}
}

func isLoss(err error) bool { return errors.Is(err, ErrLost) || errors.Is(err, ErrNotSent) }
