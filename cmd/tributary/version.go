package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"tributary/internal/obs"
)

// version is what the build recorded: a tag, a pseudo-version, or (devel).
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

func newVersion(c *cli) *cobra.Command {
	cmd := &cobra.Command{Use: "version", Short: "Say which version this is", Args: cobra.NoArgs}
	output := outputFlag(cmd, "table", "json")
	cmd.RunE = func(*cobra.Command, []string) error {
		if *output == "json" {
			return writeJSON(c.stdout, []map[string]string{{"version": version(), "revision": obs.Revision(), "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH}})
		}
		fmt.Fprintf(c.stdout, "tributary %s, revision %s, %s, %s/%s\n", version(), obs.Revision(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
		return nil
	}
	return cmd
}
