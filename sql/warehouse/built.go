package warehouse

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/mapping"
	"tributary/internal/pg"
	"tributary/sql/beside"
)

// Built is the schema that a rebuild fills beside the live one.
const Built = "warehouse_rebuild"

// Replaced is the schema that was live before a rebuild; it is dropped as soon
// as nobody reads it any more.
const Replaced = "warehouse_replaced"

// Target is where statements act in a rebuild that are written for the live schema.
func Target() beside.Target { return beside.Target{From: Schema, To: Built} }

// Exists tells whether a schema of the warehouse is there: Schema, Built or
// Replaced.
func Exists(ctx context.Context, q pg.Querier, schema string) (bool, error) {
	return pg.One(ctx, q, "look for the schema "+schema, pgx.RowTo[bool], "SELECT to_regclass($1) IS NOT NULL", schema+".state")
}

// HasChain tells whether the live schema notes the digests of positions: one of
// an older version doesn't.
func HasChain(ctx context.Context, q pg.Querier) (there bool, err error) {
	return pg.One(ctx, q, "look for the chain of positions", pgx.RowTo[bool], "SELECT to_regclass('warehouse.chain') IS NOT NULL")
}

// Applied tells whether the live warehouse applied a record with a digest as a
// position.
func Applied(ctx context.Context, q pg.Querier, position int64, digest []byte) (applied bool, err error) {
	if there, err := HasChain(ctx, q); err != nil || !there {
		return false, err
	}
	return pg.One(ctx, q, "ask whether a position was applied", pgx.RowTo[bool], "SELECT EXISTS (SELECT FROM warehouse.chain WHERE position = $1 AND digest = $2)", position, digest)
}

// MakeBuilt makes the schema Built anew: empty, with the tables and views of
// the profile. What people have put into the profile's own lists in the live
// schema, which no order tells of, is taken over. What is made only to be compared
// need not be durable, and never becomes the live schema.
func MakeBuilt(ctx context.Context, pool *pgxpool.Pool, fsys fs.FS, m *mapping.Mapping, durable bool) error {
	sub, err := fs.Sub(files, "migrations")
	if err != nil {
		return fmt.Errorf("migrations of the warehouse: %w", err)
	}
	target := Target()
	target.Unlogged = !durable
	if err := pg.Migrate(ctx, pool, Built, target.Files(sub)); err != nil {
		return err
	}
	p, err := readProfile(fsys, m)
	if err != nil {
		return err
	}
	// Functions keep their text, in which everything is renamed; the file is run
	// again, as it is, when the schema becomes the live one.
	p.tables, p.views = target.Qualify(p.tables), target.SQL(p.views)
	if err := pg.InTx(ctx, beside.DB{Beginner: pool, Target: target}, func(tx pgx.Tx) error { return p.apply(ctx, tx) }); err != nil {
		return fmt.Errorf("tables of the profile %s: %w", m.Name, err)
	}
	live, err := Exists(ctx, pool, Schema)
	if err != nil || !live {
		return err
	}
	names, err := own(ctx, pool)
	if err != nil {
		return err
	}
	if err := beside.Strangers(ctx, pool, Schema, Built, names); err != nil {
		return err
	}
	return pg.InTx(ctx, pool, func(tx pgx.Tx) error { return carryLists(ctx, tx) })
}

// carryLists takes over what the profile's own lists hold: those of its tables
// that its SQL fills when it makes them.
func carryLists(ctx context.Context, tx pgx.Tx) error {
	var tables []string
	if err := tx.QueryRow(ctx, "SELECT tables FROM "+Built+".profile").Scan(&tables); err != nil {
		return fmt.Errorf("read the profile's tables: %w", err)
	}
	live, err := beside.Shapes(ctx, tx, Schema)
	if err != nil {
		return err
	}
	built, err := beside.Shapes(ctx, tx, Built)
	if err != nil {
		return err
	}
	for _, name := range tables {
		l, there := live[name]
		if !there {
			continue
		}
		id := pgx.Identifier{name}.Sanitize()
		var list bool
		if err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT FROM "+Built+"."+id+")").Scan(&list); err != nil {
			return fmt.Errorf("look at the list %s: %w", name, err)
		}
		if !list {
			continue
		}
		if _, err := tx.Exec(ctx, fmt.Sprintf("DELETE FROM %[1]s.%[2]s; INSERT INTO %[1]s.%[2]s (%[3]s) SELECT %[3]s FROM %[4]s.%[2]s", Built, id, l.Common(built[name]).List(), Schema)); err != nil {
			return fmt.Errorf("take over the list %s: %w", name, err)
		}
	}
	return nil
}

// own are the tables and views of the profile that the live schema was made with:
// another profile's are not made again, and may go.
func own(ctx context.Context, q pg.Querier) (names []string, err error) {
	return pg.One(ctx, q, "read what the profile has made", pgx.RowTo[[]string], "SELECT coalesce(min(tables), '{}') || coalesce(min(views), '{}') FROM warehouse.profile")
}

// shapes are the tables of the schema Built, but for those that hold the state of running
// members, and for the chain, which is judged with the log.
func shapes(ctx context.Context, q pg.Querier) (map[string]beside.Shape, error) {
	return beside.Shapes(ctx, q, Built, "state", "chain", "try", "lease", "outbox", "outbox_letter", "profile", "schema_version")
}

// AnalyzeBuilt lets the planner know what the schema Built holds, so that nobody
// waits for that after the swap.
func AnalyzeBuilt(ctx context.Context, q pg.Querier) error {
	tables, err := shapes(ctx, q)
	if err != nil {
		return err
	}
	for _, name := range beside.Names(tables) {
		if _, err := q.Exec(ctx, "ANALYZE "+pgx.Identifier{Built, name}.Sanitize()); err != nil {
			return fmt.Errorf("analyze %s: %w", name, err)
		}
	}
	return nil
}
