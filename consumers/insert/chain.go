package insert

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/chain"
	"tributary/internal/pg"
	"tributary/schemas"
	"tributary/sql/warehouse"
)

// page is how many digests are read of the warehouse at once.
const page = 1024

// maxStopText is how much of what has stopped insertion is noted, in bytes.
const maxStopText = 4 << 10

// link is the item's record, as the chain sees it.
func (it *item) link() chain.Link {
	return chain.Link{Position: it.ev.Position, Offset: it.offset, Digest: it.digest, Previous: it.ev.Previous}
}

// judge judges the records of document.ordered as they are read, by the rule of
// package chain. What was applied is known from the warehouse, but for the
// newest positions, which may still be on their way there.
type judge struct {
	in        *Inserter
	head      chain.Head
	committed int64 // everything below was applied when reading began
	window    int   // of the newest positions
	recent    map[int64]chain.Link
	newest    []int64 // those of recent, in order
	seen      bool    // whether what was applied last has been met since reading began
	ignored   bool    // whether a record was passed over

	from, to int64 // what was read of the warehouse last
	page     map[int64]chain.Link
}

func newJudge(in *Inserter, at progress) *judge {
	h := at.head
	h.Last.Position = at.position - 1
	return &judge{in: in, head: h, committed: at.position, window: aheadPositions + 2*in.cfg.Batch, recent: map[int64]chain.Link{}}
}

// begin says that reading begins, or begins anew: what was passed over is met
// again.
func (j *judge) begin() {
	j.seen = false
	j.head.Forget()
}

// meets says whether a record is the one applied last, met for the first time
// since reading began: what was passed over before it can't be named any more.
func (j *judge) meets(l chain.Link) bool {
	if j.seen || !j.head.Known || l.Digest != j.head.Last.Digest {
		return false
	}
	j.begin()
	j.seen = true
	return true
}

// follow takes the record that comes next.
func (j *judge) follow(ctx context.Context, it *item) error {
	before := j.head.Last.Position
	if err := j.head.Follow(it.link()); err != nil {
		return j.explain(ctx, err)
	}
	j.noteTaken(it, before)
	return nil
}

// passOver has a record take its position since somebody decided so.
func (j *judge) passOver(it *item, d chain.Decision) {
	before := j.head.Last.Position
	j.head.PassOver(it.link(), d)
	j.noteTaken(it, before)
	if !d.Missing {
		it.passOver(d)
	}
}

// noteTaken notes what was taken behind a position.
func (j *judge) noteTaken(it *item, before int64) {
	it.begin, it.lost, j.seen = j.head.Begin, it.ev.Position-before-1, true
	j.recent[it.ev.Position] = it.link()
	if j.newest = append(j.newest, it.ev.Position); len(j.newest) > j.window {
		delete(j.recent, j.newest[0])
		j.newest = j.newest[1:]
	}
}

// oldest is the first of the positions that may still be on their way to the
// warehouse.
func (j *judge) oldest() int64 {
	if len(j.newest) == 0 {
		return j.committed
	}
	return j.newest[0]
}

// repeat judges a record of a position below the next one, which was applied
// before, or is about to be.
func (j *judge) repeat(ctx context.Context, l chain.Link, next int64) error {
	first, known, err := j.first(ctx, l.Position)
	if err != nil {
		return err
	}
	if !known && l.Position == next-1 && !j.head.Known && j.head.Begin == 0 && l.Previous == "" {
		// Older programs note no digests: what was applied last is read again,
		// so that the first one that is chained can be compared with it.
		j.begin()
		j.head.Last, j.head.Known, j.seen = l, true, true
		return nil
	}
	same, err := j.head.Repeat(first, known, l)
	if err != nil {
		return j.explain(ctx, err)
	}
	if known && !same {
		j.in.deps.Log.Warn("a position comes again with another content; the first one counts, since older programs drew it and nothing proves which is genuine",
			"position", l.Position, "offset", l.Offset, "digest", l.Digest, "first_offset", first.Offset, "first_digest", first.Digest)
	}
	return nil
}

// first is what was applied as a position, if that is known.
func (j *judge) first(ctx context.Context, position int64) (chain.Link, bool, error) {
	if l, known := j.recent[position]; known {
		return l, true, nil
	}
	if position < j.from || position > j.to {
		if err := j.turn(ctx, position, max(j.committed, j.oldest())-1); err != nil {
			return chain.Link{}, false, err
		}
	}
	l, known := j.page[position]
	l.Position = position
	return l, known, nil
}

// turn reads digests of the warehouse from a position on, none behind last.
func (j *judge) turn(ctx context.Context, position, last int64) error {
	j.from, j.to, j.page = position, min(position+page-1, last), map[int64]chain.Link{}
	return j.in.links(ctx, j.from, j.to, func(l chain.Link) { j.page[l.Position] = l })
}

