package invariants

import (
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// Refresh is what the code does about credentials that expire. The zero
// Refresh is nothing: an unauthenticated answer is a refusal.
//
// With Once, an unauthenticated answer is mended by one refresh (a call of
// trace.RoleAuth) and one repeat with what it brought (field case F023). A
// second unauthenticated answer in a row is a refusal: the account, and not the
// age of the credential, is what is wrong. Where another answer lies between
// the two, programs differ, and both are legal. The repeat may come at once; one
// that takes the wait of the backoff is as good.
type Refresh struct {
	Once bool

	// Credential says where a call carries it: the dotted path of a field of the
	// arguments, or over HTTP the name of a header. It is then no part of what
	// is compared as arguments. Empty: it is not seen, and whether the repeat
	// carries the new one is not judged.
	Credential string

	// Extra says that the repeat is beyond MaxAttempts, as with a client that
	// refreshes below the loop. False: it is an attempt like any other. Libraries
	// differ.
	Extra bool

	// Shared says that callers whose one credential was refused share one
	// refresh. False: each may make its own.
	Shared bool

	// Early says that credentials are also fetched before they expire, so that
	// a refresh without a refusal is no fault.
	Early bool
}

// mends reports whether a refresh follows an answer of class c.
func (p *Policy) mends(c trace.Class) bool { return p.Refresh.Once && c == trace.Unauthenticated }

// mend is the decision after an unauthenticated answer: one refresh and one
// repeat.
func (s *Series) mend(o *trace.Outcome, at time.Duration) Decision {
	p, again := s.p, s.unauthenticated
	used := p.MaxAttempts != Unlimited && s.attempts >= p.MaxAttempts
	if p.Refresh.Extra && !again {
		s.attempts, used = s.attempts-1, false
	}
	end := stop(trace.ReasonRefused, at)
	end.also = s.overdue(at) | reasonSet(trace.ReasonEscalated)
	if used {
		end.also |= reasonSet(trace.ReasonExhausted)
	}
	if s.unclear {
		end.also |= reasonSet(trace.ReasonOutcomeUnknown)
	}
	if again || used {
		return end
	}
	w := s.p.window(s.failures, s.waited, o)
	w.lo = 0
	d := s.fit(w, at, end.also)
	if s.mended > 0 && d.Do == Go {
		d.Do, d.Reason, d.EndLo, d.EndHi = Either, end.Reason, at, at
	}
	s.mended++
	return d
}

// unmended widens a window by what a refresh, or a correction, can do to the count of failures:
// in one program it is a failure as any other, in another it is none.
func (s *Series) unmended(w wait, o *trace.Outcome) wait {
	mended := s.mended
	if s.corrected {
		mended++
	}
	if mended == 0 {
		return w
	}
	less := s.p.window(max(1, s.failures-mended), s.waited, o)
	w.lo, w.hi = min(w.lo, less.lo), max(w.hi, less.hi)
	return w
}

func (v *validator) refresh(p *Policy) {
	r := &p.Refresh
	v.want(r.Once || !r.Extra && !r.Shared && !r.Early, "Refresh.Once", "is false while other fields say how credentials are refreshed: set it, or clear them")
	v.want(!r.Once || !p.Retries(trace.Unauthenticated), "Refresh.Once", "is set, and Retry holds unauthenticated too: it is mended by one refresh or retried like a passing failure; take one out")
	v.want(!r.Once || r.Extra || p.MaxAttempts != 1, "Refresh.Once", "is set, and MaxAttempts is 1, which leaves no room for the repeat: set Refresh.Extra, or allow a second attempt")
	v.want(!r.Shared || r.Credential != "", "Refresh.Shared", "is set, and Refresh.Credential is empty, so that nobody sees whose credential was refused: say where it travels")
}
