package control

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
)

// KeptListing is a row of control.listing.
type KeptListing struct {
	SHA256, Source string
	Base           string // the blob from which it differs; empty: it holds all entries
	Digest         string // as listing.Sum has it
	Entries, Bytes int64
}

// LastListing returns the listing of a source that was kept last, and the size of
// the blob in bytes that holds all entries of it or of its base; nil if none is kept.
func LastListing(ctx context.Context, q pg.Querier, source string) (last *KeptListing, whole int64, err error) {
	k := KeptListing{Source: source}
	err = q.QueryRow(ctx, `SELECT l.sha256, coalesce(l.base, ''), l.digest, l.entries, l.bytes, coalesce(b.bytes, l.bytes)
		FROM control.listing l LEFT JOIN control.listing b ON b.sha256 = l.base WHERE l.source = $1 ORDER BY l.listed_at DESC, l.sha256 LIMIT 1`, source).
		Scan(&k.SHA256, &k.Base, &k.Digest, &k.Entries, &k.Bytes, &whole)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("read the last listing of %s: %w", source, err)
	}
	return &k, whole, nil
}

// PutListing notes a listing that is kept. False says that the one from which it
// differs was deleted meanwhile, since it was old, and nothing is noted.
func PutListing(ctx context.Context, tx pgx.Tx, k KeptListing, now time.Time) (kept bool, err error) {
	if k.Base != "" {
		if n, err := pg.Changed(ctx, tx, "note what "+k.Source+" showed", "SELECT FROM control.listing WHERE sha256 = $1 FOR KEY SHARE", k.Base); err != nil || n == 0 {
			return false, err
		}
	}
	err = pg.Exec(ctx, tx, "note what "+k.Source+" showed", `INSERT INTO control.listing (sha256, source, base, digest, entries, bytes, listed_at) VALUES ($1, $2, nullif($3, ''), $4, $5, $6, $7)
		ON CONFLICT (sha256) DO UPDATE SET listed_at = greatest(control.listing.listed_at, excluded.listed_at)`, k.SHA256, k.Source, k.Base, k.Digest, k.Entries, k.Bytes, now)
	return err == nil, err
}

// TouchListing notes that a listing that is kept was shown again. False says that it
// was deleted meanwhile, since it was old.
func TouchListing(ctx context.Context, tx pgx.Tx, k KeptListing, now time.Time) (kept bool, err error) {
	n, err := pg.Changed(ctx, tx, "note what "+k.Source+" showed", "UPDATE control.listing SET listed_at = greatest(listed_at, $2) WHERE sha256 = $1", k.SHA256, now)
	return n == 1, err
}

// DropListings forgets listings that nothing else needs, those shown last before a
// moment and, of one source, the oldest beyond so many bytes together: at most
// limit. It returns their blobs, which are to be deleted before the transaction ends.
func DropListings(ctx context.Context, tx pgx.Tx, before time.Time, source string, most int64, limit int) ([]string, error) {
	return pg.List(ctx, tx, "forget old listings", pgx.RowTo[string], `WITH old AS (
			(SELECT sha256 FROM control.listing l WHERE listed_at < $1 AND NOT EXISTS (SELECT FROM control.listing d WHERE d.base = l.sha256) ORDER BY listed_at LIMIT $4)
			UNION SELECT sha256 FROM (SELECT sha256, sum(bytes) OVER (ORDER BY listed_at DESC, sha256) AS so_far FROM control.listing WHERE source = $2) l
				WHERE so_far > $3 AND NOT EXISTS (SELECT FROM control.listing d WHERE d.base = l.sha256))
		DELETE FROM control.listing WHERE sha256 IN (SELECT sha256 FROM control.listing WHERE sha256 IN (SELECT sha256 FROM old) LIMIT $4 FOR UPDATE SKIP LOCKED) RETURNING sha256`,
		before, source, most, limit)
}

// ForgetListing forgets a listing whose blob can't be used, and those that differ from
// it: nobody has what they held any more. It returns their blobs, which are to be
// deleted before the transaction ends; none if no listing has that blob.
func ForgetListing(ctx context.Context, tx pgx.Tx, sha256 string) ([]string, error) {
	// Locked first, so that no difference from it comes meanwhile.
	if n, err := pg.Changed(ctx, tx, "lock a damaged listing", "SELECT FROM control.listing WHERE sha256 = $1 FOR UPDATE", sha256); err != nil || n == 0 {
		return nil, err
	}
	return pg.List(ctx, tx, "forget a damaged listing", pgx.RowTo[string], "DELETE FROM control.listing WHERE sha256 = $1 OR base = $1 RETURNING sha256", sha256)
}
