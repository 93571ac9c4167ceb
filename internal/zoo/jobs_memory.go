package zoo

import (
	"context"
	"errors"
	"io/fs"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// A rememberer keeps its retries in memory, and writes down that a payment has
// begun and what became of it.
type rememberer struct {
	payer
	disk                      *faultsim.Disk
	stopping                  context.Context // ends when the process is told to stop
	goesOn, vanishes, cancels bool
}

func rememberers(change func(*rememberer)) faultsim.Adapter {
	build := func(s *faultsim.Stage) *rememberer {
		m := &rememberer{payer: payer{bank: faultsim.Tool(s, "bank", settle, bankFailures())}, disk: s.Disk(), stopping: s.Draining()}
		change(m)
		return m
	}
	p := keyedPolicy()
	p.ID, p.Restart = "job/v5", invariants.RestartInterrupts
	return faultsim.Adapter{
		Name: "pay", Policy: p, Want: receipt{7},
		Subject: func(s *faultsim.Stage) faultsim.Action {
			m := build(s)
			return func(ctx context.Context) (any, error) { return m.pay(ctx, trace.ActionName(ctx)) }
		},
		Resume: func(s *faultsim.Stage) faultsim.Action {
			m := build(s)
			return func(ctx context.Context) (any, error) { return m.lookUp(ctx, trace.ActionName(ctx)) }
		},
		Reason: func(err error) trace.Reason {
			if errors.Is(err, errInterrupted) {
				return trace.ReasonInterrupted
			}
			return 0
		},
	}
}

func (m *rememberer) pay(ctx context.Context, name string) (receipt, error) {
	ctx, own := context.WithoutCancel(ctx), ctx
	if !m.vanishes {
		if err := m.disk.Put(ctx, name, []byte("begun")); err != nil {
			return receipt{}, err
		}
	}
	bill := payment{Invoice: 7, Cents: 1900, Key: name}
	inProcess, cancel := context.WithCancel(own)
	defer context.AfterFunc(m.stopping, cancel)()
	defer cancel()
	r, err := repeat(inProcess, func(ctx context.Context, _ int) (receipt, error) { return m.bank(ctx, bill) })
	if err != nil && inProcess.Err() != nil && own.Err() == nil && !m.cancels {
		err = errInterrupted
	}
	word := "done"
	if err != nil {
		word = err.Error()
	}
	if lost := m.disk.Put(ctx, name, []byte(word)); lost != nil {
		return receipt{}, lost
	}
	return r, err
}

// lookUp tells what became of a payment that was begun before the restart.
func (m *rememberer) lookUp(ctx context.Context, name string) (receipt, error) {
	word, err := m.disk.Get(ctx, name)
	switch {
	case m.vanishes && errors.Is(err, fs.ErrNotExist):
		return receipt{}, errNoJob
	case errors.Is(err, fs.ErrNotExist), err == nil && string(word) == "begun" && !m.goesOn:
		return receipt{}, errInterrupted
	case err != nil:
		return receipt{}, err
	case string(word) == "begun":
		return m.pay(ctx, name)
	case string(word) == "done":
		return receipt{7}, nil
	case string(word) == errInterrupted.Error():
		return receipt{}, errInterrupted
	}
	return receipt{}, errors.New(string(word))
}
