package faultsim

import (
	"errors"
	"fmt"
	"strconv"
	"time"
)

// A Bucket is a token bucket: a tool grants a call for each token, holds Burst of
// them at most and at first, and gets another one Every so often, fractions included.
// A call that finds less than one is throttled, takes nothing, and asks for a wait
// until there is one. Calls that arrive in an outage take nothing either. It is the
// limiter of most services; a [Quota] is what counts in fixed windows.
type Bucket struct {
	Tool  string // Main: the adapter's first tool
	Burst int
	Every time.Duration
}

func (b *Bucket) validate() error {
	switch {
	case b.Tool == "":
		return errors.New("a bucket has no Tool: name one, or say Main for the first")
	case b.Burst < 1 || b.Every <= 0:
		return fmt.Errorf("a bucket of %s: Burst is %d and Every is %v: both must be more than 0", b.Tool, b.Burst, b.Every)
	case b.Burst > maxAttempt:
		return fmt.Errorf("a bucket of %s: Burst is %d: a trial makes fewer calls than %d", b.Tool, b.Burst, maxAttempt)
	case b.Every > longestTime/time.Duration(b.Burst):
		return fmt.Errorf("a bucket of %s: Burst is %d and Every is %v, so that it is not full again in a year, the most that a trial plays (%v): make one of them smaller", b.Tool, b.Burst, b.Every, longestTime)
	}
	return nil
}

// A level is how full a bucket is: the instant from which on it is full. It is the
// generic cell rate algorithm of ATM (ITU-T I.371), which needs no fractions.
type level struct{ full time.Duration }

// take is how long a call that arrives at the instant has to wait for a token; 0: it
// has taken one.
func (l *level) take(b *Bucket, at time.Duration) time.Duration {
	if wait := l.next(b) - at; wait > 0 {
		return wait
	}
	l.full = max(l.full, at) + b.Every
	return 0
}

// next is the instant from which on there is a token.
func (l *level) next(b *Bucket) time.Duration {
	return l.full - time.Duration(b.Burst-1)*b.Every
}

// waits is how long the buckets of the tool let a call that arrives at the instant
// wait for a token; 0: they grant it.
func (c *climate) waits(is func(name string) bool, at time.Duration) (wait time.Duration) {
	if c.levels == nil {
		c.levels = make([]level, len(c.s.Buckets))
	}
	for i := range c.s.Buckets {
		if b := &c.s.Buckets[i]; is(b.Tool) {
			wait = max(wait, c.levels[i].take(b, at))
		}
	}
	return wait
}

// bucket reads "bucket TOOL N every=".
func (p *parser) bucket(words []string) error {
	if len(words) != 4 {
		return p.errorf("a bucket reads bucket TOOL N every=, such as %q", "bucket weather 5 every=200ms")
	}
	n, err := strconv.Atoi(words[2])
	if err != nil || n < 1 || n > maxAttempt {
		return p.errorf("the bucket holds %q tokens, which is no number from 1 to %d", words[2], maxAttempt)
	}
	b := Bucket{Tool: words[1], Burst: n}
	err = p.options(words[3:], func(name, value string) (err error) {
		if name != "every" {
			return fmt.Errorf("unknown option %q of a bucket; known is every=", name)
		}
		b.Every, err = positive(name, value)
		return err
	})
	p.s.Buckets = append(p.s.Buckets, b)
	return err
}
