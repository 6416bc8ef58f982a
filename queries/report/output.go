package report

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"tributary/internal/screen"
)

// Formats of answers.
const (
	Table = "table" // for people: aligned columns
	JSON  = "json"  // for programs: one object a line
	CSV   = "csv"   // for programs and spreadsheets: RFC 4180, with a header
)

// EscapedCSV is CSV in which cells that a spreadsheet would take for formulas are
// made texts. It is asked for as CSV with --escape-formulas.
const EscapedCSV = "csv with formulas escaped"

// Formats lists the formats, for help texts.
func Formats() []string { return []string{Table, JSON, CSV} }

// block is after how many rows a table's columns are aligned anew, so that no
// more is held in memory.
const block = 1000

// Output writes rows as a table, JSON lines or CSV. It is not safe for
// concurrent use, and Close must be called at the end.
type Output struct {
	header []string
	escape bool // formulas
	buf    *bufio.Writer
	table  *tabwriter.Writer
	csv    *csv.Writer
	json   *json.Encoder
	rows   int
}

// NewOutput returns an output of the given format; header names the columns of
// tables and CSV.
func NewOutput(w io.Writer, format string, header ...string) (*Output, error) {
	o := &Output{escape: format == EscapedCSV, header: header, buf: bufio.NewWriterSize(w, 64<<10)}
	switch format {
	case Table:
		o.table = tabwriter.NewWriter(o.buf, 0, 0, 2, ' ', 0)
	case CSV, EscapedCSV:
		o.csv = csv.NewWriter(o.buf)
	case JSON:
		o.json = NewEncoder(o.buf)
	default:
		return nil, fmt.Errorf("format %q: use one of %s", format, strings.Join(Formats(), ", "))
	}
	return o, nil
}

// Row writes one row: value as JSON, or cells, as the header orders them.
func (o *Output) Row(value any, cells ...string) error {
	defer func() { o.rows++ }()
	switch {
	case o.json != nil:
		return o.json.Encode(value)
	case o.csv != nil:
		if o.rows == 0 {
			if err := o.csv.Write(o.csvCells(o.header)); err != nil {
				return err
			}
		}
		return o.csv.Write(o.csvCells(cells))
	}
	if o.rows == 0 {
		upper := make([]string, len(o.header))
		for i, h := range o.header {
			upper[i] = strings.ToUpper(h)
		}
		if err := o.line(upper); err != nil {
			return err
		}
	} else if o.rows%block == 0 {
		if err := o.table.Flush(); err != nil {
			return err
		}
	}
	return o.line(cells)
}

func (o *Output) line(cells []string) error {
	clean := make([]string, len(cells))
	for i, c := range cells {
		clean[i] = screen.Line(c)
	}
	_, err := fmt.Fprintln(o.table, strings.TrimRight(strings.Join(clean, "\t"), "\t"))
	return err
}

// Close writes what is left.
func (o *Output) Close() error {
	if o.table != nil {
		if err := o.table.Flush(); err != nil {
			return err
		}
	}
	if o.csv != nil {
		if o.rows == 0 && len(o.header) > 0 {
			if err := o.csv.Write(o.csvCells(o.header)); err != nil {
				return err
			}
		}
		o.csv.Flush()
		if err := o.csv.Error(); err != nil {
			return err
		}
	}
	return o.buf.Flush()
}

// WriteTable writes rows below headings, in columns for people.
func WriteTable(w io.Writer, headings []string, rows [][]string) error {
	out, err := NewOutput(w, Table, headings...)
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
