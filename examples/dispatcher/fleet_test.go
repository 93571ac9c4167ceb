package dispatcher_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/examples/dispatcher"
	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/trace"
)

// agents are fifty processes that search every second, while the service is down.
func agents(a faultsim.Adapter) faultsim.Fleet {
	return faultsim.Fleet{
		Adapter: a,
		Agents:  50,
		Actions: 20,
		Pause:   time.Second,
		Arrive:  faultsim.Evenly(time.Second),
		Service: faultsim.Service{
			Workers: 20, Serve: 50 * time.Millisecond, Queue: 100, Leave: true,
			Outages: []faultsim.Outage{{To: time.Hour, Class: trace.Transient}},
		},
	}
}

// A service that is down gets less calls than the agents have to do, and none of
// them in waves.
func TestOutageUnderManyAgents(t *testing.T) {
	load := faultsim.Play(t, agents(search))
	require.Less(t, load.Amplification(), 1.0)
	require.Less(t, load.Synchrony(50*time.Millisecond), 1.5)
	require.Greater(t, load.Ends[trace.ReasonBreakerOpen], load.Actions/3)
}

// Without what the breakers remember, every search makes all its attempts.
func TestOutageWithoutBreakers(t *testing.T) {
	forgetful := search
	forgetful.Breaker = nil
	forgetful.Subject = func(s *faultsim.Stage) faultsim.Action {
		tool := dispatcher.Tool{Do: double(s, "search"), Repeatable: true}
		return func(ctx context.Context) (any, error) {
			return dispatcher.New(map[string]dispatcher.Tool{"search": tool}).Call(ctx, "search", query)
		}
	}
	load := faultsim.Play(t, agents(forgetful))
	require.Equal(t, 3.0, load.Amplification())
}
