// Package export writes a document that the warehouse holds back as the XML
// that it was: from its rows, without the bytes that were uploaded.
package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/mapping"
)

// NotLoadedError says that there is no document to write.
type NotLoadedError struct {
	Position int64
	// Exception is why the document could not be loaded; empty if the order has
	// no document at the position.
	Exception string
}

func (e *NotLoadedError) Error() string {
	if e.Exception == "" {
		return fmt.Sprintf("the warehouse has no document at position %d", e.Position)
	}
	return fmt.Sprintf("the document at position %d was not loaded (%s), so the warehouse has no rows of it", e.Position, e.Exception)
}

// Document writes the document at a position of the order, as mapping.Write
// does: an equivalent document, if the mapping keeps all that its schema can
// say. Content that came with another document first is read there. It reads
// one snapshot, row by row, in memory that doesn't grow with the document. The
// error is a *NotLoadedError if there is nothing to write.
func Document(ctx context.Context, pool *pgxpool.Pool, m *mapping.Mapping, position int64, w io.Writer) error {
	return pgx.BeginTxFunc(ctx, pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		var kind, state, exception string
		err := tx.QueryRow(ctx, "SELECT kind, state, exception FROM warehouse.document WHERE position = $1", position).Scan(&kind, &state, &exception)
		if errors.Is(err, pgx.ErrNoRows) {
			return &NotLoadedError{Position: position}
		}
		if err != nil {
			return fmt.Errorf("look for document %d: %w", position, err)
		}
		if state != "loaded" {
			return &NotLoadedError{Position: position, Exception: exception}
		}
		src, err := open(ctx, tx, m, position)
		if err != nil {
			return fmt.Errorf("read document %d: %w", position, err)
		}
		defer src.rows.Close()
		if err := m.Write(w, kind, src); err != nil {
			return fmt.Errorf("write document %d: %w", position, err)
		}
		return nil
	})
}

// source is a mapping.Source of a document in the warehouse.
type source struct {
	m    *mapping.Mapping
	rows pgx.Rows
}

func open(ctx context.Context, tx pgx.Tx, m *mapping.Mapping, position int64) (*source, error) {
	if _, err := tx.Exec(ctx, "SET LOCAL datestyle = 'ISO, YMD'; SET LOCAL extra_float_digits = 1; SET LOCAL statement_timeout = 0"); err != nil {
		return nil, err
	}
	rows, err := tx.Query(ctx, query(m), position)
	if err != nil {
		return nil, err
	}
	return &source{m: m, rows: rows}, nil
}

// query returns all rows of the document $1 in the order of their ordinals:
// ordinal, index of the table, ordinal of the enclosing row (0 if the content is
// another document's, which doesn't know), values.
func query(m *mapping.Mapping) string {
	const (
		own    = "c.position = c.content_position AND c.ordinal = c.content_ordinal"
		claims = "FROM warehouse.claim c JOIN warehouse.%s t ON t.position = c.content_position AND t.%s = c.content_ordinal WHERE c.position = $1 AND c.record_type = '%s'"
	)
	var parts []string
	for _, t := range m.Tables {
		ordinal, parent, from := "t.ordinal", "0", fmt.Sprintf("FROM warehouse.%s t WHERE t.position = $1", t.Name)
		if t.HasParentColumn {
			parent = "t.parent"
		}
		switch {
		case t.Record:
			ordinal, parent = "c.ordinal", "CASE WHEN "+own+" THEN "+parent+" ELSE 0 END"
			from = fmt.Sprintf(claims, t.Name, "ordinal", t.Name)
		case t.Under != nil:
			ordinal = "t.ordinal + c.ordinal - c.content_ordinal"
			if parent == "0" {
				parent = "c.ordinal"
			} else {
				parent = "t.parent + c.ordinal - c.content_ordinal"
			}
			from = fmt.Sprintf(claims, t.Name, "record", t.Under.Name)
		}
		values := make([]string, len(t.Columns))
		for i, c := range t.Columns {
			values[i] = "t." + c.Name + "::text"
		}
		parts = append(parts, fmt.Sprintf("SELECT %s AS n, %d, %s, ARRAY[%s]::text[] %s", ordinal, t.Index, parent, strings.Join(values, ", "), from))
	}
	return strings.Join(parts, "\nUNION ALL\n") + "\nORDER BY n"
}

// Next implements mapping.Source.
func (s *source) Next() (*mapping.Stored, error) {
	if !s.rows.Next() {
		if err := s.rows.Err(); err != nil {
			return nil, fmt.Errorf("read rows: %w", err)
		}
		return nil, nil
	}
	row := &mapping.Stored{}
	var table int
	if err := s.rows.Scan(&row.Ordinal, &table, &row.Parent, &row.Values); err != nil {
		return nil, fmt.Errorf("read rows: %w", err)
	}
	row.Table = s.m.Tables[table]
	return row, nil
}