// links reads what was noted of the positions from one to another when they were
// applied.
func (in *Inserter) links(ctx context.Context, from, to int64, take func(chain.Link)) error {
	sql := in.target.SQL("SELECT position, digest, topic_offset FROM warehouse.chain WHERE position BETWEEN $1 AND $2 ORDER BY position")
	return readLinks(ctx, in.deps.Pool, take, sql, from, to)
}

// allLinks reads what was noted in the live warehouse.
func (in *Inserter) allLinks(ctx context.Context, take func(chain.Link)) error {
	return readLinks(ctx, in.deps.Pool, take, "SELECT position, digest, topic_offset FROM warehouse.chain ORDER BY position")
}

func readLinks(ctx context.Context, q pg.Querier, take func(chain.Link), sql string, args ...any) error {
	var l chain.Link
	var digest []byte
	for err := range pg.Each(ctx, q, "read digests of positions", []any{&l.Position, &digest, &l.Offset}, sql, args...) {
		if err != nil {
			return err
		}
		copy(l.Digest[:], digest)
		take(l)
	}
	return nil
}

// head is where the chain stands in the warehouse.
func (in *Inserter) head(ctx context.Context, at progress) (h chain.Head, err error) {
	if h.Begin, err = in.chainBegin(ctx); err != nil {
		return h, err
	}
	h.Last.Position = at.position - 1
	err = in.links(ctx, h.Last.Position, h.Last.Position, func(l chain.Link) { h.Last, h.Known = l, true })
	return h, err
}

// chainBegin is the position with which the chain begins in the live warehouse; 0
// if it has not.
func (in *Inserter) chainBegin(ctx context.Context) (begin int64, err error) {
	return pg.One(ctx, in.deps.Pool, "read where the chain of positions begins", pgx.RowTo[int64], "SELECT coalesce(chain_begin, 0) FROM warehouse.state")
}

// storeLinks notes what is applied.
func storeLinks(ctx context.Context, tx pgx.Tx, group []*item) error {
	positions, offsets, digests := make([]int64, len(group)), make([]int64, len(group)), make([][]byte, len(group))
	for i, it := range group {
		positions[i], offsets[i], digests[i] = it.ev.Position, it.offset, it.digest[:]
	}
	return pg.Exec(ctx, tx, "note the digests of positions", "INSERT INTO warehouse.chain (position, digest, topic_offset) SELECT * FROM unnest($1::bigint[], $2::bytea[], $3::bigint[])", positions, digests, offsets)
}

// sayStopped notes in the warehouse which record has stopped insertion for a person
// to decide, so that whoever asks is told; other errors are left as they are.
func (in *Inserter) sayStopped(ctx context.Context, epoch int64, err error) error {
	var broken *chain.BrokenError
	contradicts := errors.As(err, &broken)
	if !contradicts && !errors.Is(err, ErrGap) && !errors.Is(err, errUnreadable) {
		return err
	}
	text := err.Error()
	if contradicts {
		text = broken.Error()
		in.metrics.broken.Set(1)
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer stop()
	noted := pg.InTx(ctx, in.deps.Pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "UPDATE warehouse.state SET chain_broken = $1, chain_broken_at = next_position", pg.Text(schemas.Cut(text, maxStopText))); err != nil {
			return fmt.Errorf("note that insertion has stopped: %w", err)
		}
		return in.lease().Check(ctx, tx, epoch)
	})
	return errors.Join(err, noted)
}

// Stopped says at which record of document.ordered insertion has stopped until a
// person decides: it contradicts another one, can't be read, or comes behind
// positions that are missing. It is empty if there is none, or the warehouse is of
// an older version.
func Stopped(ctx context.Context, q pg.Querier) (text string, err error) {
	if there, err := warehouse.HasChain(ctx, q); err != nil || !there {
		return "", err
	}
	return pg.One(ctx, q, "ask at which record insertion has stopped", pgx.RowTo[string], "SELECT coalesce((SELECT chain_broken FROM warehouse.state WHERE chain_broken_at = next_position), '')")
}

// readLog judges document.ordered as a whole, up to where it ends now, or to a
// gap; last is the last position that it holds, also behind the gap.
func (in *Inserter) readLog(ctx context.Context) (log *chain.Log, last int64, err error) {
	log = &chain.Log{Decided: in.deps.Decided}
	whole := true
	err = in.readWhole(ctx, schemas.DocumentOrderedTopic, func(r *kgo.Record) error {
		it, err := in.decode(r)
		l, head := it.link(), log.Head()
		if _, decided := head.About(l, in.deps.Decided); err != nil && !decided {
			return err
		}
		if whole {
			whole = log.Take(l)
		}
		if !whole && !in.deps.Decided.Foreign(l.Digest) {
			last = max(last, l.Position)
		}
		return nil
	})
	return log, max(last, log.Head().Last.Position), err
}
