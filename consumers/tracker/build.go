package tracker

import (
	"cmp"
	"context"
	"errors"
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

// windowRecords is how many records are folded and written at once when a
// build is filled. A window takes some 30 MB, and four are under way.
const windowRecords = 20_000

// build is a schema that is made as the tracker's and filled beside it, by nobody
// else.
type build struct {
	pool     *pgxpool.Pool
	offsets  pg.Offsets
	codec    *schemas.Codec
	log      *statusLog
	target   *soleTarget
	meanings map[string]string
	at       map[int32]int64 // up to where the log is applied, by partition
	window   int
	told     func(records int)
}

// make makes the schema, bare of what is cheaper to build once all rows are
// there. The function returned builds that.
func (s *build) make(ctx context.Context) (dress func(context.Context) error, err error) {
	s.at, s.target = map[int32]int64{}, newSoleTarget(s.offsets.Schema)
	if err := trackersql.MigrateInto(ctx, s.pool, s.offsets.Schema); err != nil {
		return nil, err
	}
	return s.undress(ctx)
}

// undress drops the foreign keys, and the indexes that neither keep a table's
// rows apart nor are asked while rows are merged.
func (s *build) undress(ctx context.Context) (func(context.Context) error, error) {
	var drop, add []string
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
		ORDER BY 3, 2`, s.offsets.Schema, s.names("file_source_has_zip", "zip_version", "zip_file"),
		s.names("xml_file_zip_id_outcome_idx", "xml_log_xml_id_idx", "zip_action_download_id_idx")) {
		if err != nil {
			return nil, err
		}
		// Unique keys and indexes come before the foreign keys that need them.
		drop, add = append(drop, d), append(add, a)
	}
	slices.Reverse(drop)
	if err := s.each(ctx, drop); err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		return s.each(ctx, append(add, "ANALYZE "+strings.Join(s.names(tableNames()...), ", ")))
	}, nil
}

func tableNames() []string {
	var out []string
	for _, t := range tables() {
		out = append(out, t.name)
	}
	return out
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

// piece is a part of the log, summed up.
type piece struct {
	fold   *fold
	bad    []unreadable
	ranges []sink.Range // without their records
	n      int
}

// summers is how many parts of the log are summed up at a time.
const summers = 2

// applyTo brings the build up to the given offsets. While one part of the log
// is written the next ones are read and summed up. They are written in order.
func (s *build) applyTo(ctx context.Context, to map[int32]int64) error {
	type job struct {
		ranges []sink.Range
		sum    chan piece // of one
	}
	g, ctx := errgroup.WithContext(ctx)
	todo, pieces := make(chan job), make(chan chan piece, 1)
	from := maps.Clone(s.at)
	g.Go(func() error {
		defer close(todo)
		defer close(pieces)
		return s.log.read(ctx, span{from, to}, s.window, func(ranges []sink.Range) error {
			j := job{ranges, make(chan piece, 1)}
			if err := send(ctx, todo, j); err != nil {
				return err
			}
			return send(ctx, pieces, j.sum)
		})
	})
	for range summers {
		g.Go(func() error {
			for j := range todo {
				p, err := s.sum(j.ranges)
				if err != nil {
					return err
				}
				j.sum <- p
			}
			return nil
		})
	}
	g.Go(func() error {
		for sum := range pieces {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case p := <-sum:
				if err := s.commit(ctx, p); err != nil {
					return err
				}
				s.told(p.n)
			}
		}
		return nil
	})
	return g.Wait()
}

func send[T any](ctx context.Context, to chan<- T, v T) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case to <- v:
		return nil
	}
}

// commit writes a piece in a transaction of its own.
func (s *build) commit(ctx context.Context, p piece) error {
	return pg.InTx(ctx, s.pool, func(tx pgx.Tx) error {
		// What a crash of the database loses of this is built again.
		if _, err := tx.Exec(ctx, "SET LOCAL synchronous_commit = off"); err != nil {
			return fmt.Errorf("settings: %w", err)
		}
		_, err := s.write(ctx, tx, p)
		return err
	})
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

func (s *build) sum(ranges []sink.Range) (piece, error) {
	f, bad, err := foldOf(s.codec, ranges)
	var named *sink.RecordError
	if errors.Is(err, schemas.ErrUnknownSchema) && errors.As(err, &named) {
		return piece{}, fmt.Errorf("record %d of partition %d of %s was written by a newer version: use that: %w", named.Offset, named.Partition, s.log.name, err)
	}
	p := piece{fold: f, bad: bad}
	for _, r := range ranges {
		p.n += len(r.Records)
		r.Records = nil
		p.ranges = append(p.ranges, r)
	}
	return p, err
}

func (s *build) write(ctx context.Context, tx pgx.Tx, p piece) (*store, error) {
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
