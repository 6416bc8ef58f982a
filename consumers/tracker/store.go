package tracker

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
	trackersql "tributary/sql/tracker"
)

// fewRows are written one by one: a transaction that has used a temporary table empties
// all that its connection has as it commits, which takes longer than to write them. Of
// many the new ones go by COPY, and those that are there by COPY into a temporary table
// and from there, in the order of their ids, in one upsert.
const fewRows = 8

// temp is the temporary table beside a table.
func temp(table string) string { return "tracker_new_" + table }

// tableNames lists every table that is written.
func tableNames() []string {
	return []string{"centre", "file_source", "source_revision", "crawling_session", "poll_task", "batch", "replay", "ordered", "zip_file", "zip_action", "file_source_has_zip", "zip_version",
		"zip_download", "quality", "xml_file", "zip_log", "xml_log"}
}

// store writes and reads one schema within one transaction.
type store struct {
	tx     pgx.Tx
	schema string // the target's
	target target
	temps  []string // temporary tables that were used

	meanings map[string]string // what exceptions mean, by their names
}

// sql is a statement written for the schema tracker, for the schema at hand.
func (s *store) sql(statement string) string { return trackersql.Target(s.schema).SQL(statement) }

// newStore begins a write to a target, with what exceptions mean. What is counted goes
// to a slot that nobody else has until the transaction ends.
func newStore(ctx context.Context, tx pgx.Tx, to target, slot int32, meanings map[string]string) (*store, error) {
	s := &store{tx: tx, schema: to.schema(), target: to, meanings: meanings}
	to.begin()
	if _, err := tx.Exec(ctx, fmt.Sprintf("SET LOCAL client_min_messages = warning; SET LOCAL tributary.slot = %d", slot), pgx.QueryExecModeSimpleProtocol); err != nil {
		return nil, fmt.Errorf("begin to write %s: %w", s.schema, err)
	}
	return s, nil
}

// temporary makes a table's temporary one where this connection has none yet.
func (s *store) temporary(ctx context.Context, table string) error {
	if _, err := s.tx.Exec(ctx, fmt.Sprintf("CREATE TEMP TABLE IF NOT EXISTS %s (LIKE %s.%s) ON COMMIT DELETE ROWS", temp(table), s.schema, table), pgx.QueryExecModeSimpleProtocol); err != nil {
		return fmt.Errorf("temporary table: %w", err)
	}
	s.temps = append(s.temps, temp(table))
	return nil
}

// upsert writes few rows as write does, in the order of their ids.
func (s *store) upsert(ctx context.Context, name string, rows pg.Rows) error {
	slices.SortFunc(rows.Values, func(a, b []any) int {
		x, y := a[0].([16]byte), b[0].([16]byte) //nolint:forcetypeassert // every row begins with its id
		return bytes.Compare(x[:], y[:])
	})
	keys := make([][16]byte, len(rows.Values))
	for i, row := range rows.Values {
		keys[i] = row[0].([16]byte) //nolint:forcetypeassert // every row begins with its id
	}
	return s.write(ctx, name, keys, func(i int, to *pg.Rows) error {
		to.Columns, to.Values = rows.Columns, append(to.Values, rows.Values[i])
		return nil
	})
}

// write writes rows by their ids, which are sorted and distinct; at most once per table
// and transaction. Row i, which begins with its id, is made by row as it is written: all
// of a batch take more memory than what they are made of.
func (s *store) write(ctx context.Context, name string, ids [][16]byte, row func(i int, to *pg.Rows) error) error {
	fresh, old := s.split(name, ids)
	if err := s.add(ctx, name, fresh, row); err != nil {
		return fmt.Errorf("add to %s.%s: %w", s.schema, name, err)
	}
	// Every transaction locks rows in the order of their ids, and tables in
	// the same order, so that two of them never wait for each other.
	if err := s.replace(ctx, name, old, row); err != nil {
		return fmt.Errorf("write %s.%s: %w", s.schema, name, err)
	}
	return nil
}

// add writes rows that are new.
func (s *store) add(ctx context.Context, name string, which []int, row func(i int, to *pg.Rows) error) error {
	if len(which) <= fewRows {
		return s.eachRow(ctx, name, which, row, func([]string) string { return "" })
	}
	_, err := pg.CopyEach(ctx, s.tx, len(which), func(i int, to *pg.Rows) error { return row(which[i], to) }, s.schema, name)
	return err
}

// replace writes rows of which there may be earlier ones.
func (s *store) replace(ctx context.Context, name string, which []int, row func(i int, to *pg.Rows) error) error {
	if len(which) <= fewRows {
		return s.eachRow(ctx, name, which, row, replacing)
	}
	if err := s.temporary(ctx, name); err != nil {
		return err
	}
	columns, err := pg.CopyEach(ctx, s.tx, len(which), func(i int, to *pg.Rows) error { return row(which[i], to) }, temp(name))
	if err != nil {
		return err
	}
	list := strings.Join(columns, ", ")
	_, err = s.tx.Exec(ctx, fmt.Sprintf("INSERT INTO %s.%s (%s) SELECT %s FROM %s ORDER BY id%s", s.schema, name, list, list, temp(name), replacing(columns)))
	return err
}

// eachRow writes few rows, each in a statement of its own.
func (s *store) eachRow(ctx context.Context, name string, which []int, row func(i int, to *pg.Rows) error, ending func(columns []string) string) error {
	if len(which) == 0 {
		return nil
	}
	var rows pg.Rows
	for _, i := range which {
		if err := row(i, &rows); err != nil {
			return err
		}
	}
	sql, b := rows.Insert(s.schema+"."+name)+ending(rows.Columns), &pgx.Batch{}
	for _, values := range rows.Values {
		b.Queue(sql, values...)
	}
	return s.tx.SendBatch(ctx, b).Close()
}

// replacing ends the insertion of rows, of which there may be earlier ones.
func replacing(columns []string) string {
	set := make([]string, 0, len(columns))
	for _, c := range columns[1:] {
		set = append(set, c+" = excluded."+c)
	}
	return " ON CONFLICT (id) DO UPDATE SET " + strings.Join(set, ", ")
}

// merge adds to every state what its row remembers, and locks the row.
func merge[T any, P adder[T]](ctx context.Context, s *store, name string, states map[uuid.UUID]P) error {
	keys := s.target.perhaps(ids(states))
	if len(keys) == 0 {
		return nil
	}
	var id [16]byte
	var text []byte
	for err := range pg.Each(ctx, s.tx, "read "+s.schema+"."+name, []any{&id, &text},
		fmt.Sprintf("SELECT id, merge FROM %s.%s WHERE id = ANY($1) ORDER BY id %s", s.schema, name, s.target.lock()), keys) {
		if err != nil {
			return err
		}
		old := new(T)
		if err := json.Unmarshal(text, old); err != nil {
			return fmt.Errorf("read %s.%s: column merge of %s: %w", s.schema, name, uuid.UUID(id), err)
		}
		states[id].add(old)
		s.target.found(name, id)
	}
	return nil
}

// ids are the keys, sorted.
func ids[T any](m map[uuid.UUID]T) [][16]byte {
	out := make([][16]byte, 0, len(m))
	for id := range m {
		out = append(out, id)
	}
	slices.SortFunc(out, func(a, b [16]byte) int { return bytes.Compare(a[:], b[:]) })
	return out
}

// remembered is a state as the column merge holds it.
func remembered(state any) (string, error) {
	text, err := json.Marshal(state)
	if err != nil {
		return "", fmt.Errorf("state: %w", err)
	}
	return string(text), nil
}
