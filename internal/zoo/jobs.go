package zoo

import (
	"errors"
	"math/rand/v2"
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
		{"age-kept-over-the-restart", "Each start of the worker is to give a job all of its time again, and the age is read off the day that it was made.",
			testingRetries, "survives-restart", clerks(jobBudgetAnew(), func(c *clerk) { c.budget = jobBudget().Budget })},
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
		{Name: "persisted-job-with-a-budget-for-each-start", Adapter: revivable(jobBudgetAnew(), func(c *clerk) { c.budget, c.agesAnew = jobBudget().Budget, true })},
		{Name: "persisted-job-cut-by-its-budget", Adapter: revivable(jobCut(jobBudget()), func(c *clerk) { c.budget, c.cuts = jobCut(jobBudget()).Budget, true })},
		{Name: "persisted-job-cut-by-its-budget-for-each-start", Adapter: revivable(jobCut(jobBudgetAnew()), func(c *clerk) { c.budget, c.cuts, c.agesAnew = jobCut(jobBudget()).Budget, true, true })},
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

// jobBudgetAnew gives it ten seconds from each start of the worker.
func jobBudgetAnew() invariants.Policy {
	p := jobBudget()
	p.ID, p.RestartBudget = "job/v8", invariants.BudgetBeginsAnew
	return p
}

// jobCut has a short budget that ends what is under way, an attempt or a wait.
func jobCut(p invariants.Policy) invariants.Policy {
	p.ID, p.Budget, p.BudgetCuts, p.BudgetLate = p.ID+"+cut", 5*time.Second, true, invariants.LateWait
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
