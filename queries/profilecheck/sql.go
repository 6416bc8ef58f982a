package profilecheck

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/mapping"
	"tributary/sql/warehouse"
)

// dropTime is how long dropping the scratch database may take.
const dropTime = 30 * time.Second

// SQL makes the profile's tables and views in a scratch database on the server
// that dsn names, lets the server prepare each statement there, and drops the
// database. What is wrong with the SQL is added to the problems; the error says
// why it could not be found out. It needs the mapping, and the right to create
// databases.
func (r *Report) SQL(ctx context.Context, dsn string) (err error) {
	if r.Mapping == nil {
		return nil
	}
	pool, drop, err := scratch(ctx, dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, drop()) }()
	if err := warehouse.Migrate(ctx, pool); err != nil {
		return fmt.Errorf("prepare the scratch database: %w", err)
	}
	if err := warehouse.Apply(ctx, pool, r.fsys, r.Mapping); err != nil {
		if ctx.Err() != nil {
			return err
		}
		r.add(err)
		return nil // whatever uses what wasn't made would fail too
	}
	if r.Statements == nil {
		return nil
	}
	return pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) error { return r.prepare(ctx, conn.Conn()) })
}

// scratch makes a database of its own.
func scratch(ctx context.Context, dsn string) (pool *pgxpool.Pool, drop func() error, err error) {
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, nil, fmt.Errorf("postgres address: %w", err)
	}
	admin, err := pgx.ConnectConfig(ctx, cfg.ConnConfig.Copy())
	if err != nil {
		return nil, nil, fmt.Errorf("connect to Postgres: %w", err)
	}
	name := "tributary_check_" + strings.ToLower(rand.Text()[:12])
	if _, err := admin.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("make a scratch database: %w: name a Postgres where the user may, or leave postgres.url out", err), admin.Close(ctx))
	}
	drop = func() error {
		if pool != nil {
			pool.Close()
		}
		// Even if ctx has ended.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropTime)
		defer cancel()
		_, err := admin.Exec(ctx, "DROP DATABASE "+name+" WITH (FORCE)")
		if err != nil {
			err = fmt.Errorf("drop the scratch database %s: %w", name, err)
		}
		return errors.Join(err, admin.Close(ctx))
	}
	cfg.ConnConfig.Database = name
	cfg.MaxConns = 2
	cfg.ConnConfig.RuntimeParams["application_name"] = "tributary profile check"
	if pool, err = pgxpool.NewWithConfig(ctx, cfg); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("open the scratch database: %w", err), drop())
	}
	return pool, drop, nil
}

// query is SQL of the profile and where it stands.
type query struct {
	file, sql string
	line      int      // where sql begins in file
	columns   []string // that it must return; nil if any
	on        string   // the record table whose candidates it may read
}

// candidates makes the views that checks of a record table may read.
func candidates(ctx context.Context, conn *pgx.Conn, queries []mapping.Query) error {
	if _, err := conn.Exec(ctx, "DROP VIEW IF EXISTS pg_temp.candidate_claim CASCADE"); err != nil {
		return fmt.Errorf("prepare the scratch database: %w", err)
	}
	for _, q := range queries {
		if _, err := conn.Exec(ctx, "CREATE TEMP VIEW "+q.Name+" AS "+q.SQL); err != nil {
			return fmt.Errorf("prepare the scratch database: %w", err)
		}
	}
	return nil
}

func (r *Report) prepare(ctx context.Context, conn *pgx.Conn) error {
	if _, err := conn.Exec(ctx, "CREATE TEMP TABLE candidate (position bigint NOT NULL, record int NOT NULL, PRIMARY KEY (position, record))"); err != nil {
		return fmt.Errorf("prepare the scratch database: %w", err)
	}
	on := ""
	for _, q := range r.queries() {
		if q.on != on && q.on != "" {
			if err := candidates(ctx, conn, r.Mapping.Candidates(q.on)); err != nil {
				return err
			}
			on = q.on
		}
		if err := r.prepareOne(ctx, conn, q); err != nil {
			return err
		}
	}
	return nil
}

func (r *Report) queries() (out []query) {
	for _, c := range r.Statements.Checks {
		out = append(out, query{c.File, c.SQL, c.Line, []string{"position", "record", "ordinal", "line", "message"}, c.On})
		if c.Again != "" {
			out = append(out, query{c.File, c.Again, c.AgainLine, []string{"position", "record"}, c.On})
		}
	}
	for _, s := range slices.Concat(r.Statements.Context, r.Statements.Overview) {
		out = append(out, query{s.File, s.SQL, 1, nil, ""})
	}
	return out
}

// prepareOne has one query prepared. The error is not the query's.
func (r *Report) prepareOne(ctx context.Context, conn *pgx.Conn, q query) error {
	d, err := conn.Prepare(ctx, "", q.sql)
	var pe *pgconn.PgError
	if errors.As(err, &pe) {
		message := pe.Message
		for _, more := range []string{pe.Detail, pe.Hint} {
			if more != "" {
				message += "; " + more
			}
		}
		r.add(fmt.Errorf("%s:%d: %s (SQLSTATE %s)", q.file, q.at(int(pe.Position)), message, pe.Code))
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", q.file, err)
	}
	if len(d.ParamOIDs) > 1 {
		r.add(fmt.Errorf("%s:%d: the statement uses $2, but there is only $1, the centre", q.file, q.line))
	} else if len(d.ParamOIDs) == 1 && !isText(d.ParamOIDs[0]) {
		r.add(fmt.Errorf("%s:%d: the statement uses $1 as something else than a text, but it is the centre's name", q.file, q.line))
	}
	if q.columns == nil {
		return nil
	}
	var names []string
	for _, f := range d.Fields {
		names = append(names, f.Name)
	}
	if !slices.Equal(names, q.columns) {
		r.add(fmt.Errorf("%s:%d: the query must return %s, in this order, not %s", q.file, q.line, strings.Join(q.columns, ", "), strings.Join(names, ", ")))
		return nil
	}
	for _, f := range d.Fields {
		if f.Name == "message" && !isText(f.DataTypeOID) || f.Name != "message" && !isWhole(f.DataTypeOID) {
			r.add(fmt.Errorf("%s:%d: the query's column %s is of another type: message is a text, the others are whole numbers", q.file, q.line, f.Name))
		}
	}
	return nil
}

func isText(oid uint32) bool {
	return oid == pgtype.TextOID || oid == pgtype.VarcharOID || oid == pgtype.NameOID
}

func isWhole(oid uint32) bool {
	return oid == pgtype.Int2OID || oid == pgtype.Int4OID || oid == pgtype.Int8OID
}

// at is the line in the file of a character of the query, counted from 1; 0 is
// an unknown one.
func (q query) at(character int) int {
	n := 0
	for i := range q.sql {
		if n++; n == character {
			return q.line + strings.Count(q.sql[:i], "\n")
		}
	}
	return q.line
}
