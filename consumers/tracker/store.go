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

	trackersql "tributary/sql/tracker"
)

// table is a table that is written in batches: rows go by COPY into a
// temporary table and from there, in the order of their ids, in one upsert.
type table struct {
	name    string
	columns []string // the first is the id
}

func (t table) temp() string { return "tracker_new_" + t.name }

// tables lists every table that is written.
func tables() []table {
	split := func(name, columns string) table { return table{name: name, columns: strings.Fields(columns)} }
	return []table{
		split("centre", "id short_name full_name email phone address imits_name is_active created last_update revision merge"),
		split("file_source", "id short_name centre_id protocol_id hostname username accesskey base_path state_id suspended_at suspended_why overruns created last_update revision merge"),
		split("crawling_session", "id number start_time finish_time status note created last_update merge"),
		split("poll_task", "id session_id file_source_id phase_id status_id exception_id message start_time finish_time counts created last_update merge"),
		split("batch", "id centre_id number session_id status_id documents start_time finish_time position checked_version created last_update merge"),
		split("replay", `id number phase_id status_id items predicate since until offsets rate requested_by reason requested changed_by change_reason changed
			shadow promotes created last_update merge`),
		split("zip_file", "id file_name centre_id created inc size_bytes content_md5 content_sha256 received last_update merge"),
		split("zip_action", "id zip_id todo_id phase_id status_id exception_id message download_id attempts created last_update merge"),
		split("file_source_has_zip", "id za_id file_source_id num_retries look state size_bytes mod_time listed_at note message created last_update merge"),
		split("zip_version", "id za_id sha256 content_md5 size_bytes received last_update merge"),
		split("zip_download", `id za_id zf_id run attempt repeats session_id phase_id status_id exception_id message note accepted version content_md5
			size_bytes look downloaded_size_bytes request started received unzipped documents documents_known documents_open documents_failed unzip_version created last_update merge`),
		split("xml_file", `id zip_id outcome document_id fname ordinal centre_id created inc kind size_bytes content_md5 content_sha256 phase_id status_id
			exception_id message errors_total checked rows_loaded position session_id unzip_version xsd_version upload_version data_version first_seen last_update merge`),
		split("zip_log", "id zip_id exception_id message phase_id status_id outcome judged last_update"),
		split("xml_log", "id xml_id exception_id ordinal line col message last_update"),
	}
}

// store writes and reads one schema within one transaction.
type store struct {
	tx     pgx.Tx
	schema string
	tables map[string]table
	alone  *alone // nil where others may write too
}

// sql is a statement written for the schema tracker, for the schema at hand.
func (s *store) sql(statement string) string { return trackersql.Target(s.schema).SQL(statement) }

// newStore makes the temporary tables where this connection has none yet.
func newStore(ctx context.Context, tx pgx.Tx, schema string) (*store, error) {
	s := &store{tx: tx, schema: schema, tables: map[string]table{}}
	var ddl strings.Builder
	for _, t := range tables() {
		s.tables[t.name] = t
		fmt.Fprintf(&ddl, "CREATE TEMP TABLE IF NOT EXISTS %s (LIKE %s.%s) ON COMMIT DELETE ROWS;", t.temp(), schema, t.name)
	}
	if _, err := tx.Exec(ctx, "SET LOCAL client_min_messages = warning; "+ddl.String(), pgx.QueryExecModeSimpleProtocol); err != nil {
		return nil, fmt.Errorf("temporary tables: %w", err)
	}
	return s, nil
}

// upsert writes rows by their ids, which are distinct; at most once per table
// and transaction.
func (s *store) upsert(ctx context.Context, name string, rows [][]any) error {
	if len(rows) == 0 {
		return nil
	}
	t := s.tables[name]
	if s.alone != nil {
		var err error
		if rows, err = s.copyNew(ctx, t, rows); err != nil || len(rows) == 0 {
			return err
		}
	}
	n, err := s.tx.CopyFrom(ctx, pgx.Identifier{t.temp()}, t.columns, pgx.CopyFromRows(rows))
	if err != nil {
		return fmt.Errorf("copy %d rows for %s.%s: %w", len(rows), s.schema, name, err)
	}
	if int(n) != len(rows) {
		return fmt.Errorf("copy for %s.%s: %d of %d rows", s.schema, name, n, len(rows))
	}
	// Every transaction locks rows in the order of their ids, and tables in
	// the same order, so that two of them never wait for each other.
	list := strings.Join(t.columns, ", ")
	set := make([]string, 0, len(t.columns))
	for _, c := range t.columns[1:] {
		set = append(set, c+" = excluded."+c)
	}
	if _, err := s.tx.Exec(ctx, fmt.Sprintf("INSERT INTO %s.%s (%s) SELECT %s FROM %s ORDER BY id ON CONFLICT (id) DO UPDATE SET %s",
		s.schema, name, list, list, t.temp(), strings.Join(set, ", "))); err != nil {
		return fmt.Errorf("write %s.%s: %w", s.schema, name, err)
	}
	return nil
}

// merge adds to every state what its row remembers, and locks the row.
func merge[T any, P adder[T]](ctx context.Context, s *store, name string, states map[uuid.UUID]P) error {
	keys := s.alone.perhaps(ids(states))
	if len(keys) == 0 {
		return nil
	}
	lock := "FOR NO KEY UPDATE"
	if s.alone != nil {
		lock = "" // nobody else is there
	}
	rows, err := s.tx.Query(ctx, fmt.Sprintf("SELECT id, merge FROM %s.%s WHERE id = ANY($1) ORDER BY id %s", s.schema, name, lock), keys)
	if err != nil {
		return fmt.Errorf("read %s.%s: %w", s.schema, name, err)
	}
	defer rows.Close()
	for rows.Next() {
		var id [16]byte
		var text []byte
		if err := rows.Scan(&id, &text); err != nil {
			return fmt.Errorf("read %s.%s: %w", s.schema, name, err)
		}
		old := new(T)
		if err := json.Unmarshal(text, old); err != nil {
			return fmt.Errorf("read %s.%s: column merge of %s: %w", s.schema, name, uuid.UUID(id), err)
		}
		states[id].add(old)
		s.alone.found(name, id)
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read %s.%s: %w", s.schema, name, err)
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
