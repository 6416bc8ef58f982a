package tracker

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"tributary/internal/kafka"
	"tributary/internal/pg"
	"tributary/internal/stage/sink"
	"tributary/schemas"
	trackersql "tributary/sql/tracker"
)

// windowRecords is how many records are summed up at once when a build is filled. A
// window takes some 15 MB, and four are under way.
const windowRecords = 10_000

// thingsPerRecord is how many things, for each record of a window, what is written at
// once may speak of. A thing takes some 2 kB, and what is told of it lies far apart: of
// 8,000 zips, parts of a quarter of this took three times as long.
const thingsPerRecord = 8

// summers is how many parts of the log are summed up at a time.
const summers = 2

// build is a schema that is made as the tracker's and filled beside it, by nobody
// else.
type build struct {
	pool     *pgxpool.Pool
	offsets  pg.Offsets
	codec    *schemas.Codec
	log      *statusLog
	target   *soleTarget
	meanings map[string]string
	compared bool            // it is made to be compared only
	at       map[int32]int64 // up to where the log is applied, by partition
	window   int
	told     func(records int)
}

// make makes the schema, bare of what is cheaper to build once all rows are
// there. The function returned builds that.
func (s *build) make(ctx context.Context) (dress func(context.Context) error, err error) {
	s.at, s.target = map[int32]int64{}, newSoleTarget(s.offsets.Schema)
	migrate := trackersql.MigrateInto
	if s.compared {
		migrate = trackersql.MigrateUnlogged
	}
	if err := migrate(ctx, s.pool, s.offsets.Schema); err != nil {
		return nil, err
	}
	return s.undress(ctx)
}

// undress drops the triggers that count rows, the foreign keys, and the indexes that
// neither keep a table's rows apart nor are asked while rows are merged, and lets pages be
// filled: nearly all rows are written once.
func (s *build) undress(ctx context.Context) (func(context.Context) error, error) {
	triggers, count, err := s.triggers(ctx)
	if err != nil {
		return nil, err
	}
	var drop, indexes, keys []string
	var d, a string
	var foreign bool
	for err := range pg.Each(ctx, s.pool, "look at the constraints of "+s.offsets.Schema, []any{&d, &a, &foreign}, `
		SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname),
			format('ALTER TABLE %s ADD CONSTRAINT %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid)), contype = 'f'
		FROM pg_constraint WHERE connamespace = $1::text::regnamespace AND (contype = 'f' OR contype = 'u' AND conrelid::regclass::text = ANY($2))
		UNION ALL
		SELECT format('DROP INDEX %s', i.indexrelid::regclass), pg_get_indexdef(i.indexrelid), false
		FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
		WHERE c.relnamespace = $1::text::regnamespace AND NOT i.indisunique
		AND i.indexrelid::regclass::text <> ALL($3)
		UNION ALL
		SELECT format('ALTER TABLE %s RESET (fillfactor)', oid::regclass), format('ALTER TABLE %s SET (%s)', oid::regclass, array_to_string(reloptions, ', ')), false
		FROM pg_class WHERE relnamespace = $1::text::regnamespace AND relkind = 'r' AND reloptions IS NOT NULL
		ORDER BY 3, 2`, s.offsets.Schema, s.names("file_source_has_zip", "zip_version", "zip_file"),
		s.names("xml_file_zip_id_outcome_idx", "xml_log_xml_id_idx")) {
		if err != nil {
			return nil, err
		}
		if drop = append(drop, d); foreign {
			keys = append(keys, a)
		} else {
			indexes = append(indexes, a)
		}
	}
	slices.Reverse(drop)
	if err := s.each(ctx, append(triggers, drop...)); err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		// Foreign keys need the unique ones. What is counted and analyzed needs neither.
		g, working := errgroup.WithContext(ctx)
		g.Go(func() error { return s.each(working, slices.Concat(indexes, keys)) })
		g.Go(func() error {
			return s.each(working, []string{trackersql.Recount(s.offsets.Schema), "ANALYZE " + strings.Join(s.names(tableNames()...), ", ")})
		})
		if err := g.Wait(); err != nil {
			return err
		}
		return s.each(ctx, count)
	}, nil
}

// triggers are statements that drop the triggers of the schema, and that make them.
func (s *build) triggers(ctx context.Context) (drop, add []string, err error) {
	var d, a string
	for err := range pg.Each(ctx, s.pool, "look at the triggers of "+s.offsets.Schema, []any{&d, &a}, `SELECT format('DROP TRIGGER %I ON %s', tgname, tgrelid::regclass), pg_get_triggerdef(t.oid)
		FROM pg_trigger t JOIN pg_class c ON c.oid = tgrelid WHERE c.relnamespace = $1::text::regnamespace AND NOT tgisinternal ORDER BY 1`, s.offsets.Schema) {
		if err != nil {
			return nil, nil, err
		}
		drop, add = append(drop, d), append(add, a)
	}
	return drop, add, nil
}

