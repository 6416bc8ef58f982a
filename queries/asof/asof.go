// Package asof answers what the tracker would have answered at a moment of the
// past.
//
// The tracker is a function of the set of events. So a moment of the past is
// the tracker of the events up to it, by their own times: these are read from
// the history and written, with the tracker's own code, into tables of the
// same form, of which the very same questions are asked. The tables are
// temporary ones of one connection: nobody else sees them, nobody waits for
// them, and they end with the connection, however that ends.
//
// An answer needs only the events that it depends on. Those of files are found
// by the files' names, since all that a name has shares rows (a zip lies under
// several actions); sources and centres that files refer to are events too, few
// and always read.
package asof

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/pg"
	"tributary/schemas"
	historysql "tributary/sql/history"
	trackersql "tributary/sql/tracker"
)

// Event is one event of the log, and when it happened.
type Event struct {
	schemas.StatusChanged

	At time.Time
}

// Write adds events to the rows of a schema within the caller's transaction, as
// often as it is called. It returns the indices of those that cannot be placed
// anywhere.
type Write func(ctx context.Context, tx pgx.Tx, events []Event) (unplaced []int, err error)

// DefaultMaxEvents bounds the events read for one answer, unless more is asked
// for: some minutes' work.
const DefaultMaxEvents = 2_000_000

// Reader reads moments of the past.
type Reader struct {
	// History is the connection to its database.
	History driver.Conn
	// Postgres says where the tables are made, on a connection of their own.
	Postgres *pgxpool.Pool
	// Writer returns what fills an empty schema that is made as the tracker's
	// is, with the tracker's own code; with the attempts of shadow runs, if these are
	// wanted.
	Writer func(schema string, shadows bool) Write
	// MaxEvents bounds what is read; 0: DefaultMaxEvents.
	MaxEvents int64
	// MaxMemory bounds what each statement takes of the history's memory, in bytes;
	// 0: what the database allows.
	MaxMemory int64
	// Progress, unless nil, is told now and then how many of the events have
	// been read.
	Progress func(done, all int64)

	chunk, chunkBytes int // events, and bytes of text, written at a time; 0: the constants of the same names
}

// chunkSize is how many events are written at a time.
func (r *Reader) chunkSize() int { return cmp.Or(r.chunk, chunk) }

// chunkRoom is how many bytes of text are written at a time.
func (r *Reader) chunkRoom() int { return cmp.Or(r.chunkBytes, chunkBytes) }

// Filled says how far the history goes.
type Filled struct {
	// Since is the time of its first event. Zero if there is nothing.
	Since time.Time
	// Until is the time up to which it can answer: that of its last event, or,
	// where the tracker has read more of the log, of the last event of the
	// partition that is furthest behind. Zero if there is nothing.
	Until time.Time
	// Behind is how many records of the log the tracker has read and the history
	// has not; 0 too where there is no tracker to compare with.
	Behind int64
	// Lost is how many records at the log's beginning the history lacks, for
	// example because they were too old to be kept.
	Lost int64
}

// temporary is the name by which Postgres knows a connection's own schema.
const temporary = "pg_temp"

// At makes the tracker's tables as they were at a moment, as far as the scope
// goes, and lets ask read them. Statements are written as for the tracker.
func (r *Reader) At(ctx context.Context, moment time.Time, s Scope, ask func(q pg.Querier, f Filled) error) error {
	return r.with(ctx, s.Replays, func(p *past) error {
		filled, err := p.filled(ctx)
		if err != nil {
			return err
		}
		parts := s.parts(moment)
		if err := p.limit(ctx, parts); err != nil {
			return err
		}
		if err := p.fill(ctx, parts); err != nil {
			return err
		}
		if s.Findings {
			if err := p.found(ctx, moment); err != nil {
				return err
			}
		}
		return ask(p, filled)
	})
}

// Filled says how far the history goes, and makes no moment.
func (r *Reader) Filled(ctx context.Context) (f Filled, err error) {
	err = r.connected(ctx, func(p *past) error {
		f, err = p.filled(ctx)
		return err
	})
	return f, err
}

// past is a tracker of some moment, on a connection of its own. It is a
// pg.Querier that puts the temporary schema in place of the tracker's.
type past struct {
	*Reader

	conn  *pgx.Conn
	write Write
	all   int64 // events to be read
	done  int64
	seen  int64 // events when statistics were last taken
}

// with has do read tables that are made for it, of shadow runs' attempts too if it asks
// for them.
func (r *Reader) with(ctx context.Context, shadows bool, do func(p *past) error) error {
	return r.connected(ctx, func(p *past) error {
		p.write = r.Writer(temporary, shadows)
		if err := p.make(ctx); err != nil {
			return err
		}
		return do(p)
	})
}

