package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tributary/queries/report"
)

// outputFlag adds -o with the given formats, the first of which is the
// default.
func outputFlag(cmd *cobra.Command, formats ...string) *string {
	value := cmd.Flags().StringP("output", "o", formats[0], strings.Join(formats, ", "))
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if !slices.Contains(formats, *value) {
			return usagef("--output %q is not known: use %s", *value, strings.Join(formats, ", "))
		}
		return nil
	}
	return value
}

// writeJSON writes one object a line.
func writeJSON[T any](w io.Writer, rows []T) error {
	enc := report.NewEncoder(w)
	for _, row := range rows {
		if err := enc.Encode(row); err != nil {
			return fmt.Errorf("write: %w", err)
		}
	}
	return nil
}

// list writes rows as -o says: rows is given what writes one, as JSON or as cells.
func (c *cli) list(format string, header []string, rows func(row func(value any, cells ...string) error) error) error {
	out, err := report.NewOutput(c.stdout, format, header...)
	if err != nil {
		return usage(err)
	}
	return errors.Join(rows(out.Row), out.Close())
}

// tell writes one thing, as JSON or as text for people.
func (c *cli) tell(format string, value any, text func(io.Writer) error) error {
	if format == report.JSON {
		return writeJSON(c.stdout, []any{value})
	}
	return text(c.stdout)
}
