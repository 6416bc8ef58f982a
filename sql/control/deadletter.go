package control

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
)

// What became of a dead letter that somebody decided about.
const (
	LetterUnderWay  = "under_way"     // retried, and the new attempt has not ended
	LetterCompleted = "completed"     // retried, and the new attempt went all the way
	LetterOrdered   = "ordered_again" // retried, of insert, whose ends control does not see: there is a new letter if it died again
	LetterDied      = "died_again"    // retried, and given up again: there is a new dead letter
	LetterFailed    = "failed"        // retried, and the new attempt failed otherwise
	LetterDropped   = "dropped"       // hidden, with a reason
)

// Decision is who decided what, when and why.
type Decision struct {
	By, Reason string
	At         time.Time // zero: nobody did
}

// DeadLetter is what people decided about a dead letter.
type DeadLetter struct {
	ID, Place, Stage, Class, Cause, Lineage string
	File, Document                          string // ids; empty where the record tells none
	Acquisition                             int64  // of the retry; 0: none
	Attempt                                 int32  // of the retry, as far as numbered
	Deaths                                  int    // retries of the lineage that had died before this one
	Forced                                  bool
	Retry, Drop                             Decision
	Became                                  string // of the retry, one of the above; empty: none
	Failed                                  string // of a notice: why it was not told
	State                                   string `db:"-"` // Became, or dropped
}

const deadLetterSQL = `SELECT l.id::text, l.place, l.stage, l.class, l.cause, l.lineage::text, coalesce(l.file::text, '') AS file, coalesce(l.document::text, '') AS document,
	coalesce(l.acquisition, 0) AS acquisition, coalesce(a.attempt, 0) AS attempt, l.deaths, l.forced,
	jsonb_build_object('at', l.replayed_at, 'by', l.replayed_by, 'reason', l.replay_reason) AS retry,
	jsonb_build_object('at', l.dropped_at, 'by', l.dropped_by, 'reason', l.drop_reason) AS drop,
	CASE WHEN l.stage = 'notify' AND l.replayed_at IS NOT NULL THEN CASE WHEN l.told_at IS NULL THEN 'under_way' WHEN l.told_error = '' THEN 'completed' ELSE 'failed' END
		WHEN a.id IS NULL THEN '' ELSE ` + retryState + ` END AS became, l.told_error AS failed
	FROM control.dead_letter l LEFT JOIN control.acquisition a ON a.id = l.acquisition `

// retryState is what became of the retry of letter l, which is acquisition a.
const retryState = `CASE
	WHEN a.state <> 'ended' THEN 'under_way'
	WHEN a.result = 'failed' AND a.exception = 'quarantined' THEN 'died_again'
	WHEN a.result IN ('failed','cancelled') THEN 'failed'
	WHEN l.stage = 'validate' AND EXISTS (SELECT FROM control.document d WHERE d.run = a.run AND d.file = a.file AND d.attempt = a.attempt
		AND d.download = a.download AND d.unzip = a.unzip AND d.document = l.document AND d.result = 'quarantined') THEN 'died_again'
	WHEN l.stage = 'insert' THEN 'ordered_again'
	ELSE 'completed' END`

// DeadLetters returns what was decided about the letters with the given ids;
// those that nobody decided about are missing.
func DeadLetters(ctx context.Context, q pg.Querier, ids []string) (map[string]DeadLetter, error) {
	all, err := pg.List(ctx, q, "read dead letters", pgx.RowToStructByName[DeadLetter], deadLetterSQL+"WHERE l.id = ANY($1::uuid[])", ids)
	if err != nil {
		return nil, err
	}
	out := make(map[string]DeadLetter, len(all))
	for _, d := range all {
		d.Retry.At, d.Drop.At, d.State = d.Retry.At.UTC(), d.Drop.At.UTC(), d.Became
		if !d.Drop.At.IsZero() {
			d.State = LetterDropped
		}
		out[d.ID] = d
	}
	return out, nil
}

// Deaths returns how many retries of each lineage died again. Of insertion
// control sees no end: whoever asks there has a letter that came after them.
func Deaths(ctx context.Context, q pg.Querier, lineages []string) (map[string]int, error) {
	return pg.Map[string, int](ctx, q, "count deaths of retries", `SELECT l.lineage::text, count(DISTINCT a.id) FROM control.dead_letter l JOIN control.acquisition a ON a.id = l.acquisition
		WHERE l.lineage = ANY($1::uuid[]) AND (l.stage = 'insert' OR `+retryState+` = 'died_again') GROUP BY l.lineage`, lineages)
}

