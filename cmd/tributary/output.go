package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
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
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, row := range rows {
		if err := enc.Encode(row); err != nil {
			return fmt.Errorf("write: %w", err)
		}
	}
	return nil
}

// writeTable writes rows below headings, in columns for people.
func writeTable(w io.Writer, headings []string, rows [][]string) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, strings.Join(headings, "\t"))
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = printable(cell)
		}
		fmt.Fprintln(tw, strings.Join(cells, "\t"))
	}
	if err := tw.Flush(); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}

// printable keeps what servers and files call things from writing control
// sequences, or columns of their own, to a terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r >= 0x7f && r < 0xa0 {
			return '?'
		}
		return r
	}, s)
}
