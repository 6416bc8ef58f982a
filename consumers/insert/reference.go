package insert

import (
	"bufio"
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgconn"

	"tributary/internal/blob"
	"tributary/internal/mapping"
	"tributary/internal/pg"
)

// Bounds of the files that reference tables are loaded from.
const (
	maxReference     = 1 << 30 // bytes of a file
	maxReferenceLine = 1 << 20 // bytes of a record
)

// loadReference replaces what a reference table holds by what a file says. What
// is wrong with the file is the operation's failure, and the table stays as it
// is.
func (w *writer) loadReference(ctx context.Context, it *item) (message string, failure, err error) {
	name := it.ev.Entry
	ref := w.in.deps.Mapping.Reference(name)
	if ref == nil {
		return "", fmt.Errorf("the profile %s has no reference table %q", w.in.deps.Mapping.Name, name), nil
	}
	var rows int64
	err = w.savepoint(ctx, func() error {
		if _, err := w.tx.Exec(ctx, "DELETE FROM warehouse."+ref.Relation()); err != nil {
			return fmt.Errorf("empty the reference table %s: %w", name, err)
		}
		rows, failure, err = w.copyReference(ctx, it, ref)
		return errors.Join(failure, err)
	})
	if failure != nil {
		return "", failure, nil
	}
	if err != nil {
		return "", nil, err
	}
	if _, err := w.tx.Exec(ctx, `INSERT INTO warehouse.reference_load (name, position, blob, rows, loaded_file) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (name) DO UPDATE SET position = $2, blob = $3, rows = $4, loaded_file = $5`,
		name, it.ev.Position, it.ev.Archive, rows, it.ev.FileName); err != nil {
		return "", nil, fmt.Errorf("note the load of %s: %w", name, err)
	}
	if tests := w.in.deps.Statements.Needed(name); len(tests) > 0 {
		if err := w.recheck(ctx, tests); err != nil {
			return "", nil, err
		}
	}
	return fmt.Sprintf("the reference table %s holds the %d rows of %s", name, rows, it.ev.FileName), nil, nil
}

// recheck lets checks judge all current records again, at the next batch end of
// every centre that has some, or had some at its last: what ceased to be current
// since then, and is so again at the next, is nowhere noted as changed.
func (w *writer) recheck(ctx context.Context, tests []string) error {
	// Centres are found one after another, by index.
	return pg.Exec(ctx, w.tx, "ask for checks to be done again", `WITH RECURSIVE known AS (
			(SELECT centre, centre || '/' || record_type AS at FROM warehouse.claim WHERE is_current ORDER BY centre || '/' || record_type LIMIT 1)
			UNION ALL
			SELECT n.centre, n.at FROM known k CROSS JOIN LATERAL (
				SELECT c.centre, c.centre || '/' || c.record_type AS at FROM warehouse.claim c
				WHERE c.is_current AND c.centre || '/' || c.record_type > k.at ORDER BY c.centre || '/' || c.record_type LIMIT 1) n
		)
		INSERT INTO warehouse.recheck (centre, test)
		SELECT k.centre, t FROM (SELECT centre FROM known UNION SELECT centre FROM warehouse.changed) k
		CROSS JOIN unnest($1::text[]) AS t ON CONFLICT DO NOTHING`, tests)
}

// copyReference writes the rows of a file, if its stored bytes are the right ones.
func (w *writer) copyReference(ctx context.Context, it *item, ref *mapping.Reference) (rows int64, failure, err error) {
	said := blob.Read(ctx, w.in.deps.Blobs, it.ev.Archive, nil, func(b blob.Blob) error {
		rows, failure, err = w.copyRows(ctx, b, ref)
		return err
	})
	switch {
	case ctx.Err() != nil:
		return 0, nil, context.Cause(ctx)
	case !blob.Unusable(said):
		return rows, failure, said
	}
	// A rebuild says it in the same words.
	unusable := fmt.Errorf("%s: the stored file of the reference table %s is damaged or gone, and no source has it: load it again", blob.LostName, ref.Name)
	if w.in.target.hadFailed(it) { // it could not be used when it was to be loaded, either
		return 0, unusable, nil
	}
	lost, err := w.in.damaged(ctx, it, said)
	if lost != "" {
		return 0, unusable, nil
	}
	return 0, nil, err
}