func (r *Reader) connected(ctx context.Context, do func(p *past) error) (err error) {
	conn, err := pgx.ConnectConfig(ctx, r.Postgres.Config().ConnConfig)
	if err != nil {
		return fmt.Errorf("connect to Postgres: %w", err)
	}
	defer func() {
		// With the connection its tables go, also when the context has ended.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		if cerr := conn.Close(ctx); err == nil && cerr != nil {
			err = fmt.Errorf("close the connection to Postgres: %w", cerr)
		}
	}()
	return do(&past{Reader: r, conn: conn})
}

// needless matches statements of migrations whose work is for nobody in tables that are
// empty and end with their connection: a quarter of the time to make these went into them.
var needless = regexp.MustCompile(`(?m)^(?:COMMENT ON [^';]*'(?:[^']|'')*'|TRUNCATE [^;]*|(?:CREATE|DROP) INDEX [^;]*);`)

// make makes the tables. What refers to what is not checked: the events of a
// scope leave out what it does not need. Of the indexes only those are made that
// keep rows apart, or that are asked while rows are merged or one file is shown.
func (p *past) make(ctx context.Context) error {
	statements, err := trackersql.Statements(temporary)
	if err != nil {
		return err
	}
	asked := []string{"xml_file (zip_id, outcome)", "xml_log (xml_id)", "zip_log (zip_id)", "zip_action (download_id)"}
	text := needless.ReplaceAllStringFunc(strings.Join(statements, "\n"), func(statement string) string {
		if on, index := strings.CutPrefix(statement, "CREATE INDEX ON "+temporary+"."); index && slices.Contains(asked, strings.TrimSuffix(on, ";")) {
			return statement
		}
		return ""
	})
	text = "SET temp_buffers = '64MB'; SET client_min_messages = warning;" + text + `;
DO $$ DECLARE c record; BEGIN
  FOR c IN SELECT conrelid::regclass AS t, conname FROM pg_constraint WHERE contype = 'f' AND connamespace = pg_my_temp_schema() LOOP
    EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', c.t, c.conname);
  END LOOP;
END $$`
	if _, err := p.conn.Exec(ctx, text, pgx.QueryExecModeSimpleProtocol); err != nil {
		return fmt.Errorf("make temporary tables: %w", err)
	}
	return nil
}

// Exec executes a statement written for the tracker.
func (p *past) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	return p.conn.Exec(ctx, trackersql.Target(temporary).SQL(sql), args...)
}

// Query runs a query written for the tracker.
func (p *past) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	return p.conn.Query(ctx, trackersql.Target(temporary).SQL(sql), args...)
}

// QueryRow is Query for one row.
func (p *past) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	return p.conn.QueryRow(ctx, trackersql.Target(temporary).SQL(sql), args...)
}

// filled finds out how far the history goes.
func (p *past) filled(ctx context.Context) (Filled, error) {
	type reach struct {
		next int64
		last time.Time
	}
	type place struct {
		topic     string
		partition int32
	}
	var f Filled
	has := map[place]reach{}
	var at place
	var r reach
	var first int64
	var since time.Time
	for err := range historysql.Each(p.reading(ctx), p.History, "read the history", []any{&at.topic, &at.partition, &first, &r.next, &since, &r.last},
		"SELECT topic, partition, min(offset), max(offset) + 1, minIf(time, unreadable = '' AND time > "+microseconds+"), max(time) FROM event GROUP BY topic, partition", noTime.UnixMicro()) {
		if err != nil {
			return f, err
		}
		has[at] = r
		f.Lost += first
		if since.Unix() > 0 && (f.Since.IsZero() || since.Before(f.Since)) { // the epoch: there is none
			f.Since = since
		}
		if r.last.After(f.Until) {
			f.Until = r.last
		}
	}
	// The live tracker, which may not be there.
	var next int64
	for err := range pg.Each(ctx, p.conn, "read the tracker's position", []any{&at.topic, &at.partition, &next}, "SELECT topic, partition, max(next_offset) FROM "+trackersql.Schema+".consumed GROUP BY topic, partition") {
		var absent *pgconn.PgError
		switch r := has[at]; {
		case errors.As(err, &absent) && (absent.Code == "42P01" || absent.Code == "3F000"):
			return f, nil
		case err != nil:
			return f, err
		case r.next < next:
			f.Behind += next - r.next
			if r.last.Before(f.Until) {
				f.Until = r.last
			}
		}
	}
	return f, nil
}