func (s *build) names(of ...string) []string {
	out := make([]string, 0, len(of))
	for _, n := range of {
		out = append(out, s.offsets.Schema+"."+n)
	}
	return out
}

func (s *build) each(ctx context.Context, statements []string) error {
	for _, sql := range statements {
		if _, err := s.pool.Exec(ctx, sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	return nil
}

// applyTo brings the build up to the given offsets. While parts of the log are written
// the next ones are read and summed up. What is written are parts in their order, as
// many together as speak of few enough things: most of what a row is made of lies far
// apart in a log, and each row that is written twice costs more than all of its events.
func (s *build) applyTo(ctx context.Context, to map[int32]int64) error {
	from := maps.Clone(s.at)
	read := func(ctx context.Context, next func([]sink.Range) error) error {
		return s.log.read(ctx, span{from, to}, s.window, next)
	}
	var gathered *piece
	err := sink.InOrder(ctx, 1, slices.Repeat([]func([]sink.Range) (*piece, error){s.sum}, summers), read, func(ctx context.Context, p *piece) error {
		gathered = gathered.and(p)
		if gathered.fold.size() < thingsPerRecord*s.window {
			return nil
		}
		err := s.commit(ctx, gathered)
		gathered = nil
		return err
	})
	if err != nil || gathered == nil {
		return err
	}
	return s.commit(ctx, gathered)
}

// commit writes a piece in a transaction of its own.
func (s *build) commit(ctx context.Context, p *piece) error {
	err := pg.InTx(ctx, s.pool, func(tx pgx.Tx) error {
		// What a crash of the database loses of this is built again.
		if _, err := tx.Exec(ctx, "SET LOCAL synchronous_commit = off"); err != nil {
			return fmt.Errorf("settings: %w", err)
		}
		_, err := s.write(ctx, tx, p)
		return err
	})
	if err == nil {
		s.told(p.n)
	}
	return err
}

// applyIn does so within a transaction, for what is little.
func (s *build) applyIn(ctx context.Context, tx pgx.Tx, to map[int32]int64) error {
	return s.log.read(ctx, span{maps.Clone(s.at), to}, s.window, func(ranges []sink.Range) error {
		p, err := s.sum(ranges)
		if err != nil {
			return err
		}
		st, err := s.write(ctx, tx, p)
		if err != nil {
			return err
		}
		return st.emptyTemps(ctx)
	})
}

func (s *build) write(ctx context.Context, tx pgx.Tx, p *piece) (*store, error) {
	st, err := newStore(ctx, tx, s.target, 0, s.meanings)
	if err != nil {
		return nil, err
	}
	if err := noteUnreadable(ctx, st, p.bad); err != nil {
		return nil, err
	}
	if err := p.fold.write(ctx, st); err != nil {
		return nil, err
	}
	for _, r := range p.ranges {
		if err := s.offsets.Advance(ctx, tx, r.Topic, r.Partition, r.From, r.To); err != nil {
			return nil, err
		}
		s.at[r.Partition] = r.To
	}
	return st, nil
}

// positions are the offsets that a schema has stored of the log.
func positions(ctx context.Context, q pg.Querier, o pg.Offsets) (map[int32]int64, error) {
	out := map[int32]int64{}
	var p int32
	var at int64
	for err := range pg.Each(ctx, q, "read the offsets of "+o.Schema, []any{&p, &at},
		"SELECT partition, next_offset FROM "+o.Schema+".consumed WHERE consumer_group = $1 AND topic = $2", o.Group, schemas.StatusChangedTopic) {
		if err != nil {
			return nil, err
		}
		out[p] = at
	}
	return out, nil
}

// further are the greater of two offsets, by partition.
func further(a, b map[int32]int64) map[int32]int64 {
	out := maps.Clone(a)
	for p, at := range b {
		out[p] = max(out[p], at)
	}
	return out
}

// byPlace orders ranges by where they lie in the log.
func byPlace(a, b sink.Range) int {
	return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.From, b.From))
}

// groupOffsets are the offsets of the tracker's group in a schema.
func groupOffsets(schema, prefix string) pg.Offsets {
	return pg.Offsets{Schema: schema, Group: kafka.GroupName(prefix, Name)}
}
