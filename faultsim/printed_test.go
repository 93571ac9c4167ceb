package faultsim_test

// What Schedule.GoString and GoTest print, written by go test -update.

import (
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/trace"
)

var printedSchedules = map[string]faultsim.Schedule{
	`rehearse schedule 1
action
  * 2 transient
  * 3 throttled
  * 4 quota-exhausted
  * 5 timeout
  * 6 reset
  * 7 not-connected
  * 8 invalid
  * 9 unauthenticated
  * 10 forbidden
  * 11 not-found
  * 12 conflict
  * 13 declined
  * 14 malformed
  * 15 partial
  * 16 cancelled
  * 17 unknown say="as \"told\""
`: faultsim.Schedule{
		Actions: []faultsim.Plan{
			{
				Faults: map[string][]faultsim.Fault{
					faultsim.Main: {
						{},
						{Class: trace.Transient},
						{Class: trace.Throttled},
						{Class: trace.QuotaExhausted},
						{Class: trace.Timeout},
						{Class: trace.Reset},
						{Class: trace.NotConnected},
						{Class: trace.Invalid},
						{Class: trace.Unauthenticated},
						{Class: trace.Forbidden},
						{Class: trace.NotFound},
						{Class: trace.Conflict},
						{Class: trace.Declined},
						{Class: trace.Malformed},
						{Class: trace.Partial},
						{Class: trace.Cancelled},
						{Class: trace.Unknown, Say: "as \"told\""},
					},
				},
			},
		},
	},
	`rehearse schedule 1
action deadline=3s
  "odd \n name" 1 transient say="why?" advice=stop wrap=joined
  weather 1 throttled hint=2s form=date after=200ms
  weather 3 hang done deaf cancel=1m30.000000001s
action again after=30s cancel=before
`: faultsim.Schedule{
		Actions: []faultsim.Plan{
			{
				Faults: map[string][]faultsim.Fault{
					"odd \n name": {
						{Class: trace.Transient, Say: "why?", Advice: trace.AdviceStop, Wrap: "joined"},
					},
					"weather": {
						{Class: trace.Throttled, Hint: 2 * time.Second, Form: "date", Latency: 200 * time.Millisecond},
						{},
						{Hang: true, Done: true, Deaf: true, Cancel: time.Minute + 30*time.Second + time.Nanosecond},
					},
				},
				Deadline: 3 * time.Second,
			},
			{After: 30 * time.Second, Again: true, Cancel: -1},
		},
	},
	`rehearse schedule 1
action key=none other crash-before-write=2 restart=1m0s
  * 1 partial items=b:throttled advice=retry
  * 2 ok after=1s work=1s body=2s twice
outage weather from=1s to=3s transient
quota weather 3 per=1m0s
jitter greatest
seed 7
serial weather
expiry at=1.5s
at-once
`: faultsim.Schedule{
		Actions: []faultsim.Plan{
			{
				Faults: map[string][]faultsim.Fault{
					faultsim.Main: {
						{Class: trace.Partial, Items: "b:throttled", Advice: trace.AdviceRetry},
						{Latency: time.Second, Work: time.Second, Body: 2 * time.Second, Twice: true},
					},
				},
				Key:              -1,
				Other:            true,
				CrashBeforeWrite: 2,
				Restart:          time.Minute,
			},
		},
		AtOnce: true,
		Outages: []faultsim.Outage{
			{Tool: "weather", From: time.Second, To: 3 * time.Second, Class: trace.Transient},
		},
		Quotas: []faultsim.Quota{
			{Tool: "weather", N: 3, Per: time.Minute},
		},
		Jitter:   "greatest",
		Seed:     7,
		Serial:   []string{"weather"},
		Expiries: []time.Duration{1500 * time.Millisecond},
	},
}

// imports: testing, github.com/rehearse-go/rehearse/faultsim, time, github.com/rehearse-go/rehearse/trace
func TestPrinted(t *testing.T) {
	faultsim.Run(t, printedAdapter(), faultsim.Schedule{
		Actions: []faultsim.Plan{
			{
				Faults: map[string][]faultsim.Fault{
					faultsim.Main: {
						{Class: trace.Throttled, Hint: 200 * time.Millisecond},
						{Class: trace.Transient, Latency: 3 * time.Millisecond},
					},
				},
			},
		},
	})
}
