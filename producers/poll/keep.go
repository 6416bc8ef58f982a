package poll

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/listing"
	"tributary/internal/pg"
	"tributary/sql/control"
)

const (
	// keptShare is how much smaller than the listing from which it differs a
	// difference must be: else a listing is kept whole.
	keptShare = 4
	// mostKept is how many bytes of blobs are kept of one source's listings: one that
	// shows something else each time must not fill the disk.
	mostKept = 1 << 30
	// dropAtOnce is how many old listings one poll deletes.
	dropAtOnce = 100
	// dropEvery is how often it is looked for old listings while sources show the same.
	dropEvery = time.Minute
	// readEvery is how often the listing that was kept last is read again while its
	// source shows the same: one that is damaged meanwhile is replaced.
	readEvery = time.Minute
)

// kept is where is kept what a poll was shown.
type kept struct {
	control.KeptListing
	again bool   // the last listing that is kept shows the same
	lacks string // why nothing is kept; empty: nothing was to be
}

// attributes are what the poll's event tells of it. Listings are named by their blobs.
func (k kept) attributes(to map[string]string) {
	switch {
	case k.lacks != "":
		to["listing_not_kept"] = k.lacks
	case k.SHA256 != "":
		to["listing"] = k.SHA256
		if k.Base != "" {
			to["listing_base"] = k.Base
		}
	}
}

// note notes in control what is kept.
func (k *kept) note(ctx context.Context, tx pgx.Tx, now time.Time) error {
	if k.SHA256 == "" {
		return nil
	}
	put := control.PutListing
	if k.again {
		put = control.TouchListing
	}
	there, err := put(ctx, tx, k.KeptListing, now)
	if err == nil && !there {
		*k = kept{lacks: "the listing from which it differs was deleted meanwhile, since it was old: the next one is kept"}
	}
	return err
}

// keep keeps what a listing showed in the blob store. That it can't is no fault of
// the listing's: the poll goes on, and its event says so.
func (s *Poller) keep(ctx context.Context, conn *pgxpool.Conn, p control.Poll, entries int, log *slog.Logger) kept {
	if s.deps.Blobs == nil || s.cfg.KeepListings == 0 {
		return kept{}
	}
	k, err := s.keepInTime(ctx, conn, p, entries, log)
	if err != nil {
		log.Warn("what the listing showed can't be kept; the poll goes on without", "error", text(err))
		return kept{lacks: text(err)}
	}
	s.read.note(p.Source, k.SHA256, s.deps.Now())
	return k
}

var (
	errKeptTooLate = errors.New("the connection to the database that had the listing is closed, as where recording it took longer than poll.timeout")
	errKeptTooSlow = errors.New("keeping the listing took longer than poll.timeout")
)

func (s *Poller) keepInTime(ctx context.Context, conn *pgxpool.Conn, p control.Poll, entries int, log *slog.Logger) (k kept, err error) {
	if conn.Conn().IsClosed() {
		return kept{}, errKeptTooLate
	}
	if err := s.deps.Space.Low(); err != nil {
		return kept{}, err
	}
	row, whole, err := control.LastListing(ctx, conn, p.Source)
	if err != nil {
		return kept{}, err
	}
	if row != nil && entries <= control.ShownAtOnce && s.read.lately(p.Source, row.SHA256, s.deps.Now()) {
		if same, err := shows(ctx, conn, row); err != nil || same {
			return kept{KeptListing: *row, again: true}, err
		}
	}
	last := s.openLast(ctx, row, whole, log)
	if last != nil {
		defer last.all.Close()
	}
	until := time.Now().Add(s.cfg.Timeout.D())
	err = pg.InTx(ctx, conn, func(tx pgx.Tx) error {
		if last != nil {
			if k, err = s.differing(ctx, tx, p, last, until); err != nil || k.SHA256 != "" {
				return err
			}
		}
		k, err = s.write(ctx, tx, listing.Head{Source: p.Source, Poll: p.ID}, nil, until, func(listing.Sum, int64) bool { return true })
		return err
	})
	return k, err
}

// lastKept is the listing of a source that was kept last.
type lastKept struct {
	control.KeptListing
	whole int64           // size in bytes of the blob that holds all entries of it or of its base
	all   *listing.Reader // that blob
}

// openLast opens the listing that was kept last; nil if there is none, or it can't be
// read any more.
func (s *Poller) openLast(ctx context.Context, row *control.KeptListing, whole int64, log *slog.Logger) *lastKept {
	if row == nil {
		return nil
	}
	r, err := listing.Open(ctx, s.deps.Blobs, row.SHA256)
	if err != nil {
		log.Warn("the listing that was kept last can't be used; this one is kept whole", "error", text(err))
		return nil
	}
	return &lastKept{*row, whole, r}
}

