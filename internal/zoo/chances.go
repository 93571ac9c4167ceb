package zoo

import (
	"context"
	crypto "crypto/rand"
	"encoding/binary"
	mathv1 "math/rand"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
)

// Chances are subjects that do not do the same twice, or look as if they did not,
// with or without an attempt too many. They are no part of the kill table: what
// counts is what is said of their runs.
func Chances(tooMany bool) []Specimen {
	n := attempts
	if tooMany {
		n++
	}
	times := func() int { return n }
	list := []Specimen{
		{Name: "order-of-a-map", Wrong: "The region is the first one of a map.", Adapter: weather(byChance(times, growing, anyRegion))},
		{Name: "jitter-of-crypto", Wrong: "Jitter comes from crypto/rand.", Adapter: jitterOf(times, fromCrypto)},
		{Name: "jitter-of-math", Wrong: "Jitter comes from math/rand.", Adapter: jitterOf(times, mathv1.Uint64)},
		{Name: "jitter-of-math-v2", Wrong: "Jitter comes from math/rand/v2.", Adapter: jitterOf(times, rand.Uint64)},
		{Name: "jitter-declared", Wrong: "The same, and the adapter says so.", Adapter: unseeded(jitterOf(times, rand.Uint64))},
		{Name: "clock-of-the-package", Wrong: "The question tells how long the program has been up.", Adapter: weather(byChance(times, growing, uptime))},
	}
	if !tooMany {
		return list
	}
	return append(list,
		Specimen{Name: "select-of-two", Wrong: "Which of two settings counts is for a select to say.", Adapter: weather(byChance(eitherLimit, growing, nil))},
		Specimen{Name: "luck-of-crypto", Wrong: "A random byte says whether there is one more attempt.", Adapter: weather(byChance(luckyLimit, growing, nil))})
}

func unseeded(a faultsim.Adapter) faultsim.Adapter {
	a.Unseeded = true
	return a
}

// byChance is a loop of which something is left to chance.
func byChance(limit func() int, wait func(n int) time.Duration, place func() string) ask {
	return func(ctx context.Context, call tool) (forecast, error) {
		q, most := pune, limit()
		if place != nil {
			q.City += " " + place()
		}
		for n := 1; ; n++ {
			if err := ctx.Err(); err != nil {
				return forecast{}, err
			}
			f, err := once(ctx, call, q)
			if err == nil {
				return f, nil
			}
			if n == most || final(ctx, err) {
				return forecast{}, err
			}
			if err := sleep(ctx, wait(n)); err != nil {
				return forecast{}, err
			}
		}
	}
}

func growing(n int) time.Duration { return base << (n - 1) }

// jitterOf is the loop with full jitter from a source.
func jitterOf(limit func() int, draw func() uint64) faultsim.Adapter {
	wait := func(n int) time.Duration { return time.Duration(draw() % uint64(interval(n)+1)) }
	return agents(jittered(attempts, invariants.FullJitter), failures(), byChance(limit, wait, nil))
}

func fromCrypto() uint64 {
	var b [8]byte
	_, _ = crypto.Read(b[:])
	return binary.LittleEndian.Uint64(b[:])
}

func anyRegion() string {
	for region := range map[string]bool{"east": true, "north": true, "south": true, "west": true} {
		return region
	}
	return ""
}

var up = time.Now()

func uptime() string { return strconv.FormatInt(int64(time.Since(up)), 10) }

func eitherLimit() int {
	low, high := make(chan int, 1), make(chan int, 1)
	low <- attempts
	high <- attempts + 1
	select {
	case n := <-low:
		return n
	case n := <-high:
		return n
	}
}

func luckyLimit() int { return attempts + int(fromCrypto()%2) }
