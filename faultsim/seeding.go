package faultsim

import (
	crypto "crypto/rand"
	"encoding/binary"
	"math/rand"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"testing/cryptotest"
)

// The sources of math/rand and crypto/rand belong to the process. A trial that
// seeds them must have the process for itself.

// process is held by a trial that seeds, and shared by all others.
var process sync.RWMutex

// A claim is a trial's hold on the process. It ends once, whoever ends it: a trial
// whose clock stands still is given up by another goroutine.
type claim struct {
	hold   atomic.Int32
	left   atomic.Bool // the trial was given up, and its seeds are undone when it ends
	seeded bool        // the random numbers of the trial follow from its schedule
}

const (
	holdNone int32 = iota
	holdShare
	holdWhole // nothing else runs a trial
)

// seeds reports whether the trial's random numbers are to follow from its schedule.
func (x *trial) seeds() bool { return !x.idle && !x.a.Unseeded }

// take claims the whole process where it is wanted and free, and else a share.
func (c *claim) take(whole bool) {
	if whole && leftBehind.Load() == 0 && process.TryLock() {
		c.hold.Store(holdWhole)
		return
	}
	process.RLock()
	c.hold.Store(holdShare)
}

// nested reports whether the caller is in a bubble and would have to wait for the process
// there: for the end of the trial that it is a part of. Other callers may well wait.
func nested() bool {
	if process.TryRLock() {
		process.RUnlock()
		return false
	}
	return bubbleNumber() != ""
}

// share gives the rest of the process back.
func (c *claim) share() {
	if c.hold.CompareAndSwap(holdWhole, holdNone) {
		process.Unlock()
		c.take(false)
	}
}

// drop ends the claim.
func (c *claim) drop() {
	switch c.hold.Swap(holdNone) {
	case holdShare:
		process.RUnlock()
	case holdWhole:
		process.Unlock()
	}
}

// leftBehind counts the trials that were given up and have seeded the process. When
// such a trial ends after all, it undoes what it did, which no other may have done
// meanwhile.
var leftBehind atomic.Int32

// giveUp drops the claim of a trial that does not end.
func (c *claim) giveUp() {
	if c.hold.Load() == holdWhole && !c.left.Swap(true) {
		leftBehind.Add(1)
	}
	c.drop()
}

// ends notes that the trial has ended, whether or not somebody waited for it.
func (c *claim) ends() {
	if c.left.Swap(false) {
		leftBehind.Add(-1)
	}
}

// seed seeds what can be seeded, for as long as the bubble's test lasts. A test
// that runs in parallel with others, or has a parent that does, has no process for
// itself: cryptotest panics there, and in a binary built with a cryptographic
// module that takes no other source.
func (c *claim) seed(bubble *testing.T, seed uint64) {
	if c.hold.Load() != holdWhole {
		return
	}
	defer func() {
		if recover() != nil {
			c.share()
		}
	}()
	cryptotest.SetGlobalRandom(bubble, seed)
	seedMath(int64(seed))
	c.seeded = true
}

// seedMath seeds the functions of math/rand, which Go does since 1.24 only where
// GODEBUG says so. Those of math/rand/v2 cannot be seeded.
func seedMath(seed int64) {
	before, set := os.LookupEnv("GODEBUG")
	now := "randseednop=0"
	if before != "" {
		now = before + "," + now
	}
	if os.Setenv("GODEBUG", now) != nil {
		return
	}
	rand.Seed(seed) //nolint:staticcheck // there is no other way to seed code that is not ours
	if set {
		os.Setenv("GODEBUG", before)
	} else {
		os.Unsetenv("GODEBUG")
	}
}

// scattered is the last test after which math/rand is left to chance again.
var scattered struct {
	sync.Mutex
	t *testing.T
}

// scatter leaves math/rand to chance again when the test is over: names and ports
// that other tests draw from it must not be the same in each process. crypto/rand
// is by then what it was.
func scatter(t *testing.T) {
	scattered.Lock()
	defer scattered.Unlock()
	if scattered.t == t {
		return
	}
	scattered.t = t
	t.Cleanup(func() {
		scattered.Lock()
		defer scattered.Unlock()
		if scattered.t == t {
			scattered.t = nil
		}
		var b [8]byte
		_, _ = crypto.Read(b[:])
		seedMath(int64(binary.LittleEndian.Uint64(b[:])))
	})
}
