// Package batch sends invitations through a mail service that takes several in
// one request and may do some of them only. Its report has two lists, what was
// done and what failed with the reason, so that whoever reads it can act on the
// failures alone.
//
// Three things keep an invitation single. A further request holds exactly those
// that failed in a way that may pass, and never one that was done. An
// invitation whose fate is unknown is reported and not sent again. And the
// report speaks of every invitation once, also where the service forgets one.
package batch

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// An Invite is one invitation. Its ID is its own in a batch.
type Invite struct {
	ID string `json:"id"`
	To string `json:"to"`
}

// An Answer is what the service says of one invitation.
type Answer struct {
	ID  string
	Err error // nil: it is on its way
}

// A Service takes several invitations in one request. Its error means that the
// request failed as a whole; without one, each answer must be read.
type Service func(context.Context, []Invite) ([]Answer, error)

// The service's errors, of requests and of single invitations.
var (
	ErrBusy      = errors.New("mail: too many requests")            // not sent
	ErrDown      = errors.New("mail: unavailable, nothing is sent") // not sent
	ErrAddress   = errors.New("mail: invalid address")              // final
	ErrForbidden = errors.New("mail: not permitted")                // final
)

// The fates of invitations of which the service says nothing.
var (
	errNoAnswer = errors.New("the service did not say what became of it")
	errNotTried = errors.New("the time was over before the first request")
)

const (
	attempts = 3 // requests with the same invitation, the first included
	base     = 200 * time.Millisecond
	timeout  = 5 * time.Second // of one request
)

// Send sends the invitations, each at most once.
func (s Service) Send(ctx context.Context, invites []Invite) Report {
	r := Report{Done: []string{}, Failed: []Failure{}} // empty lists, where the model would read null
	if err := ctx.Err(); err != nil {
		r.fail(invites, func(string) error { return fmt.Errorf("%w: %w", errNotTried, err) })
		return r
	}
	wait := base
	for n := 1; len(invites) > 0; n++ {
		fate := s.once(ctx, invites)
		invites = r.file(invites, fate)
		if n == attempts || len(invites) > 0 && sleep(ctx, wait) != nil {
			r.fail(invites, fate)
			break
		}
		wait *= 2
	}
	return r
}

// once is one request, under a time limit of its own. It returns what became
// of each invitation in it.
func (s Service) once(ctx context.Context, invites []Invite) (fate func(id string) error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	answers, err := s(ctx, invites)
	if err != nil {
		return func(string) error { return err }
	}
	told := make(map[string]error, len(answers))
	for _, a := range answers {
		told[a.ID] = a.Err
	}
	return func(id string) error {
		if err, ok := told[id]; ok {
			return err
		}
		return errNoAnswer
	}
}

// passing reports whether the failure may pass. Both kinds prove that nothing
// was sent; after any other, such as a timeout, it may have been.
func passing(err error) bool { return errors.Is(err, ErrBusy) || errors.Is(err, ErrDown) }

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() // it may have ended in the same instant
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A Report is what became of a batch. Each invitation is in one of its lists.
type Report struct {
	Done   []string  `json:"done"`
	Failed []Failure `json:"failed"`
}

// A Failure is an invitation that is not known to be sent.
type Failure struct {
	ID     string `json:"id"`
	Reason Reason `json:"reason"`
	Err    error  `json:"-"` // for the log
}

// A Reason says what can be done with an invitation that failed.
type Reason string

// The reasons.
const (
	Later   Reason = "not sent, it may work later"
	Correct Reason = "not sent, the address is invalid"
	Refused Reason = "not sent, it is not permitted"
	Unknown Reason = "it may have been sent, check before sending it again"
)

// file takes what is final of a request into the report, and returns the
// invitations for the next one.
func (r *Report) file(sent []Invite, fate func(id string) error) (again []Invite) {
	for _, invite := range sent {
		switch err := fate(invite.ID); {
		case err == nil:
			r.Done = append(r.Done, invite.ID)
		case passing(err):
			again = append(again, invite)
		default:
			r.fail([]Invite{invite}, fate)
		}
	}
	return again
}

func (r *Report) fail(invites []Invite, fate func(id string) error) {
	for _, invite := range invites {
		err := fate(invite.ID)
		r.Failed = append(r.Failed, Failure{invite.ID, reasonOf(err), err})
	}
}

func reasonOf(err error) Reason {
	switch {
	case passing(err), errors.Is(err, errNotTried):
		return Later
	case errors.Is(err, ErrAddress):
		return Correct
	case errors.Is(err, ErrForbidden):
		return Refused
	}
	return Unknown
}

// Err is nil where every invitation was sent. Otherwise it names those that
// were not, for callers that go by an error.
func (r Report) Err() error {
	var failed []error
	for _, f := range r.Failed {
		failed = append(failed, fmt.Errorf("invitation %s: %w", f.ID, f.Err))
	}
	return errors.Join(failed...)
}
