package scripted_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/scripted"
	"github.com/stretchr/testify/require"
)

func TestJitterIsTheSameInEachShape(t *testing.T) {
	for _, tt := range []struct {
		j        *scripted.Jitter
		below, n int64
	}{{scripted.Least(), 0, 0}, {scripted.Greatest(), 99, 99}} {
		require.Equal(t, tt.n, tt.j.Int64N(100))
		require.Equal(t, tt.n, rand.New(tt.j).Int64N(100))
		require.Equal(t, tt.below, int64(tt.j.Float64()*100))
	}
}

// Both ends of full jitter over a second.
func ExampleJitter() {
	wait := func(random func(n int64) int64) time.Duration { return time.Duration(random(int64(time.Second) + 1)) }
	fmt.Println(wait(scripted.Least().Int64N), wait(scripted.Greatest().Int64N))
	// Output: 0s 1s
}
