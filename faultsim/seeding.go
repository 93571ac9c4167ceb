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

// A claim is a trial's hold on the process.
type claim struct {
	whole  atomic.Bool // nothing else runs a trial
	seeded bool        // the random numbers of the trial follow from its schedule
}

// seeds reports whether the trial's random numbers are to follow from its schedule.
func (x *trial) seeds() bool { return !x.idle && !x.a.Unseeded }

// take claims the whole process where it is free and wanted, and else a share.
func (c *claim) take(whole bool) {
	if whole && process.TryLock() {
		c.whole.Store(true)
		return
	}
	process.RLock()
}

// share gives the rest of the process back.
func (c *claim) share() {
	if c.whole.CompareAndSwap(true, false) {
		process.Unlock()
		process.RLock()
	}
}

// drop ends the claim.
func (c *claim) drop() {
	if c.whole.CompareAndSwap(true, false) {
		process.Unlock()
	} else {
		process.RUnlock()
	}
}

// seed seeds what can be seeded, for as long as the bubble's test lasts. A test
// that runs in parallel with others, or has a parent that does, has no process for
// itself: cryptotest panics there, and in a binary built with a cryptographic
// module that takes no other source.
func (c *claim) seed(bubble *testing.T, seed uint64) {
	if !c.whole.Load() {
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

// scattered is the last test after which math/rand is left to chance again. It is
// guarded by the whole of process.
var scattered *testing.T

// scatter leaves math/rand to chance again when the test is over: names and ports
// that other tests draw from it must not be the same in each process. (crypto/rand
// is by then what it was.) The trial has the whole process.
func scatter(t *testing.T) {
	if scattered == t {
		return
	}
	scattered = t
	t.Cleanup(func() {
		process.Lock()
		defer process.Unlock()
		if scattered == t {
			scattered = nil
		}
		var b [8]byte
		_, _ = crypto.Read(b[:])
		seedMath(int64(binary.LittleEndian.Uint64(b[:])))
	})
}
