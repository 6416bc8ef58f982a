package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"tributary/internal/config"
)

func newInit(c *cli) *cobra.Command {
	return &cobra.Command{
		Use:   "init [FILE]",
		Short: "Write a commented configuration with every key and its default",
		Long:  "Write a commented configuration with every key and its default to FILE (default: where the configuration is looked for). - is stdout. A file that is there is never overwritten.",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			path := c.configPath()
			if len(args) == 1 {
				path = args[0]
			}
			if path == "-" {
				_, err := fmt.Fprint(c.stdout, config.Example())
				return err
			}
			f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
			if errors.Is(err, fs.ErrExist) {
				return usagef("%s is there already: name another file, or remove it first", path)
			}
			if err != nil {
				return fmt.Errorf("write the configuration: %w", err)
			}
			_, err = f.WriteString(config.Example())
			if err := errors.Join(err, f.Close()); err != nil {
				return fmt.Errorf("write the configuration: %w", err)
			}
			fmt.Fprintf(c.stderr, "wrote %s: add your sources, then run tributary config check and tributary sources check\n", path)
			return nil
		},
	}
}
