// Package wait says how long tests wait for what must come to be.
package wait

import (
	"os"
	"testing"
	"time"
)

// Patience ends a test that hangs: nothing that a test waits for takes as long,
// however busy the machine is, and no test measures anything by it. It is five
// minutes, or TRIBUTARY_PATIENCE where that is a duration, which whoever ends a
// test earlier sets, so that the test fails with its own words before it is ended.
func Patience() time.Duration {
	if d, err := time.ParseDuration(os.Getenv("TRIBUTARY_PATIENCE")); err == nil && d > 0 {
		return d
	}
	return 5 * time.Minute
}

// Longer calls try with a time that is to run out, a short one at first and each time one
// that is four times as long, until it returns no error. A busy machine may be late for what
// is to come before that, but not for any time; what fails for another reason fails with the
// longest time, too.
func Longer(t testing.TB, short time.Duration, try func(time.Duration) error) {
	t.Helper()
	for limit := short; ; limit *= 4 {
		err := try(limit)
		if err == nil {
			return
		}
		if limit > 10*time.Second {
			t.Fatalf("with a limit of %s: %v", limit, err)
		}
	}
}
