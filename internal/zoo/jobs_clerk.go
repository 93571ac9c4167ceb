package zoo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// A job is what a clerk writes down of a payment.
type job struct {
	Bills    []payment
	Receipts []receipt
	Begun    time.Time
	Attempts int       // at the bill that is next
	Next     time.Time // not before this
	Wait     time.Duration
	Flying   bool   // an attempt has begun and has no answer
	Last     string // the latest failure
	Over     bool
}

// A clerk pays, and goes on with what it finds unfinished. It is asked by the
// name of the job, as often as its caller likes.
type clerk struct {
	bank   bank
	status func(context.Context, string) (bool, error)
	disk   *faultsim.Disk
	budget time.Duration
	jitter func(time.Duration) time.Duration // nil: none
	lease  time.Duration                     // of an attempt, before which nobody takes the job up; 0: none
	start  time.Time
	cuts   bool // the budget ends an attempt, and a wait that it leaves no room for
	drill

	unkeyed, asks                                    bool
	countsAnew, forgetsWait, waitsAnew, keysAnew     bool
	pricesAnew, losesJob, countsLate, batches, blind bool
	agesAnew, keepsCount, rekeys                     bool
}

func clerks(p invariants.Policy, change func(*clerk)) faultsim.Adapter {
	build := func(s *faultsim.Stage, again bool) faultsim.Action {
		c := newClerk(s, change)
		return func(ctx context.Context) (any, error) { return c.pay(ctx, trace.ActionName(ctx), again) }
	}
	return faultsim.Adapter{
		Name: "pay", Policy: p, Want: receipt{7},
		Subject: func(s *faultsim.Stage) faultsim.Action { return build(s, false) },
		Resume:  func(s *faultsim.Stage) faultsim.Action { return build(s, true) },
	}
}

// revivable are clerks whose jobs an operator can revive.
func revivable(p invariants.Policy, change func(*clerk)) faultsim.Adapter {
	a := clerks(p, change)
	a.Again = func(s *faultsim.Stage) faultsim.Action {
		c := newClerk(s, change)
		return func(ctx context.Context) (any, error) { return c.retry(ctx, trace.ActionName(ctx)) }
	}
	return a
}

func newClerk(s *faultsim.Stage, change func(*clerk)) *clerk {
	c := &clerk{
		bank: faultsim.Tool(s, "bank", settle, jobFailures()), disk: s.Disk(), start: time.Now(),
		status: faultsim.Aside(s, "status", trace.RoleReconcile, func(_ context.Context, key string) (bool, error) {
			return s.Done("bank", key), nil
		}),
	}
	change(c)
	return c
}

func (c *clerk) pay(ctx context.Context, name string, again bool) (receipt, error) {
	j, err := c.load(ctx, name)
	if err != nil {
		return receipt{}, err
	}
	if again && c.losesJob && !j.Over {
		return receipt{}, errNoJob
	}
	for !j.Over {
		if err := c.step(ctx, name, j); err != nil {
			return receipt{}, err
		}
	}
	if len(j.Receipts) < len(j.Bills) {
		return receipt{}, fmt.Errorf("job %s: %s", name, j.Last)
	}
	return j.Receipts[0], nil
}

// retry revives a job at an operator's word.
func (c *clerk) retry(ctx context.Context, name string) (receipt, error) {
	j, err := c.load(ctx, name)
	if err != nil {
		return receipt{}, err
	}
	if len(j.Receipts) < len(j.Bills) {
		j.Over, j.Flying, j.Next = false, false, time.Time{}
		if !c.keepsCount {
			j.Attempts, j.Begun = 0, time.Now()
		}
		for i := range j.Bills {
			if c.rekeys {
				j.Bills[i].Key += "+"
			}
		}
		if err := c.save(ctx, name, j); err != nil {
			return receipt{}, err
		}
	}
	return c.pay(ctx, name, false)
}

// load finds the job, or makes it.
func (c *clerk) load(ctx context.Context, name string) (*job, error) {
	j := &job{Begun: time.Now()}
	switch raw, err := c.disk.Get(ctx, name); {
	case errors.Is(err, fs.ErrNotExist):
		for invoice := 7; invoice == 7 || invoice == 8 && c.batches; invoice++ {
			bill := payment{Invoice: invoice, Cents: c.price()}
			if !c.unkeyed {
				bill.Key = fmt.Sprintf("%s/%d", name, invoice)
				if c.keysAnew {
					bill.Key += c.start.Format(time.StampNano)
				}
			}
			j.Bills = append(j.Bills, bill)
		}
	case err != nil:
		return nil, err
	default:
		if err := json.Unmarshal(raw, j); err != nil {
			return nil, err
		}
		c.revive(j, name)
	}
	return j, nil
}

