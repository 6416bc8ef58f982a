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

// writeTable writes rows below headings, in columns for people.
func writeTable(w io.Writer, headings []string, rows [][]string) error {
	out, err := report.NewOutput(w, report.Table, headings...)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if err := out.Row(nil, row...); err != nil {
			return errors.Join(err, out.Close())
		}
	}
	return out.Close()
}
