package report

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/queries/columnar/columntype"
)

// Postgres is a schema of Postgres, asked on a connection of a role that may
// only read, in a transaction that is read-only and rolled back.
type Postgres struct {
	// Pool connects as a role that may make another; nothing else is asked on
	// it where that works.
	Pool    *pgxpool.Pool
	Schema  string        // tracker or warehouse; names are looked up there first
	Timeout time.Duration // of a statement; default Timeout, at most MaxSnapshot
}

// stopMargin is how much longer than the server's limit a client waits.
const stopMargin = 5 * time.Second

func (p Postgres) query(ctx context.Context, sql string, header func([]arrow.Field) error, row func([]cell) error) error {
	return explained(p.Read(ctx, func(ctx context.Context, tx pgx.Tx) error { return p.rows(ctx, tx, sql, header, row) }))
}

// Read lets fn ask what people wrote: within the limits of the reader, in a
// transaction that only reads and that is rolled back. What fn says is returned
// as it is; so is what Postgres says.
func (p Postgres) Read(ctx context.Context, fn func(ctx context.Context, tx pgx.Tx) error) error {
	if p.Timeout <= 0 {
		p.Timeout = Timeout
	}
	p.Timeout = min(p.Timeout, MaxSnapshot)
	conn, err := p.connectReader(ctx)
	if errors.Is(err, errNoReader) {
		return p.readOnPool(ctx, err, fn)
	}
	if err != nil {
		return err
	}
	// Session locks and settings end with the connection.
	defer conn.Close(context.WithoutCancel(ctx))
	return p.read(ctx, conn, fn)
}

// readOnPool asks as the configured role, where a server does not let us have
// a reader. That is no superuser's: neither a role nor a transaction that is
// read-only keeps one from harm.
func (p Postgres) readOnPool(ctx context.Context, why error, fn func(ctx context.Context, tx pgx.Tx) error) error {
	return p.Pool.AcquireFunc(ctx, func(c *pgxpool.Conn) error {
		var super bool
		if err := c.QueryRow(ctx, "SELECT rolsuper FROM pg_roles WHERE rolname = session_user").Scan(&super); err != nil {
			return err
		}
		if super {
			return fmt.Errorf("statements are not run as a superuser, whom nothing keeps from writing: let the role %s connect to this server (pg_hba.conf), or configure postgres.url with a role that is no superuser: %w", ReaderRole, why)
		}
		return p.read(ctx, c.Conn(), fn)
	})
}

// read runs fn. The transaction can't be made a writing one after its first
// statement, and is rolled back.
func (p Postgres) read(ctx context.Context, conn *pgx.Conn, fn func(ctx context.Context, tx pgx.Tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, p.Timeout+stopMargin)
	defer cancel()
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{AccessMode: pgx.ReadOnly, IsoLevel: pgx.RepeatableRead})
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // nothing was written
	var set bool
	if err := tx.QueryRow(ctx, `SELECT set_config('statement_timeout', $1, true) IS NOT NULL AND set_config('search_path', $2, true) IS NOT NULL
		AND set_config('work_mem', '64MB', true) IS NOT NULL AND set_config('max_parallel_workers_per_gather', '2', true) IS NOT NULL
		AND set_config('lock_timeout', '10s', true) IS NOT NULL`, fmt.Sprint(p.Timeout.Milliseconds()), p.Schema).Scan(&set); err != nil {
		return err
	}
	return fn(ctx, tx)
}

func (p Postgres) rows(ctx context.Context, tx pgx.Tx, sql string, header func([]arrow.Field) error, row func([]cell) error) error {
	rows, err := tx.Query(ctx, sql, pgx.QueryExecModeDescribeExec, pgx.QueryResultFormats{pgx.TextFormatCode})
	if err != nil {
		return err
	}
	defer rows.Close()
	fields := rows.FieldDescriptions()
	names := make([]arrow.Field, len(fields))
	for i, f := range fields {
		names[i] = arrow.Field{Name: f.Name, Type: columntype.Postgres(f.DataTypeOID, f.TypeModifier), Nullable: true}
	}
	begun := false
	cells := make([]cell, len(fields))
	for rows.Next() {
		if !begun {
			begun = true
			if err := header(names); err != nil {
				return err
			}
		}
		for i, raw := range rows.RawValues() {
			cells[i] = postgresCell(fields[i].DataTypeOID, raw)
			if raw != nil {
				cells[i].value = cells[i].text
			}
		}
		if err := row(cells); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if !begun {
		return header(names)
	}
	return nil
}

// postgresCell makes a cell of a value in Postgres' text form.
func postgresCell(oid uint32, raw []byte) cell {
	if raw == nil {
		return cell{json: []byte("null")}
	}
	text := string(raw)
	switch oid {
	case pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID, pgtype.OIDOID, pgtype.Float4OID, pgtype.Float8OID, pgtype.NumericOID:
		if json.Valid(raw) { // not so NaN and Infinity
			return cell{text: text, json: []byte(text)}
		}
	case pgtype.BoolOID:
		value := "false"
		if text == "t" {
			value = "true"
		}
		return cell{text: value, json: []byte(value)}
	case pgtype.JSONOID, pgtype.JSONBOID:
		return cell{text: text, json: []byte(text)}
	case pgtype.TimestamptzOID:
		for _, layout := range []string{"2006-01-02 15:04:05.999999-07", "2006-01-02 15:04:05.999999-07:00"} {
			if t, err := time.Parse(layout, text); err == nil {
				text = t.UTC().Format(time.RFC3339Nano)
				return cell{text: text, json: quoted(text)}
			}
		}
	}
	return cell{text: text, json: quoted(text)}
}

// quoted is text as JSON, with what is no UTF-8 replaced.
func quoted(s string) []byte {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return []byte(`""`) // text always encodes
	}
	return []byte(strings.TrimSuffix(b.String(), "\n"))
}

// explained says what to do about errors that people meet.
func explained(err error) error {
	if errors.Is(err, errWide) {
		return errWide // that the connection is lost by it tells people nothing
	}
	var p *pgconn.PgError
	if !errors.As(err, &p) {
		return err
	}
	switch p.Code {
	case "25006", "42501":
		return fmt.Errorf("%s: this command only reads: %w", p.Message, err)
	case "53400":
		return fmt.Errorf("the statement needed too much room for temporary files and was stopped: narrow it with WHERE or LIMIT: %w", err)
	case "57014":
		return fmt.Errorf("the statement took too long and was stopped: narrow it with WHERE or LIMIT: %w", err)
	case "42601":
		if strings.Contains(p.Message, "multiple commands") {
			return fmt.Errorf("give one statement at a time: %w", err)
		}
	}
	if p.Hint != "" {
		return fmt.Errorf("%w (%s)", err, p.Hint)
	}
	return err
}