// copyRows writes the rows of an open file.
func (w *writer) copyRows(ctx context.Context, b blob.Blob, ref *mapping.Reference) (rows int64, failure, err error) {
	if b.Size() > maxReference {
		return 0, fmt.Errorf("the file has %d bytes; at most %d can be loaded", b.Size(), maxReference), nil
	}
	lines, failure := newReferenceLines(&stopping{ctx, io.NewSectionReader(b, 0, b.Size())}, ref)
	if failure == nil {
		sql := "COPY warehouse." + ref.Relation() + " (" + strings.Join(lines.header, ", ") + ") FROM STDIN"
		_, err = w.copyFrom(ctx, lines, sql)
		failure = lines.err
	}
	var pe *pgconn.PgError
	switch {
	case ctx.Err() != nil:
		return 0, nil, context.Cause(ctx)
	case failure != nil:
		return 0, failure, nil
	case errors.As(err, &pe) && refusal(err) != nil:
		return 0, fmt.Errorf("the rows can't be loaded: %s %s", pe.Message, pe.Detail), nil
	case err != nil:
		return 0, nil, fmt.Errorf("copy to %s: %w", ref.Relation(), err)
	}
	return lines.rows, nil, nil
}

// referenceLines turns a CSV file into lines for COPY, while they are read.
type referenceLines struct {
	csv    *csv.Reader
	budget *budget
	header []string
	key    []int // of the columns that must not be empty
	line   []byte
	left   []byte // of line
	rows   int64
	err    error // what is wrong with the file
}

// newReferenceLines reads the header: the columns' names, in any order. Those
// of the key must be there.
func newReferenceLines(r io.Reader, ref *mapping.Reference) (*referenceLines, error) {
	b := &budget{r: r, left: maxReferenceLine}
	buffered := bufio.NewReader(b)
	if mark, err := buffered.Peek(3); err == nil && bytes.Equal(mark, []byte("\xEF\xBB\xBF")) {
		buffered.Discard(3) //nolint:errcheck // they are there
	}
	l := &referenceLines{csv: csv.NewReader(buffered), budget: b}
	l.csv.ReuseRecord = true
	header, err := l.csv.Read()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("the file is empty: its first line must name the columns")
	}
	if err != nil {
		return nil, l.explain(err)
	}
	var names []string
	for _, c := range ref.Columns {
		names = append(names, c.Name)
	}
	for _, name := range header {
		switch name = strings.TrimSpace(name); {
		case !slices.Contains(names, name):
			return nil, fmt.Errorf("the first line names the column %.100q; the reference table %s has %s", name, ref.Name, strings.Join(names, ", "))
		case slices.Contains(l.header, name):
			return nil, fmt.Errorf("the first line names the column %s twice", name)
		}
		l.header = append(l.header, name)
	}
	for _, name := range ref.Key {
		i := slices.Index(l.header, name)
		if i < 0 {
			return nil, fmt.Errorf("the first line does not name the column %s, by which rows are told apart", name)
		}
		l.key = append(l.key, i)
	}
	return l, nil
}

// explain says what is wrong with the file.
func (l *referenceLines) explain(err error) error {
	var pe *csv.ParseError
	switch {
	case errors.Is(err, errBudget):
		return fmt.Errorf("row %d takes more than %d bytes: is a quotation mark missing?", l.rows+1, maxReferenceLine)
	case errors.As(err, &pe):
		return fmt.Errorf("line %d, column %d: %w", pe.Line, pe.Column, pe.Err)
	}
	return err
}

func (l *referenceLines) Read(p []byte) (int, error) {
	for len(l.left) == 0 {
		if l.err != nil {
			return 0, l.err
		}
		l.budget.left = maxReferenceLine
		fields, err := l.csv.Read()
		if errors.Is(err, io.EOF) {
			return 0, io.EOF
		}
		if err == nil {
			err = l.fill(fields)
		}
		if err != nil {
			l.err = l.explain(err)
			return 0, l.err
		}
	}
	n := copy(p, l.left)
	l.left = l.left[n:]
	return n, nil
}

// fill makes the line of a row. What is empty is null.
func (l *referenceLines) fill(fields []string) error {
	l.line = l.line[:0]
	for i, field := range fields {
		line, column := l.csv.FieldPos(i)
		switch {
		case field == "" && slices.Contains(l.key, i):
			return fmt.Errorf("line %d, column %d: %s is empty, but tells rows apart", line, column, l.header[i])
		case !utf8.ValidString(field) || strings.ContainsRune(field, 0):
			return fmt.Errorf("line %d, column %d: the file must be UTF-8 text", line, column)
		}
		if i > 0 {
			l.line = append(l.line, '\t')
		}
		if field == "" {
			l.line = append(l.line, '\\', 'N')
		} else {
			l.line = appendText(l.line, field)
		}
	}
	l.line = append(l.line, '\n')
	l.left = l.line
	l.rows++
	return nil
}

// errBudget says that a row is larger than can be kept.
var errBudget = errors.New("more than one row may take")

// budget bounds what may be read until it is renewed.
type budget struct {
	r    io.Reader
	left int
}

func (b *budget) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errBudget
	}
	n, err := b.r.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
