package faultsim

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// orderTwice makes the call twice at once, and returns the two results.
func orderTwice(ctx context.Context, tool trace.Func[purchase, int], o purchase) (any, error) {
	var got [2]int
	var errs [2]error
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() { got[i], errs[i] = tool(ctx, o) })
	}
	wg.Wait()
	return got, errors.Join(errs[:]...)
}

// A tool that takes its time for the work of a key does it once, for whoever asks.
func TestWorkOfOneKeyAtOnceIsDoneOnce(t *testing.T) {
	times := 0
	slow := func(context.Context, purchase) (int, error) {
		times++
		time.Sleep(10 * time.Millisecond)
		return times, nil
	}
	tr := Trial(t, ordering("k1", slow, orderTwice), One()).Trace
	require.Len(t, effects(tr), 1)
	require.Equal(t, "[1,1]", string(tr.Actions()[0].Result))
	require.Equal(t, 1, times)

	// Of work that fails nothing is kept: the next one does it.
	fails := func(context.Context, purchase) (int, error) {
		times++
		time.Sleep(10 * time.Millisecond)
		if times == 2 {
			return 0, errBusy
		}
		return times, nil
	}
	tr = Trial(t, ordering("k1", fails, orderTwice), One()).Trace
	require.Equal(t, []time.Duration{20 * time.Millisecond}, effects(tr))
}

// Whichever of two late works comes first at their instant, it is the only one.
func TestLateWorksOfOneKeyAtOneInstantAreOne(t *testing.T) {
	for range 200 {
		s := One(Fault{Class: trace.Transient, Work: 50}, Fault{Class: trace.Transient, Work: 50})
		require.Len(t, effects(Trial(t, ordering("k1", nil, orderTwice), s).Trace), 1)
	}
}

func TestAKeyIsTakenOnce(t *testing.T) {
	s := &Stage{house: &house{policy: &invariants.Policy{Key: "key"}}}
	var taken atomic.Int32
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			if s.first(&tool{name: "shop"}, "k1") {
				taken.Add(1)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 1, taken.Load())
	require.True(t, s.first(&tool{name: "shop"}, "k2"))
	require.True(t, s.first(&tool{name: "shop"}, ""), "a call without a key is like no other")
	require.True(t, s.first(&tool{name: "shop"}, ""))
}

// Which of two works of one key counts is not for the code to decide.
func TestTheWorkThatCountsIsATie(t *testing.T) {
	tr := &trace.Trace{Events: []trace.Event{
		{Kind: trace.KindCall, Action: "a", Tool: "shop", Call: 1},
		{Kind: trace.KindCall, Action: "a", Tool: "shop", Call: 2, At: 2 * time.Second},
		{Kind: trace.KindEffect, Action: "a", Tool: "shop", Call: 1, At: 3 * time.Second},
	}}
	late := One(Fault{Hang: true, Work: 3 * time.Second}, Fault{Class: trace.Transient, Work: time.Second})
	require.True(t, tied(&late, tr, 2))
	late = One(Fault{Hang: true, Work: 3 * time.Second}, Fault{Class: trace.Transient, Work: 2 * time.Second})
	require.False(t, tied(&late, tr, 2))
}
