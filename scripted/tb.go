package scripted

// TB is what this package needs of a test. *testing.T, *testing.B, *testing.F
// and *rapid.T have it.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Cleanup(func())
}
