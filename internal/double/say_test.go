package double

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/rehearse-go/rehearse/trace"
)

func TestSayingKeepsTheCode(t *testing.T) {
	assert.JSONEq(t, `{"error":{"code":"forbidden","message":"try again"}}`, string(Saying(trace.Forbidden, "try again")))
	assert.True(t, Speaks(trace.Transient))
	for _, c := range []trace.Class{trace.OK, trace.Reset, trace.NotConnected, trace.Timeout, trace.Malformed, trace.Cancelled, 99} {
		assert.False(t, Speaks(c), c.String())
	}
}
