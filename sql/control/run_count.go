package control

import (
	"context"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
)

// ReplayCounts say how far a replay is: files, or, from data, centres.
type ReplayCounts struct {
	Items, Waiting, UnderWay, Complete, Failed, Refused int64
	Documents                                           int64 // of the attempts that have been requested, as far as known
}

// CountReplay counts what a replay has done.
func CountReplay(ctx context.Context, q pg.Querier, run string) (c ReplayCounts, err error) {
	err = pg.Row(ctx, q, "count what a replay has done", []any{&c.Items, &c.Waiting, &c.UnderWay, &c.Complete, &c.Failed, &c.Refused, &c.Documents}, `SELECT count(*), count(*) FILTER (WHERE i.state = 'waiting'),
			count(*) FILTER (WHERE i.state = 'requested' AND (a.state <> 'ended' OR i.operation IS NOT NULL AND o.position IS NULL)),
			count(*) FILTER (WHERE i.state = 'requested' AND (a.state = 'ended' AND a.result = 'complete' OR o.position IS NOT NULL)),
			count(*) FILTER (WHERE i.state = 'requested' AND a.state = 'ended' AND a.result <> 'complete'),
			count(*) FILTER (WHERE i.state = 'refused'), coalesce(sum(a.documents), 0)
		FROM control.replay_item i LEFT JOIN control.acquisition a ON a.id = i.acquisition LEFT JOIN control.operation o ON o.id = i.operation
		WHERE i.run = $1`, run)
	return c, err
}

// ReplayUnapplied counts the late batches of a replay, or its operations, that
// are not released, or that the warehouse, which is at the given position of the
// order, has not applied.
func ReplayUnapplied(ctx context.Context, q pg.Querier, run string, applied int64) (n int64, err error) {
	return pg.One(ctx, q, "count what of a replay is not applied", pgx.RowTo[int64], `SELECT (SELECT count(*) FROM control.batch b WHERE b.run = $1 AND b.run <> '00000000-0000-5000-8000-000000000000'
			AND (b.released_at IS NULL OR b.last_position > $2))
		+ (SELECT count(*) FROM control.operation o WHERE o.run = $1 AND o.run <> '00000000-0000-5000-8000-000000000000' AND (o.last_position IS NULL OR o.last_position > $2))`,
		run, applied)
}

// ReplayEnd is how many items of a replay ended in one way that asks for
// somebody's attention.
type ReplayEnd struct {
	Refused   bool
	Phase     string // where they failed; empty if refused
	Exception string
	Items     int64
	Example   string // one of the files, as action/name
	Message   string // what was said of it
}

// ReplayEnds returns how those items of a replay ended that failed or were
// refused, the most frequent first.
func ReplayEnds(ctx context.Context, q pg.Querier, run string) ([]ReplayEnd, error) {
	return pg.List(ctx, q, "read how a replay's files ended", pgx.RowToStructByName[ReplayEnd], `SELECT refused, phase, exception, count(*) AS items, min(about COLLATE "C") AS example, (array_agg(message ORDER BY about COLLATE "C"))[1] AS message FROM (
			SELECT i.state = 'refused' AS refused, coalesce(a.phase, '') AS phase, coalesce(a.exception, i.refusal) AS exception,
				coalesce(f.action || '/' || f.name, i.domain) AS about, coalesce(a.message, i.message) AS message
			FROM control.replay_item i LEFT JOIN control.acquisition a ON a.id = i.acquisition LEFT JOIN control.file f ON f.id = i.file
			WHERE i.run = $1 AND (i.state = 'refused' OR a.state = 'ended' AND a.result <> 'complete')) e
		GROUP BY refused, phase, exception ORDER BY count(*) DESC, exception, phase, refused`, run)
}

// ReplayWait is how many items of a replay wait for the same thing.
type ReplayWait struct {
	Items   int64
	Message string // what for
	Example string // one of the files, as action/name
}

// ReplayWaitsFor returns what those items of a replay wait for that were looked
// at and put off, the most frequent first.
func ReplayWaitsFor(ctx context.Context, q pg.Querier, run string) ([]ReplayWait, error) {
	return pg.List(ctx, q, "read what a replay's files wait for", pgx.RowToStructByName[ReplayWait], `SELECT count(*) AS items, i.message, min((f.action || '/' || f.name) COLLATE "C") AS example FROM control.replay_item i JOIN control.file f ON f.id = i.file
		WHERE i.run = $1 AND i.state = 'waiting' AND i.message <> '' GROUP BY i.message ORDER BY count(*) DESC, i.message`, run)
}

// AcceptedDocuments returns the verdicts of all documents of an attempt's
// accepted outcome, in the order of their places in the archive.
func AcceptedDocuments(ctx context.Context, q pg.Querier, a *Acquisition) ([]Document, error) {
	return pg.List(ctx, q, "read documents", pgx.RowToStructByName[Document], `SELECT run::text, file::text, attempt, download, unzip, document::text, entry, kind, doc_date::text, doc_inc, sha256, result, body
		FROM control.document WHERE run=$1 AND file=$2 AND attempt=$3 AND download=$4 AND unzip=$5 ORDER BY entry COLLATE "C"`, a.Run, a.File, a.Attempt, a.Download, a.Unzip)
}
