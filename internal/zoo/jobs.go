package zoo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

func jobs() []Specimen {
	return []Specimen{
		{"counter-begins-anew", "The job is written down without its count, and each restart of the worker gives it all attempts again.",
			testingRetries, "survives-restart", clerks(jobPolicy(), func(c *clerk) { c.countsAnew = true })},
		{"wait-forgotten-by-the-restart", "A worker that starts takes every unfinished job up at once, whatever its backoff.",
			testingRetries, "survives-restart", clerks(jobPolicy(), func(c *clerk) { c.forgetsWait = true })},
		{"wait-begins-anew", "The job keeps how long to wait, and not until when, so that a restart waits all of it again.",
			testingRetries, "survives-restart", clerks(jobPolicy(), func(c *clerk) { c.waitsAnew = true })},
		{"key-made-by-the-process", "The key is made when the job is taken up, and the job that a restart takes up again is a new payment to the bank.",
			"F033", "survives-restart", clerks(jobPolicy(), func(c *clerk) { c.keysAnew = true })},
		{"amount-read-anew", "The job keeps the invoice only; after a restart the amount is what it is by then.",
			testingRetries, "survives-restart", clerks(jobPolicy(), func(c *clerk) { c.pricesAnew = true })},
		{"job-lost-by-the-restart", "Jobs are kept, and nobody looks at the unfinished ones when the worker starts.",
			testingRetries, "survives-restart", clerks(jobPolicy(), func(c *clerk) { c.losesJob = true })},
		{"counted-after-the-call", "The attempt is written down when it has been answered: one that a crash cuts off never was.",
			testingRetries, "survives-restart", clerks(jobPolicy(), func(c *clerk) { c.countsLate = true })},
		{"result-after-the-batch", "The results of two payments are written down together, after the second: a crash in it makes the first again.",
			"F063", "survives-restart", clerks(jobPolicy(), func(c *clerk) { c.batches = true })},
		{"budget-begins-anew", "The time that the job may take is counted from the start of the worker.",
			testingRetries, "within-budget", clerks(jobBudget(), func(c *clerk) { c.budget, c.agesAnew = jobBudget().Budget, true })},
		{"blind-after-the-restart", "A payment without a key that was under way at the crash is made again, as if it had not been.",
			"F063", "one-effect", clerks(jobUnkeyed(), func(c *clerk) { c.unkeyed, c.blind = true, true })},
		{"restarts-without-asking", "After a restart the transfer that was under way is sent again with its key, and the bank is not asked first.",
			retrySafe, "reconciled-first", clerks(jobAsking(), func(c *clerk) { c.asks, c.blind = true, true })},
		{"spent-counters-revived", "An operator revives a job that was given up, with the attempts and the age that it died of.",
			"F062", "operator-retry", revivable(jobPolicy(), func(c *clerk) { c.keepsCount = true })},
		{"revived-with-a-new-key", "A job that an operator revives is written anew, and what the bank may have done for the old key it does again.",
			"F033", "operator-retry", revivable(jobPolicy(), func(c *clerk) { c.rekeys = true })},
		{"memory-job-goes-on", "The retries are in memory, and whatever is found begun after a restart is begun again.",
			testingRetries, "interrupted-auditable", rememberers(func(m *rememberer) { m.goesOn = true })},
		{"memory-job-vanishes", "The retries are in memory, and so is the only word of the job: after a restart nobody knows of it.",
			testingRetries, "interrupted-auditable", rememberers(func(m *rememberer) { m.vanishes = true })},
	}
}

// rightJobs are the workers that keep their word over a restart.
func rightJobs() []Specimen {
	return []Specimen{
		{Name: "persisted-job", Adapter: revivable(jobPolicy(), func(*clerk) {})},
		{Name: "persisted-job-with-a-budget", Adapter: revivable(jobBudget(), func(c *clerk) { c.budget = jobBudget().Budget })},
		{Name: "persisted-job-without-a-key", Adapter: revivable(jobUnkeyed(), func(c *clerk) { c.unkeyed = true })},
		{Name: "persisted-job-that-asks", Adapter: revivable(jobAsking(), func(c *clerk) { c.asks = true })},
		{Name: "persisted-job-with-a-lease", Adapter: revivable(jobPolicy(), func(c *clerk) { c.lease = limit })},
		{Name: "persisted-job-with-jitter", Adapter: revivable(jobJitter(invariants.FullJitter), func(c *clerk) { c.jitter = rand.N })},
		{Name: "persisted-job-over-http", Adapter: clerksOnline()},
		{Name: "memory-job-that-tells", Adapter: rememberers(func(*rememberer) {})},
	}
}

