package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tributary/internal/outfile"
	"tributary/queries/report"
)

// outputFlag adds -o with the given formats, the first of which is the
// default, and --escape-formulas where CSV is one of them.
func outputFlag(cmd *cobra.Command, formats ...string) *string {
	value := cmd.Flags().StringP("output", "o", formats[0], strings.Join(formats, ", "))
	var escape bool
	if slices.Contains(formats, report.CSV) {
		cmd.Flags().BoolVar(&escape, "escape-formulas", false, "with -o csv: an apostrophe before cells that a spreadsheet would run as formulas")
	}
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if !slices.Contains(formats, *value) {
			return usagef("--output %q is not known: use %s", *value, strings.Join(formats, ", "))
		}
		if escape && *value != report.CSV {
			return usagef("--escape-formulas is about csv: give -o csv too")
		}
		if escape {
			*value = report.EscapedCSV
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

// listDone lists what became of orders as list does, and ends with the exit code for a
// failure where one was not carried out.
func (c *cli) listDone(format string, header []string, rows func(row func(done bool, value any, cells ...string) error) error) error {
	refused := false
	err := c.list(format, header, func(row func(any, ...string) error) error {
		return rows(func(done bool, value any, cells ...string) error {
			refused = refused || !done
			return row(value, cells...)
		})
	})
	if err == nil && refused {
		return errSilent
	}
	return err
}

// tell writes one thing, as JSON or as text for people.
func (c *cli) tell(format string, value any, text func(io.Writer) error) error {
	if format == report.JSON {
		return writeJSON(c.stdout, []any{value})
	}
	return text(c.stdout)
}

// into writes to a file, whole or not at all, or to stdout if none is named.
func (c *cli) into(to string, replace bool, write func(io.Writer) error) error {
	if to == "" {
		return write(c.stdout)
	}
	err := outfile.Write(to, replace, write)
	if errors.Is(err, outfile.ErrExists) {
		return usagef("%w: name another file, or remove it first", err)
	}
	return err
}