// Retries returns which of the given files' acquisitions are retries of dead
// letters.
func Retries(ctx context.Context, q pg.Querier, files []string) (map[int64]bool, error) {
	ids, err := pg.List(ctx, q, "read retries", pgx.RowTo[int64], `SELECT DISTINCT a.id FROM control.acquisition a JOIN control.dead_letter l ON l.acquisition = a.id WHERE a.file = ANY($1::uuid[])`, files)
	if err != nil {
		return nil, err
	}
	out := map[int64]bool{}
	for _, id := range ids {
		out[id] = true
	}
	return out, nil
}

// VerdictKey names a document of one outcome of one attempt.
type VerdictKey struct {
	Outcome

	Document string
}

// Verdicts returns the results of the given documents, in all attempts of the
// given files.
func Verdicts(ctx context.Context, q pg.Querier, files, documents []string) (map[VerdictKey]string, error) {
	out := map[VerdictKey]string{}
	var k VerdictKey
	var result string
	for err := range pg.Each(ctx, q, "read verdicts", []any{&k.Run, &k.File, &k.Attempt, &k.Download, &k.Unzip, &k.Document, &result}, `SELECT d.run::text, d.file::text, d.attempt, d.download, d.unzip, d.document::text, d.result
		FROM control.document d WHERE d.run IN (SELECT run FROM control.acquisition WHERE file = ANY($1::uuid[])) AND d.file = ANY($1::uuid[]) AND d.document = ANY($2::uuid[])`, files, documents) {
		if err != nil {
			return nil, err
		}
		out[k] = result
	}
	return out, nil
}

// AddAcquisition stores an acquisition with its first attempt and gives it its id.
func AddAcquisition(ctx context.Context, tx pgx.Tx, a *Acquisition) error {
	var headers []byte
	if a.LastHeaders != nil {
		var err error
		if headers, err = headersJSON(a.LastHeaders); err != nil {
			return err
		}
	}
	var row pg.Rows
	row.Add("run", a.Run, "file", a.File, "domain", a.Domain, "source", a.Source, "look", a.Look, "size", a.Size, "state", a.State, "not_before", a.NotBefore,
		"attempt", a.Attempt, "alone", a.Alone, "tried", "{}", "download", a.Download, "unzip", a.Unzip, "sha256", a.SHA256, "documents", a.Documents,
		"rank_own", a.RankOwn, "rank_time", a.RankTime, "rank_ordinal", a.RankOrdinal, "last_event", a.LastEvent, "last_headers", headers,
		"result", a.Result, "ended_at", a.EndedAt)
	err := tx.QueryRow(ctx, row.Insert("control.acquisition")+" RETURNING id", row.Values[0]...).Scan(&a.ID)
	if err != nil {
		return fmt.Errorf("store the acquisition: %w", err)
	}
	a.New = false
	return nil
}

// row is the letter itself, with columns of what was decided about it.
func (d *DeadLetter) row(decided ...any) (row pg.Rows) {
	row.Add(append([]any{"id", d.ID, "place", d.Place, "stage", d.Stage, "class", pg.Text(d.Class), "cause", pg.Text(d.Cause), "lineage", d.Lineage,
		"file", sql.NullString{String: d.File, Valid: d.File != ""}, "document", sql.NullString{String: d.Document, Valid: d.Document != ""}}, decided...)...)
	return row
}

// StoreRetry notes that a letter was retried. What was decided before about
// it is replaced.
func StoreRetry(ctx context.Context, tx pgx.Tx, d DeadLetter) error {
	row := d.row("acquisition", d.Acquisition, "deaths", d.Deaths, "forced", d.Forced,
		"replayed_at", d.Retry.At, "replayed_by", pg.Text(d.Retry.By), "replay_reason", pg.Text(d.Retry.Reason))
	return pg.Exec(ctx, tx, "note the retry of "+d.Place, row.Insert("control.dead_letter")+` ON CONFLICT (id) DO UPDATE SET acquisition=excluded.acquisition, deaths=excluded.deaths, forced=excluded.forced,
			replayed_at=excluded.replayed_at, replayed_by=excluded.replayed_by, replay_reason=excluded.replay_reason, dropped_at=NULL`, row.Values[0]...)
}

// StoreDrop notes that a letter was dropped; false if it was
// before. The letter itself stays where it is.
func StoreDrop(ctx context.Context, tx pgx.Tx, d DeadLetter) (bool, error) {
	row := d.row("dropped_at", d.Drop.At, "dropped_by", pg.Text(d.Drop.By), "drop_reason", pg.Text(d.Drop.Reason))
	n, err := pg.Changed(ctx, tx, "note the drop of "+d.Place, row.Insert("control.dead_letter AS l")+` ON CONFLICT (id) DO UPDATE
		SET dropped_at=excluded.dropped_at, dropped_by=excluded.dropped_by, drop_reason=excluded.drop_reason WHERE l.dropped_at IS NULL`, row.Values[0]...)
	return n == 1, err
}