// jobPolicy is keyedPolicy over restarts.
func jobPolicy() invariants.Policy {
	p := keyedPolicy()
	p.ID, p.Restart = "job/v1", invariants.RestartResumes
	return p
}

// jobBudget gives a job ten seconds, restarts included.
func jobBudget() invariants.Policy {
	p := jobPolicy()
	p.ID, p.MaxAttempts, p.Budget = "job/v2", 4, 10*time.Second
	return p
}

func jobJitter(j invariants.Jitter) invariants.Policy {
	p := jobPolicy()
	p.ID, p.Backoff.Jitter = "job/v6", j
	return p
}

func jobUnkeyed() invariants.Policy {
	p := unkeyedPolicy()
	p.ID, p.Restart = "job/v3", invariants.RestartResumes
	return p
}

func jobAsking() invariants.Policy {
	p := transferPolicy()
	p.ID, p.Restart = "job/v4", invariants.RestartResumes
	return p
}

var (
	errBankSlow    = errors.New("bank: too many requests, wait")
	errUnknown     = errors.New("job: nobody knows what became of the last attempt")
	errNoJob       = errors.New("job: there is none of this name")
	errInterrupted = errors.New("job: interrupted by a restart")
	errLate        = errors.New("job: out of time")
)

// waitError is a busy bank that says how long.
type waitError struct{ after time.Duration }

func (e *waitError) Error() string { return errBankSlow.Error() }

func jobFailures() faultsim.Errors {
	errs := bankFailures()
	errs[trace.Throttled] = faultsim.Hinted(func(hint time.Duration) error { return &waitError{hint} })
	return errs
}

// clerksOnline has clerks whose bank is reached over HTTP.
func clerksOnline() faultsim.Adapter {
	p := jobPolicy()
	p.ID, p.Key, p.Retry = "job/v7", "Idempotency-Key", append(p.Retry, trace.NotConnected)
	build := func(s *faultsim.Stage) faultsim.Action {
		client := s.Client(faultsim.Route{Tool: "bank", Method: http.MethodPost, Hints: []faultsim.HintForm{}})
		c := &clerk{disk: s.Disk(), start: time.Now(), bank: func(ctx context.Context, p payment) (receipt, error) { return pay(ctx, client, p) }}
		return func(ctx context.Context) (any, error) { return c.pay(ctx, trace.ActionName(ctx), false) }
	}
	return faultsim.Adapter{Name: "pay", Policy: p, Want: receipt{7}, Subject: build, Resume: build}
}

// pay is one payment over HTTP.
func pay(ctx context.Context, client *http.Client, p payment) (receipt, error) {
	key := p.Key
	p.Key = ""
	body, err := json.Marshal(p)
	if err != nil {
		return receipt{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://bank/payments", bytes.NewReader(body))
	if err != nil {
		return receipt{}, err
	}
	req.Header.Set("Idempotency-Key", key)
	resp, err := client.Do(req)
	if err != nil {
		return receipt{}, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return receipt{}, err
	case resp.StatusCode == http.StatusTooManyRequests:
		return receipt{}, &waitError{}
	case resp.StatusCode == http.StatusRequestTimeout || resp.StatusCode >= http.StatusInternalServerError:
		return receipt{}, errBankDown
	case resp.StatusCode != http.StatusOK:
		return receipt{}, errBankInvalid
	case !json.Valid(raw):
		return receipt{}, errBankInvalid
	}
	return receipt{p.Invoice}, nil
}

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
		return fmt.Errorf("%w: %s", errLate, j.Last)
	}
	if err := sleep(ctx, time.Until(j.Next)); err != nil {
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
	r, err := limited(ctx, func(ctx context.Context) (receipt, error) { return c.bank(ctx, bill) })
	if c.countsLate {
		j.Attempts++
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

// A rememberer keeps its retries in memory, and writes down that a payment has
// begun and what became of it.
type rememberer struct {
	payer
	disk             *faultsim.Disk
	goesOn, vanishes bool
}

func rememberers(change func(*rememberer)) faultsim.Adapter {
	build := func(s *faultsim.Stage) *rememberer {
		m := &rememberer{payer: payer{bank: faultsim.Tool(s, "bank", settle, bankFailures())}, disk: s.Disk()}
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
	r, err := repeat(own, func(ctx context.Context, _ int) (receipt, error) { return m.bank(ctx, bill) })
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
	}
	return receipt{}, errors.New(string(word))
}
