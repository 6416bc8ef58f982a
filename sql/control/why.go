package control

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
)

// What is read of a file so that people can be told why it is where it is. Every
// statement follows an index and ends at a limit: who asks delays nobody.
const (
	// CountedTo is where counting for people ends: a count that is greater by one
	// means more.
	CountedTo = 10_000
	// pollsBack is in how many of the newest sessions polls of a source are looked for.
	pollsBack = 500
	// fetchesBack is how many acquisitions of a file are read, the newest.
	fetchesBack = 10
)

// KnownFile is a file as control knows it.
type KnownFile struct {
	File

	Exception, Message string // the rule that its name breaks, or why it ended before it was ever fetched
}

// KnownFiles returns those of the files with the given ids that control knows.
func KnownFiles(ctx context.Context, q pg.Querier, ids []string) ([]KnownFile, error) {
	return pg.List(ctx, q, "read files", pgx.RowToStructByName[KnownFile], `SELECT id::text, name, action, coalesce(centre, '') AS centre, current_sha256, current_attempt, attempts, acceptances, held_at, held_by, held_why, `+urgent+`, exception, message
		FROM control.file WHERE id = ANY($1::text[]::uuid[]) ORDER BY action LIMIT 10`, ids)
}

// ListedPoll is a poll of a source, as control knows it.
type ListedPoll struct {
	Session            int64 // its number
	Once               bool  // of a run with --once
	State              string
	Attempts           int
	StartedAt, EndedAt *time.Time
	Exception, Message string
	Postponed          int64
	StoppedBy          string // the limit by which it postponed them
}

// Listings is how a source was listed lately.
type Listings struct {
	CentreActive bool       // whether its centre is: else nobody polls it
	NextDue      *time.Time // when it is polled next at the earliest; nil: at once, or on demand
	Ignored      int64      // entries that its last complete listing showed and nobody takes up
	Kept         int64      // of them, those whose names are kept
	Open         *ListedPoll
	Ended        *ListedPoll // the last that has ended
	Complete     *ListedPoll // the last that was complete; nil where none of the newest was
	Minimal      int         // polls since that were minimal
}

// ListingsOf returns how a source was listed in the newest sessions.
func ListingsOf(ctx context.Context, q pg.Querier, source string) (l Listings, err error) {
	err = q.QueryRow(ctx, `SELECT coalesce(c.active, false), CASE WHEN isfinite(s.next_due) THEN s.next_due END, s.ignored, (SELECT count(*) FROM control.ignored i WHERE i.source = s.id)
		FROM control.source s LEFT JOIN control.centre c ON c.short_name = s.centre WHERE s.id = $1`, source).Scan(&l.CentreActive, &l.NextDue, &l.Ignored, &l.Kept)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return l, fmt.Errorf("read when %s is polled: %w", source, err)
	}
	polls, err := pg.List(ctx, q, "read how "+source+" was polled", pgx.RowToAddrOfStructByName[ListedPoll], `SELECT n.number AS session, n.once, p.state, p.attempts, p.started_at, p.ended_at, p.exception, p.message, p.postponed, p.stopped_by
		FROM (SELECT id, number, once FROM control.session ORDER BY number DESC LIMIT $2) n
		CROSS JOIN LATERAL (SELECT * FROM control.poll WHERE session = n.id AND source = $1 OFFSET 0) p ORDER BY n.number DESC`, source, pollsBack)
	if err != nil {
		return l, err
	}
	for _, p := range polls {
		switch {
		case p.State == "due" || p.State == "running":
			l.Open = p
			continue
		case l.Ended == nil:
			l.Ended = p
		}
		switch {
		case l.Complete != nil:
		case p.State == "complete":
			l.Complete = p
		case p.State == "minimal":
			l.Minimal++
		}
	}
	return l, nil
}

// IgnoredEntry returns the directory, the reason and the filter of an entry that a source's
// last complete listing showed and nobody takes up, where its name is kept; in
// any directory, where none is given.
func IgnoredEntry(ctx context.Context, q pg.Querier, source, directory, name string) (e Ignored, err error) {
	found, err := pg.Maybe(ctx, q, "read what "+source+" shows and nobody takes up", pgx.RowToStructByName[Ignored], `SELECT directory, name, reason, rule FROM control.ignored
		WHERE source = $1 AND name = $3 AND ($2 = '' OR directory = $2) ORDER BY ordinal LIMIT 1`, source, directory, name)
	return pg.Value(found), err
}

// LastLook is what a source showed of a file last.
type LastLook struct {
	Source        string
	State         string // present or gone
	Misses        int    // complete listings in a row that have lacked it
	Look          int32  // its ordinal, from 1
	Class         string // empty: not known any more
	Session       *int64 // number of the session that found it
	SessionOpened *time.Time
	Size          int64
	ModTime       *time.Time
	ListedAt      time.Time // when it was first listed
	AnnouncedAt   *time.Time
	OwnPolling    string // a source of the producing centre that is still being polled in the session
}

// LastLooks returns what each source showed of a file last, by source.
func LastLooks(ctx context.Context, q pg.Querier, file string) ([]LastLook, error) {
	return pg.List(ctx, q, "read what sources showed of a file", pgx.RowToStructByName[LastLook], `SELECT h.source, h.state, h.misses, h.look, coalesce(k.class, '') AS class, s.number AS session, s.opened_at AS session_opened,
			h.size, h.mtime AS mod_time, h.listed_at, k.announced_at,
			coalesce((SELECT min(p.source) FROM control.poll p WHERE p.session = k.session AND p.centre = k.domain AND p.state IN ('due','running')), '') AS own_polling
		FROM control.hosting h LEFT JOIN LATERAL (SELECT * FROM control.look WHERE source = h.source AND file = h.file AND look = h.look OFFSET 0) k ON true
		LEFT JOIN LATERAL (SELECT number, opened_at FROM control.session WHERE id = k.session OFFSET 0) s ON true
		WHERE h.file = $1 ORDER BY h.source LIMIT 1000`, file)
}
