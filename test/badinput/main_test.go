package badinput

import (
	"fmt"
	"os"
	"testing"
)

// The suite does its cases in processes of their own: this program again.
func TestMain(m *testing.M) {
	if os.Getenv(processEnv) != "" {
		if err := doCases(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}
