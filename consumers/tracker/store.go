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

// table is a table that is written in batches: many rows go by COPY into a
// temporary table and from there, in the order of their ids, in one upsert.
type table struct {
	name    string
	columns []string // the first is the id
}

// fewRows are written one by one: a transaction that has used a temporary table empties
// all that its connection has as it commits, which takes longer than to write them.
const fewRows = 8

func (t table) temp() string { return "tracker_new_" + t.name }

// tables lists every table that is written; rows say which columns each has.
func tables() []table {
	names := []string{"centre", "file_source", "source_revision", "crawling_session", "poll_task", "batch", "replay", "ordered", "zip_file", "zip_action", "file_source_has_zip", "zip_version",
		"zip_download", "quality", "xml_file", "zip_log", "xml_log"}
	out := make([]table, len(names))
	for i, name := range names {
		out[i].name = name
	}
	return out
}

// store writes and reads one schema within one transaction.
type store struct {
	tx     pgx.Tx
	schema string // the target's
	target target
	tables map[string]table
	temps  []string // temporary tables that were used

	meanings map[string]string // what exceptions mean, by their names
}

// sql is a statement written for the schema tracker, for the schema at hand.
func (s *store) sql(statement string) string { return trackersql.Target(s.schema).SQL(statement) }

// newStore begins a write to a target, with what exceptions mean. What is counted goes
// to a slot that nobody else has until the transaction ends.
func newStore(ctx context.Context, tx pgx.Tx, to target, slot int32, meanings map[string]string) (*store, error) {
	s := &store{tx: tx, schema: to.schema(), target: to, tables: map[string]table{}, meanings: meanings}
	to.begin()
	for _, t := range tables() {
		s.tables[t.name] = t
	}
	if _, err := tx.Exec(ctx, fmt.Sprintf("SET LOCAL client_min_messages = warning; SET LOCAL tributary.slot = %d", slot), pgx.QueryExecModeSimpleProtocol); err != nil {
		return nil, fmt.Errorf("begin to write %s: %w", s.schema, err)
	}
	return s, nil
}

// temporary makes a table's temporary one where this connection has none yet.
func (s *store) temporary(ctx context.Context, t table) error {
	if _, err := s.tx.Exec(ctx, fmt.Sprintf("CREATE TEMP TABLE IF NOT EXISTS %s (LIKE %s.%s) ON COMMIT DELETE ROWS", t.temp(), s.schema, t.name), pgx.QueryExecModeSimpleProtocol); err != nil {
		return fmt.Errorf("temporary table: %w", err)
	}
	s.temps = append(s.temps, t.temp())
	return nil
}

// upsert writes rows, each of which begins with its id, by their ids, which are
// distinct; at most once per table and transaction.
func (s *store) upsert(ctx context.Context, name string, rows pg.Rows) error {
	t := s.tables[name]
	t.columns = rows.Columns
	var err error
	if rows.Values, err = s.copyNew(ctx, t, rows.Values); err != nil {
		return err
	}
	if len(rows.Values) == 0 {
		return nil
	}
	// Every transaction locks rows in the order of their ids, and tables in
	// the same order, so that two of them never wait for each other.
	write := s.upsertMany
	if len(rows.Values) <= fewRows {
		write = s.upsertFew
	}
	if err := write(ctx, t, rows); err != nil {
		return fmt.Errorf("write %s.%s: %w", s.schema, name, err)
	}
	return nil
}

func (s *store) upsertMany(ctx context.Context, t table, rows pg.Rows) error {
	if err := s.temporary(ctx, t); err != nil {
		return err
	}
	if err := rows.Copy(ctx, s.tx, t.temp()); err != nil {
		return err
	}
	list := strings.Join(t.columns, ", ")
	_, err := s.tx.Exec(ctx, fmt.Sprintf("INSERT INTO %s.%s (%s) SELECT %s FROM %s ORDER BY id%s", s.schema, t.name, list, list, t.temp(), t.replacing()))
	return err
}

func (s *store) upsertFew(ctx context.Context, t table, rows pg.Rows) error {
	slices.SortFunc(rows.Values, func(a, b []any) int {
		x, y := a[0].([16]byte), b[0].([16]byte) //nolint:forcetypeassert // every row begins with its id
		return bytes.Compare(x[:], y[:])
	})
	sql, b := rows.Insert(s.schema+"."+t.name)+t.replacing(), &pgx.Batch{}
	for _, row := range rows.Values {
		b.Queue(sql, row...)
	}
	return s.tx.SendBatch(ctx, b).Close()
}

// replacing ends the insertion of rows, of which there may be earlier ones.
func (t table) replacing() string {
	set := make([]string, 0, len(t.columns))
	for _, c := range t.columns[1:] {
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
