// Package wait says how long tests wait for what must come to be.
package wait

import (
	"os"
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
