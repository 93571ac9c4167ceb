package trace

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"syscall"
)

// Classify maps an error to an outcome by what the standard library and common
// practice say of it: context errors, network errors, broken streams, and an
// error's own methods Outcome() Outcome, Retryable() bool or Temporary() bool.
// Anything else is [Unknown]. A nil error is [OK].
func Classify(err error) Outcome {
	if err == nil {
		return Outcome{Class: OK}
	}
	if own, ok := errors.AsType[interface {
		error
		Outcome() Outcome
	}](err); ok {
		return own.Outcome()
	}
	return Outcome{Class: classOf(err), Advice: adviceOf(err)}
}

func classOf(err error) Class {
	switch {
	case errors.Is(err, context.Canceled):
		return Cancelled
	case errors.Is(err, context.DeadlineExceeded):
		return Timeout
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return NotConnected
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return Reset
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok && dns != nil {
		return NotConnected
	}
	if timeout, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err); ok && timeout.Timeout() {
		return Timeout
	}
	return Unknown
}

// adviceOf is the error's own word. The standard library's network and context
// errors have a Temporary too, beside Timeout, but deprecate it as not well
// defined: a refused connection would call itself final.
func adviceOf(err error) Advice {
	if r, ok := errors.AsType[interface {
		error
		Retryable() bool
	}](err); ok {
		return advice(r.Retryable())
	}
	t, ok := errors.AsType[interface {
		error
		Temporary() bool
	}](err)
	if !ok {
		return AdviceNone
	}
	if _, std := t.(interface{ Timeout() bool }); std {
		return AdviceNone
	}
	return advice(t.Temporary())
}

func advice(retry bool) Advice {
	if retry {
		return AdviceRetry
	}
	return AdviceStop
}

// ClassifyStatus maps an HTTP status to a class. The reading follows RFC 9110
// section 15 and is the usual one of retrying clients; a tool that means
// something else by a status says so in its own classifier.
func ClassifyStatus(status int) Class {
	switch status {
	case http.StatusRequestTimeout:
		return Timeout
	case http.StatusTooManyRequests:
		return Throttled
	case http.StatusUnauthorized:
		return Unauthenticated
	case http.StatusForbidden:
		return Forbidden
	case http.StatusNotFound, http.StatusGone:
		return NotFound
	case http.StatusConflict, http.StatusPreconditionFailed:
		return Conflict
	case http.StatusMultiStatus:
		return Partial
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return Invalid
	case http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return Transient
	}
	if status >= 200 && status < 400 {
		return OK
	}
	return Unknown
}

// classifyResponse reads the outcome off a response's status and headers.
func classifyResponse(resp *http.Response, hint Outcome) Outcome {
	hint.Class = ClassifyStatus(resp.StatusCode)
	hint.Code = strconv.Itoa(resp.StatusCode)
	return hint
}
