// Package wait says how long tests wait for what must come to be.
package wait

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
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

// Beside is what TestMain of a package begins with whose tests mostly wait for what
// others do: two of its tests for each processor go on at once, unless -parallel says
// how many. It ends the process where that can't be set.
func Beside() {
	flag.Parse()
	said := false
	flag.Visit(func(f *flag.Flag) { said = said || f.Name == "test.parallel" })
	if said {
		return
	}
	if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil {
		fmt.Fprintln(os.Stderr, "tests that go on at once:", err)
		os.Exit(2)
	}
}