// revive is what the clerk makes of a job that it finds.
func (c *clerk) revive(j *job, name string) {
	switch {
	case c.countsAnew:
		j.Attempts = 0
	case c.forgetsWait:
		j.Next = time.Time{}
	case c.waitsAnew:
		j.Next = time.Now().Add(j.Wait)
	case c.agesAnew:
		j.Begun = time.Now()
	}
	for i := range j.Bills {
		if c.keysAnew {
			j.Bills[i].Key = fmt.Sprintf("%s/%d%s", name, j.Bills[i].Invoice, c.start.Format(time.StampNano))
		}
		if c.pricesAnew {
			j.Bills[i].Cents = c.price()
		}
	}
}

// price is that of the hour.
func (c *clerk) price() int { return 1900 + c.start.Hour() }

func (c *clerk) save(ctx context.Context, name string, j *job) error {
	kept := *j
	if c.batches && !j.Over {
		kept.Receipts = nil // they are written down when the batch is through
	}
	raw, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	return c.disk.Put(context.WithoutCancel(ctx), name, raw)
}

// step makes the next attempt of the job, once it is time.
func (c *clerk) step(ctx context.Context, name string, j *job) error {
	bill := j.Bills[len(j.Receipts)]
	if j.Flying && !c.countsLate {
		if done, err := c.cutOff(ctx, name, j, bill); done || err != nil {
			return err
		}
	}
	if j.Attempts >= c.most() {
		j.Over = true
		return c.save(ctx, name, j)
	}
	if c.budget > 0 && time.Since(j.Begun)+max(0, time.Until(j.Next)) >= c.budget {
		if c.cuts {
			if err := sleep(ctx, time.Until(j.Begun.Add(c.budget))); err != nil {
				return fmt.Errorf("%w after %s", err, j.Last)
			}
		}
		return fmt.Errorf("%w: %s", errLate, j.Last)
	}
	if err := c.rest(ctx, name, j); err != nil {
		return fmt.Errorf("%w after %s", err, j.Last)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if !c.countsLate {
		j.Attempts, j.Flying, j.Next = j.Attempts+1, true, time.Now().Add(c.lease)
		if err := c.save(ctx, name, j); err != nil {
			return err
		}
	}
	r, err := limited(ctx, func(ctx context.Context) (receipt, error) {
		ctx, done := c.attempting(ctx)
		defer done()
		if c.cuts {
			inTime, cancel := context.WithDeadline(ctx, j.Begun.Add(c.budget))
			defer cancel()
			return c.bank(inTime, bill)
		}
		return c.bank(ctx, bill)
	})
	if c.countsLate {
		j.Attempts++
	}
	if c.told() && errors.Is(err, context.Canceled) && ctx.Err() == nil {
		return c.stop(ctx, name, j)
	}
	return c.answered(ctx, name, j, r, err)
}

func (c *clerk) most() int {
	if c.budget > 0 {
		return 4
	}
	return attempts
}

// cutOff is what becomes of an attempt that a crash cut off.
func (c *clerk) cutOff(ctx context.Context, name string, j *job, bill payment) (done bool, err error) {
	switch {
	case c.blind:
	case c.unkeyed:
		return true, errUnknown
	case c.asks:
		if made, lost := c.status(ctx, bill.Key); lost == nil && made {
			return true, c.answered(ctx, name, j, receipt{bill.Invoice}, nil)
		}
	}
	j.Flying, j.Last = false, errUnknown.Error()
	return false, nil
}

// answered writes down what became of an attempt.
func (c *clerk) answered(ctx context.Context, name string, j *job, r receipt, err error) error {
	j.Flying = false
	if err == nil {
		j.Receipts, j.Attempts, j.Next = append(j.Receipts, r), 0, time.Time{}
		j.Over = len(j.Receipts) == len(j.Bills)
		return c.save(ctx, name, j)
	}
	busy, isBusy := errors.AsType[*waitError](err)
	if c.asks && !isBusy && !errors.Is(err, errBankInvalid) {
		if made, lost := c.status(context.WithoutCancel(ctx), j.Bills[0].Key); lost == nil && made {
			return c.answered(ctx, name, j, receipt{j.Bills[0].Invoice}, nil)
		}
	}
	j.Last, j.Wait = err.Error(), time.Second<<(j.Attempts-1)
	if c.jitter != nil {
		j.Wait = c.jitter(j.Wait)
	}
	if isBusy {
		j.Wait = max(j.Wait, busy.after)
	}
	j.Next = time.Now().Add(j.Wait)
	if errors.Is(err, errBankInvalid) || ctx.Err() != nil || c.unkeyed && !isBusy || j.Attempts >= c.most() {
		j.Over = true
		if failed := c.save(ctx, name, j); failed != nil {
			return failed
		}
		return err
	}
	return c.save(ctx, name, j)
}
