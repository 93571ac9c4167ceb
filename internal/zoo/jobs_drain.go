package zoo

import (
	"context"
	"errors"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// drains are workers that are told to stop.
func drains() []Specimen {
	return []Specimen{
		{"drain-taken-for-a-cancel", "A worker that is told to stop cancels its context, and the job that was under way is filed as cancelled.",
			testingRetries, "drain-hands-back", draining(jobDrained(invariants.DrainCounts), func(c *clerk) { c.cancels = true })},
		{"given-up-in-the-wait", "A worker that is told to stop in a wait fails the job with its last error, since no time is left for another attempt.",
			testingRetries, "drain-hands-back", draining(jobDrained(invariants.DrainFree), func(c *clerk) { c.free, c.givesUp = true, true })},
		{"cut-off-and-tried-again", "The call that the signal has ended reads as a failure that passes, and the worker which is to stop tries again.",
			testingRetries, "no-attempt-while-draining", draining(jobDrained(""), func(c *clerk) { c.retries = true })},
		{"signal-between-jobs-only", "The worker looks at the signal when it takes the next job up, and meanwhile goes on with the attempts of this one.",
			testingRetries, "no-attempt-while-draining", draining(jobDrained(""), func(c *clerk) { c.stopping = context.Background() })},
		{"drain-spends-an-attempt", "A job that is handed back is to be as before, and the attempt that was cut off stays counted.",
			testingRetries, "drain-counted", draining(jobDrained(invariants.DrainFree), func(*clerk) {})},
		{"drain-refunds-an-attempt", "An attempt counts when it begins, and a worker that is told to stop takes it off again, so that a job which outlasts every deployment never ends.",
			testingRetries, "drain-counted", draining(jobDrained(invariants.DrainCounts), func(c *clerk) { c.free = true })},
		{"handed-back-as-due", "A job that is handed back is free for anybody at once, whatever its backoff.",
			testingRetries, "survives-restart", draining(jobDrained(""), func(c *clerk) { c.frees = true })},
		{"cut-off-and-forgotten", "A payment without a key that the signal has cut off is handed back as if it had never begun.",
			"F063", "one-effect", draining(jobDrainedUnkeyed(), func(c *clerk) { c.unkeyed, c.free, c.forgets = true, true, true })},
		{"memory-job-cancelled-by-the-drain", "The retries are in memory, and what a drain cuts off is told as cancelled by its caller.",
			testingRetries, "drain-hands-back", rememberersDraining(func(m *rememberer) { m.cancels = true })},
	}
}

// rightDrains are the workers that stop as they should.
func rightDrains() []Specimen {
	counts, free := jobDrained(invariants.DrainCounts), jobDrained(invariants.DrainFree)
	asking := jobAsking()
	asking.ID, asking.Drain = "job/v11", invariants.DrainFree
	return []Specimen{
		{Name: "drained-job-that-counts", Adapter: draining(counts, func(*clerk) {})},
		{Name: "drained-job-that-is-free", Adapter: draining(free, func(c *clerk) { c.free = true })},
		{Name: "drained-job-that-counts-undeclared", Adapter: draining(jobDrained(""), func(*clerk) {})},
		{Name: "drained-job-that-is-free-undeclared", Adapter: draining(jobDrained(""), func(c *clerk) { c.free = true })},
		{Name: "drained-job-that-waits-for-the-answer", Adapter: draining(free, func(c *clerk) { c.patient = true })},
		{Name: "drained-job-with-a-budget", Adapter: draining(drained(jobBudget(), invariants.DrainFree), func(c *clerk) { c.free, c.budget = true, jobBudget().Budget })},
		{Name: "drained-job-without-a-key", Adapter: draining(jobDrainedUnkeyed(), func(c *clerk) { c.unkeyed, c.free = true, true })},
		{Name: "drained-job-that-asks", Adapter: draining(asking, func(c *clerk) { c.asks, c.free = true, true })},
		{Name: "drained-job-with-a-lease", Adapter: draining(counts, func(c *clerk) { c.lease = limit })},
		{Name: "drained-job-over-http", Adapter: drainingOnline()},
		{Name: "memory-job-that-is-drained", Adapter: rememberersDraining(func(*rememberer) {})},
	}
}

func drained(p invariants.Policy, d invariants.DrainedAttempt) invariants.Policy {
	p.ID, p.Drain = p.ID+"+drained "+string(d), d
	return p
}

func jobDrained(d invariants.DrainedAttempt) invariants.Policy { return drained(jobPolicy(), d) }

func jobDrainedUnkeyed() invariants.Policy { return drained(jobUnkeyed(), invariants.DrainFree) }

var errGivenBack = errors.New("job: the worker is told to stop")

func givenBack(err error) bool { return errors.Is(err, errGivenBack) }

// draining are clerks that are told to stop.
func draining(p invariants.Policy, change func(*clerk)) faultsim.Adapter {
	build := func(s *faultsim.Stage) faultsim.Action {
		c := newClerk(s, func(c *clerk) { c.stopping = s.Draining(); change(c) })
		return func(ctx context.Context) (any, error) { return c.pay(ctx, trace.ActionName(ctx), false) }
	}
	return faultsim.Adapter{Name: "pay", Policy: p, Want: receipt{7}, Subject: build, Resume: build, HandedBack: givenBack}
}

// A drill is what a clerk does when it is told to stop. The zero drill is deaf.
type drill struct {
	stopping context.Context // ends with the signal
	patient  bool            // it waits for the answer
	free     bool            // what it cuts off does not count

	cancels, givesUp, retries, frees, forgets bool
}

// told reports whether the clerk has to stop, and knows.
func (n *drill) told() bool { return n.stopping != nil && n.stopping.Err() != nil && !n.retries }

// until ends what the clerk does with the signal.
func (n *drill) until(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	unhook := context.AfterFunc(n.stopping, cancel)
	return ctx, func() { unhook(); cancel() }
}

// attempting is until for an attempt.
func (n *drill) attempting(ctx context.Context) (context.Context, func()) {
	if n.stopping == nil || n.patient || n.stopping.Err() != nil {
		return ctx, func() {}
	}
	return n.until(ctx)
}

// rest sleeps until it is time, or the clerk has to stop.
func (c *clerk) rest(ctx context.Context, name string, j *job) error {
	if c.stopping == nil || c.retries {
		return sleep(ctx, time.Until(j.Next))
	}
	if !c.told() {
		waiting, done := c.until(ctx)
		err := sleep(waiting, time.Until(j.Next))
		if done(); !c.told() {
			return err
		}
	}
	switch {
	case c.givesUp:
		j.Over = true
		return errors.Join(errors.New(j.Last), c.save(ctx, name, j))
	case c.frees:
		j.Next = c.start
	}
	return errors.Join(errGivenBack, c.save(ctx, name, j))
}

// stop is what becomes of an attempt that the signal has cut off. Whether the bank
// has paid is not known, so the job keeps that one was under way.
func (c *clerk) stop(ctx context.Context, name string, j *job) error {
	switch {
	case c.cancels:
		j.Over, j.Last = true, context.Canceled.Error()
		return errors.Join(context.Canceled, c.save(ctx, name, j))
	case c.free:
		j.Attempts--
	}
	if c.forgets {
		j.Flying = false
	}
	return errors.Join(errGivenBack, c.save(ctx, name, j))
}

// drainingOnline has such clerks whose bank is reached over HTTP.
func drainingOnline() faultsim.Adapter {
	a := clerksOnline()
	build := func(s *faultsim.Stage) faultsim.Action {
		c := clerkOnline(s)
		c.stopping, c.free = s.Draining(), true
		return func(ctx context.Context) (any, error) { return c.pay(ctx, trace.ActionName(ctx), false) }
	}
	a.Policy, a.Subject, a.Resume, a.HandedBack = drained(a.Policy, invariants.DrainFree), build, build, givenBack
	return a
}

// rememberersDraining are told to stop, and end what they have under way.
func rememberersDraining(change func(*rememberer)) faultsim.Adapter {
	a := rememberers(change)
	a.HandedBack = func(error) bool { return false }
	reason := a.Reason
	a.Reason = func(err error) trace.Reason {
		if errors.Is(err, context.Canceled) {
			return trace.ReasonCancelled
		}
		return reason(err)
	}
	return a
}
