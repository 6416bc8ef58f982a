package lineage

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"tributary/internal/mapping"
)

// ParsePlace reads POSITION/ORDINAL.
func ParsePlace(text string) (position int64, ordinal int32, ok bool) {
	p, o, found := strings.Cut(text, "/")
	position, err := strconv.ParseInt(p, 10, 64)
	n, err2 := strconv.ParseInt(o, 10, 32)
	return position, int32(n), found && err == nil && err2 == nil && position > 0 && n > 0
}

// Row tells of the row at a position and an ordinal: of the document's claim on
// the key of the record that it lies under. Table, if it is not empty, must be
// the row's or its record's. A row that isn't there is ErrNotFound.
func (r *Reader) Row(ctx context.Context, table string, position int64, ordinal int32) (*Lineage, error) {
	if table != "" && r.Mapping.Table(table) == nil {
		return nil, fmt.Errorf("the profile has no table %q: it has %s", table, strings.Join(tableNames(r.Mapping.Tables), ", "))
	}
	c, err := r.enclosing(ctx, position, ordinal)
	if err != nil {
		return nil, err
	}
	for _, t := range r.Mapping.Tables {
		row, err := r.read(ctx, t, c, position, ordinal)
		if err != nil {
			return nil, err
		}
		if row == nil {
			continue
		}
		record := t
		if t.Under != nil {
			record = t.Under
		}
		if table != "" && table != t.Name && table != record.Name {
			return nil, fmt.Errorf("row %s is of the table %s, not of %s", place(position, ordinal), t.Name, table)
		}
		l := &Lineage{Table: record.Name, Row: row}
		if t.Record || t.Under != nil {
			l.ID = c.id
			return l, r.claims(ctx, l)
		}
		l.Document, err = r.document(ctx, position)
		return l, err
	}
	return nil, fmt.Errorf("row %s: %w", place(position, ordinal), ErrNotFound)
}

func tableNames(tables []*mapping.Table) []string {
	names := make([]string, len(tables))
	for i, t := range tables {
		names[i] = t.Name
	}
	return names
}

// enclosing returns the last claim of a document that begins at or before an
// ordinal, nil if none does: a row of that ordinal lies under it, or under
// none.
func (r *Reader) enclosing(ctx context.Context, position int64, ordinal int32) (*Claim, error) {
	c := &Claim{Position: position}
	err := r.Warehouse.QueryRow(ctx, `SELECT ordinal, claim::text, record_type, line, content_position, content_ordinal FROM warehouse.claim
		WHERE position = $1 AND ordinal <= $2 ORDER BY ordinal DESC LIMIT 1`, position, ordinal).Scan(&c.Ordinal, &c.id, &c.table, &c.Line, &c.ContentPosition, &c.ContentOrdinal)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the claim of row %s: %w", place(position, ordinal), err)
	}
	return c, nil
}

// read returns the row of a table at a place, nil if there is none. Its
// content may have come with another document.
func (r *Reader) read(ctx context.Context, t *mapping.Table, c *Claim, position int64, ordinal int32) (*Row, error) {
	row := &Row{Table: t.Name, Position: position, Ordinal: ordinal, Exact: true}
	at := []any{position, ordinal}
	where := "position = $1 AND ordinal = $2"
	switch record := t.Under; {
	case t.Record:
		if c == nil || c.table != t.Name || c.Ordinal != ordinal {
			return nil, nil
		}
		at = []any{c.ContentPosition, c.ContentOrdinal}
		row.Record = ordinal
	case record != nil:
		if c == nil || c.table != record.Name || c.Ordinal == ordinal {
			return nil, nil
		}
		at = []any{c.ContentPosition, ordinal - c.Ordinal + c.ContentOrdinal, c.ContentOrdinal}
		where += " AND record = $3"
		row.Record = c.Ordinal
	}
	columns := []string{"line"}
	targets := []any{&row.Line}
	row.Values = make([]Value, len(t.Columns))
	for i, column := range t.Columns {
		row.Values[i].Column = column.Name
		columns, targets = append(columns, pgx.Identifier{column.Name}.Sanitize()+"::text"), append(targets, &row.Values[i].Value)
	}
	err := r.Warehouse.QueryRow(ctx, "SELECT "+strings.Join(columns, ", ")+" FROM "+pgx.Identifier{"warehouse", t.Name}.Sanitize()+" WHERE "+where, at...).Scan(targets...)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read row %s of %s: %w", place(position, ordinal), t.Name, err)
	}
	if row.Record > 0 && (c.Position != c.ContentPosition || c.Ordinal != c.ContentOrdinal) {
		row.Line, row.Exact = c.Line, t.Record
	}
	return row, nil
}

func (r *Reader) document(ctx context.Context, position int64) (*Document, error) {
	d := &Document{}
	if err := r.Warehouse.QueryRow(ctx, `SELECT `+documentColumns()+` FROM warehouse.document d`+withdrawal+` WHERE d.position = $1`, position).Scan(d.targets()...); err != nil {
		return nil, fmt.Errorf("read document %d: %w", position, err)
	}
	d.Why = d.reason()
	return d, r.when(ctx, d)
}
