package faultsim

import (
	"fmt"
	"net/http"

	"github.com/rehearse-go/rehearse/internal/double"
	"github.com/rehearse-go/rehearse/trace"
)

// What a double does is written by whoever declares it: its work, its answers and its
// errors. A panic in it, or an error that is none, is no fault of the code that calls.

// rendered is the tool's own error for the fault.
func (s *Stage) rendered(tool string, errs Errors, f *Fault) (err error) {
	maker := errs.maker(f.class())
	defer func() {
		if p := recover(); p != nil {
			err = s.misused(fmt.Errorf("faultsim: %s: Errors[%v]: %s panicked: %v at %s: it must make an error of every hint, 0 included", tool, f.class(), maker, p, panicSite()))
		}
	}()
	if err = errs.render(f); err == nil && maker != "" {
		return s.misused(fmt.Errorf("faultsim: %s: Errors[%v]: %s returned nil for the hint %v: it must make an error of every hint, 0 included", tool, f.class(), maker, f.Hint))
	}
	return err
}

// maker is what makes the error of the class; empty: it is a plain one.
func (e Errors) maker(c trace.Class) string {
	switch e[c].(type) {
	case *hinted:
		return "Hinted"
	case *advised:
		return "Advised"
	}
	return ""
}

// panics takes up the panic of a double's own work.
func (s *Stage) panics(tool string, err *error) {
	if p := recover(); p != nil {
		*err = s.misused(fmt.Errorf("faultsim: what %s does panicked: %v at %s", tool, p, panicSite()))
	}
}

func (c *call[In, Out]) faked() (out Out, err error) {
	defer c.s.panics(c.t.name, &err)
	return c.fake(c.ctx, c.in)
}

func (c *batchCall[Item, Out]) faked(item Item) (out Out, err error) {
	defer c.s.panics(c.t.name, &err)
	return c.fake(c.ctx, item)
}

// named are the items' own names.
func (c *batchCall[Item, Out]) named() (asked []trace.Item, err error) {
	defer c.s.panics(c.t.name, &err)
	asked = make([]trace.Item, len(c.in))
	for i, item := range c.in {
		asked[i].ID = c.id(item)
	}
	return asked, nil
}

// served is what the handler answers; after a panic, a server's own error.
func (x *exchange) served(h http.Handler) (r double.Reply) {
	var err error
	defer func() {
		if err != nil {
			r = double.Reply{Class: trace.Transient}
		}
	}()
	defer x.s.panics(x.r.Tool, &err)
	return double.Serve(h, x.req, x.in)
}
