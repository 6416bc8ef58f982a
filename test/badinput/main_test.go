package badinput

import (
	"fmt"
	"os"
	"testing"
)

// The suite runs each case in a process of its own: this program again.
func TestMain(m *testing.M) {
	if name := os.Getenv(childCase); name != "" {
		if err := child(name); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}