// shows tells whether the connection's listing, of few entries, is one that is kept. It
// takes neither a transaction nor the blob.
func shows(ctx context.Context, conn *pgxpool.Conn, row *control.KeptListing) (bool, error) {
	few, err := control.FewShown(ctx, conn)
	if err != nil {
		return false, err
	}
	sum, err := listing.Digest(listing.Of(few))
	return sum.Digest == row.Digest, err
}

// reads are when this member last wrote or read the listing of each source that was kept
// last, to its end.
type reads struct {
	mu sync.Mutex
	by map[string]readAt
}

type readAt struct {
	sha256 string
	at     time.Time
}

// note notes that a source's listing is kept in a blob that could be read at a time. It
// says nothing new of one that was read lately, and was only compared since.
func (r *reads) note(source, sha256 string, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.by == nil {
		r.by = map[string]readAt{}
	}
	was := r.by[source]
	if since := at.Sub(was.at); was.sha256 != sha256 || since < 0 || since >= readEvery {
		r.by[source] = readAt{sha256, at}
	}
}

// lately tells whether a source's listing was read from a blob less than readEvery ago.
func (r *reads) lately(source, sha256 string, at time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	was := r.by[source]
	since := at.Sub(was.at)
	return was.sha256 == sha256 && since >= 0 && since < readEvery
}

// differing keeps what differs from the last listing, or from the one from which that
// differs. Where that is as good as all, it keeps nothing.
func (s *Poller) differing(ctx context.Context, tx pgx.Tx, p control.Poll, last *lastKept, until time.Time) (kept, error) {
	h := listing.Head{Source: p.Source, Poll: p.ID, Base: cmp.Or(last.Base, last.SHA256)}
	k, err := s.write(ctx, tx, h, last.all.Whole, until, func(sum listing.Sum, bytes int64) bool {
		return sum.Digest != last.Digest && keptShare*bytes <= last.whole
	})
	if err == nil && k.Digest == last.Digest {
		return kept{KeptListing: last.KeptListing, again: true}, nil
	}
	return k, err
}

// write writes a listing into a blob, which is there if it is wanted, by what was
// written and the size of the blob.
func (s *Poller) write(ctx context.Context, tx pgx.Tx, h listing.Head, base listing.Next, until time.Time, wanted func(listing.Sum, int64) bool) (k kept, err error) {
	all, err := control.AllShown(ctx, tx, time.Until(until))
	if err != nil {
		return kept{}, err
	}
	w, err := s.deps.Blobs.Create(ctx)
	if err != nil {
		return kept{}, err
	}
	defer func() { err = errors.Join(err, w.Abort()) }()
	sum, err := listing.Write(w, h, base, func() (listing.Entry, error) {
		if time.Now().After(until) {
			return listing.Entry{}, errKeptTooSlow
		}
		return all()
	})
	if err != nil {
		return kept{}, err
	}
	ref := w.Ref()
	k.KeptListing = control.KeptListing{Source: h.Source, Base: h.Base, Digest: sum.Digest, Entries: sum.Entries, Bytes: ref.Size}
	if wanted(sum, ref.Size) {
		ref, err = w.Commit()
		k.SHA256 = ref.SHA256
	}
	return k, err
}

// dropOld deletes listings that are kept no longer, of whatever source: after polls that
// were shown what the last one was, once a minute.
func (s *Poller) dropOld(ctx context.Context, p control.Poll, k kept, log *slog.Logger) {
	if s.deps.Blobs == nil {
		return
	}
	now := s.deps.Now()
	if last := s.dropped.Load(); k.again && last != nil && now.Sub(*last) < dropEvery {
		return
	}
	s.dropped.Store(&now)
	before := now.Add(-s.cfg.KeepListings.D())
	err := pg.InTx(ctx, s.deps.Pool, func(tx pgx.Tx) error {
		blobs, err := control.DropListings(ctx, tx, before, p.Source, mostKept, dropAtOnce)
		for _, name := range blobs {
			// Before they are forgotten: what a crash leaves is forgotten later.
			err = errors.Join(err, s.deps.Blobs.Remove(ctx, name))
		}
		return err
	})
	if err != nil && ctx.Err() == nil {
		log.Warn("old listings can't be deleted now; a later poll deletes them", "error", text(err))
	}
}
