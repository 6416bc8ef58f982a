package file_test

import (
	"testing"

	"go.uber.org/goleak"
)

// Whatever fails, no goroutine of a session outlives it.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
