package faultsim

import (
	"fmt"

	"github.com/rehearse-go/rehearse/trace"
)

// What the action returned is read by functions of the adapter. A panic in one of
// them, or a value that does not exist, is no fault of the code under test.

func (x *trial) reason(err error) trace.Reason {
	defer x.misread("Reason")
	return x.exists("Reason", x.a.Reason(err))
}

func (x *trial) degraded(out any) trace.Reason {
	defer x.misread("Degraded")
	return x.exists("Degraded", x.a.Degraded(out))
}

func (x *trial) attempts(err error) int {
	defer x.misread("Attempts")
	return x.a.Attempts(err) // what it tells, however wrong, is the code's to answer for
}

func (x *trial) handedBack(err error) bool {
	defer x.misread("HandedBack")
	return x.a.HandedBack(err)
}

func (x *trial) refusal(err error) string {
	defer x.misread("Clash, Busy or Keyless")
	return x.a.served.code(err)
}

// exists is the reason, where it is one.
func (x *trial) exists(what string, r trace.Reason) trace.Reason {
	if r <= trace.ReasonEscalated {
		return r
	}
	x.stage.misused(fmt.Errorf("faultsim: %s of %q returned %v, which is no terminal reason: say one of the trace.Reason constants, or 0", what, x.a.Name, r))
	return 0
}

// misread takes up the panic of such a function.
func (x *trial) misread(what string) {
	if p := recover(); p != nil {
		x.stage.misused(fmt.Errorf("faultsim: %s of %q panicked: %v at %s: it is asked with whatever the action returned", what, x.a.Name, p, panicSite()))
	}
}
