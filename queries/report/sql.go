package report

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
)

// Store is a database that can be asked in SQL, for reading only.
type Store interface {
	// query calls header once, when the columns are known, and row for each
	// row, in order. Column types are for files of columns.
	query(ctx context.Context, sql string, header func([]arrow.Field) error, row func([]cell) error) error
}

// Limits of a query's time.
const (
	Timeout    = 5 * time.Minute // where none is given
	MaxTimeout = time.Hour       // none may be given longer: a forgotten statement must end
	// MaxSnapshot is the most on Postgres, which keeps for a statement what others
	// delete meanwhile, in all schemas.
	MaxSnapshot = 20 * time.Minute
)

// CheckTimeout says what is wrong with a time that somebody has given.
func CheckTimeout(d time.Duration) error {
	if d <= 0 || d > MaxTimeout {
		return fmt.Errorf("%s is no time for a statement: give more than 0 and at most 1h, such as 30s or 20m", d)
	}
	return nil
}

// cell is a value: as text, as JSON, and as files of columns take it.
type cell struct {
	text  string
	json  []byte
	value any
}

// SQL runs one reading statement on a store and writes its rows in the given
// format as they come. A statement that would write is refused, by the
// database's own means too.
func SQL(ctx context.Context, store Store, statement string, w io.Writer, format string) error {
	statement, err := reading(statement)
	if err != nil {
		return err
	}
	var out *Output
	var names []string
	err = store.query(ctx, statement, func(fields []arrow.Field) error {
		for _, f := range fields {
			names = append(names, f.Name)
		}
		var err error
		out, err = NewOutput(w, format, names...)
		return err
	}, func(cells []cell) error {
		if format == JSON {
			return out.Row(object{names, cells})
		}
		texts := make([]string, len(cells))
		for i, c := range cells {
			texts[i] = c.text
		}
		return out.Row(nil, texts...)
	})
	if out != nil {
		err = errors.Join(err, out.Close())
	}
	return err
}

// Rows takes the rows of an answer, with the values as files of columns take them.
type Rows interface {
	Row(values []any) error
	Close() error
}

// Columns is [SQL] for a file of columns, which open begins when the columns are known:
// package columnar has it.
func Columns(ctx context.Context, store Store, statement string, open func([]arrow.Field) (Rows, error)) error {
	statement, err := reading(statement)
	if err != nil {
		return err
	}
	var out Rows
	var values []any
	err = store.query(ctx, statement, func(fields []arrow.Field) error {
		values = make([]any, len(fields))
		var err error
		out, err = open(fields)
		return err
	}, func(cells []cell) error {
		for i, c := range cells {
			values[i] = c.value
		}
		return out.Row(values)
	})
	if out != nil {
		err = errors.Join(err, out.Close())
	}
	return err
}

// object is a row as a JSON object, its members in the order of the columns.
type object struct {
	names []string
	cells []cell
}

// MarshalJSON writes the object.
func (o object) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, name := range o.names {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, quoted(name)...)
		b = append(b, ':')
		b = append(b, o.cells[i].json...)
	}
	return append(b, '}'), nil
}

// reading is the statement without a final semicolon, or an error if it does
// not begin as statements do that only read.
func reading(statement string) (string, error) {
	s := strings.TrimRight(strings.TrimSpace(statement), "; \t\r\n")
	if s == "" {
		return "", errors.New("no statement: give one, such as 'SELECT * FROM file LIMIT 10'")
	}
	word := strings.ToLower(firstWord(s))
	switch word {
	case "select", "with", "values", "table", "show", "explain", "describe", "desc", "exists":
		return s, nil
	}
	return "", fmt.Errorf("%s: only statements that read are run here: SELECT, WITH, VALUES, TABLE, SHOW, EXPLAIN, DESCRIBE", strings.ToUpper(word))
}

// firstWord is the first word after comments, blanks and brackets.
func firstWord(s string) string {
	for {
		s = strings.TrimLeft(s, " \t\r\n(")
		switch {
		case strings.HasPrefix(s, "--"):
			_, rest, _ := strings.Cut(s, "\n")
			s = rest
			continue
		case strings.HasPrefix(s, "/*"):
			_, rest, _ := strings.Cut(s, "*/")
			s = rest
			continue
		}
		end := strings.IndexFunc(s, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
		})
		if end < 0 {
			return s
		}
		return s[:end]
	}
}
