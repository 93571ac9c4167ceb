package double

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCaptureCopiesTheHeaderUnlessItBorrowsIt(t *testing.T) {
	req, err := http.NewRequest(http.MethodGet, "http://api.test/", nil)
	require.NoError(t, err)
	req.Header.Set("X-Attempt", "1")
	copied, err := Capture(req, Fields{})
	require.NoError(t, err)
	borrowed, err := Capture(req, Fields{Borrow: true})
	require.NoError(t, err)

	req.Header.Set("X-Attempt", "2")
	assert.Equal(t, "1", copied.Header.Get("X-Attempt"))
	assert.Equal(t, "2", borrowed.Header.Get("X-Attempt"))
}
