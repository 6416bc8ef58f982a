package control

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
	"tributary/schemas"
)

// EnsureBatch returns the batch of a session and a domain, opening it if need
// be.
func EnsureBatch(ctx context.Context, tx pgx.Tx, session, domain string, now time.Time) (string, error) {
	id := schemas.ID("batch", session, domain)
	_, err := tx.Exec(ctx, "INSERT INTO control.batch (id, session, domain, opened_at) VALUES ($1,$2,$3,$4) ON CONFLICT DO NOTHING", id, session, domain, now)
	if err != nil {
		return "", fmt.Errorf("open batch: %w", err)
	}
	return id, nil
}

// extractedOf finds the acquisitions of files that wait for documents, file by
// file. The state is compared behind the fence: before it, Postgres would read for
// each file the index of all that are under way, which may be very many.
const extractedOf = `SELECT x.id FROM unnest($1::uuid[]) f(id) CROSS JOIN LATERAL (SELECT e.id, e.state FROM control.acquisition e WHERE e.file = f.id OFFSET 0) x WHERE x.state = 'extracted'`

// CompleteExtracted ends, among the given files whose rows the caller has
// locked, the acquisitions all of whose documents have ended. It returns the
// files whose next acquisition may go on.
func CompleteExtracted(ctx context.Context, tx pgx.Tx, files []string, now time.Time) ([]string, error) {
	return pg.List(ctx, tx, "complete files", pgx.RowTo[string], `UPDATE control.acquisition a SET state='ended', result='complete', ended_at=$2
		WHERE a.id IN (`+extractedOf+`) AND a.documents <= (SELECT count(*) FROM control.document d
			WHERE d.run=a.run AND d.file=a.file AND d.attempt=a.attempt AND d.download=a.download AND d.unzip=a.unzip)
		RETURNING a.file::text`, files, now)
}

// DocumentNews notes that documents of the given files have come, whose rows the
// caller has locked: they have not gone silent. News that is younger than the
// given time is not noted again, so that not every document writes its file's row.
func DocumentNews(ctx context.Context, tx pgx.Tx, files []string, younger time.Duration) error {
	if _, err := tx.Exec(ctx, `UPDATE control.acquisition SET news_at = clock_timestamp()
		WHERE id IN (`+extractedOf+`) AND news_at < clock_timestamp() - $2::interval`, files, younger); err != nil {
		return fmt.Errorf("note news of files: %w", err)
	}
	return nil
}

// AfterEnds does what follows when acquisitions of the given files have ended:
// versions that came after their batch was released go into a late batch of
// their domain, and the next acquisition of each file may go on. Nothing follows
// from the end of a shadow's, and nothing waits for it.
func AfterEnds(ctx context.Context, tx pgx.Tx, files []string, now time.Time) error {
	if len(files) == 0 {
		return nil
	}
	// Shared locks keep a batch from being released between this look at it
	// and the commit.
	if _, err := tx.Exec(ctx, `SELECT 1 FROM control.batch WHERE id IN (SELECT batch FROM control.acquisition WHERE file = ANY($1::uuid[])) ORDER BY id FOR SHARE`, files); err != nil {
		return fmt.Errorf("lock batches: %w", err)
	}
	late, err := pg.List(ctx, tx, "find late files", pgx.RowToStructByName[struct{ Domain, Run string }], `SELECT DISTINCT a.domain, a.run::text FROM control.acquisition a LEFT JOIN control.batch b ON b.id = a.batch
		WHERE a.file = ANY($1::uuid[]) AND a.ended_at = $2 AND a.result = 'complete' AND NOT control.is_shadow(a.run) AND (b.id IS NULL OR b.released_at IS NOT NULL) ORDER BY 1, 2`, files, now)
	if err != nil {
		return err
	}
	for _, l := range late {
		id, err := lateBatch(ctx, tx, l.Domain, l.Run, now)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE control.acquisition a SET batch = $3 WHERE a.file = ANY($1::uuid[]) AND a.ended_at = $2 AND a.result = 'complete' AND a.domain = $4 AND a.run = $5
			AND NOT EXISTS (SELECT FROM control.batch b WHERE b.id = a.batch AND b.released_at IS NULL)`, files, now, id, l.Domain, l.Run); err != nil {
			return fmt.Errorf("put files into a late batch: %w", err)
		}
	}
	if _, err := tx.Exec(ctx, `UPDATE control.acquisition a SET state='wanted' WHERE a.id IN (
		SELECT q.next FROM unnest($1::uuid[]) f(id) CROSS JOIN LATERAL (
			SELECT min(o.id) FILTER (WHERE o.state = 'queued') AS next, count(*) FILTER (WHERE o.state NOT IN ('queued','ended')) AS busy
			FROM control.acquisition o WHERE o.file = f.id AND NOT control.is_shadow(o.run)) q WHERE q.busy = 0)`, files); err != nil {
		return fmt.Errorf("go on with queued files: %w", err)
	}
	return nil
}

// lateBatch returns the domain's open late batch of a run, opening it if need
// be, and keeps it from being released until the transaction ends. A replay has
// its own, so that what is live never waits for it nor it for what is live.
func lateBatch(ctx context.Context, tx pgx.Tx, domain, run string, now time.Time) (string, error) {
	for {
		var id string
		err := tx.QueryRow(ctx, "SELECT id::text FROM control.batch WHERE domain=$1 AND run=$2 AND session IS NULL AND released_at IS NULL FOR SHARE", domain, run).Scan(&id)
		if err == nil {
			return id, nil
		}
		if !errors.Is(err, pgx.ErrNoRows) {
			return "", fmt.Errorf("late batch of %s: %w", domain, err)
		}
		if _, err := tx.Exec(ctx, "INSERT INTO control.batch (id, domain, run, opened_at) VALUES ($1,$2,$3,$4) ON CONFLICT DO NOTHING", uuid.NewString(), domain, run, now); err != nil {
			return "", fmt.Errorf("late batch of %s: %w", domain, err)
		}
	}
}

// Session is a session whose batches are all out, or that has been applied.
type Session struct {
	ID       string
	Number   int64
	OpenedAt time.Time
	Failed   string   // of one that has been applied: the earliest phase in which a poll or a file failed for good; empty if none did
	Batches  []string // of one that has been applied
}

// EndableSessions returns the sessions all of whose batches are out, but whose
// end has no position yet.
func EndableSessions(ctx context.Context, q pg.Querier, l Limits) ([]Session, error) {
	rows, err := q.Query(ctx, `SELECT s.id::text, s.number, s.opened_at, '', ARRAY[]::text[] FROM control.session s
		WHERE s.closed_at IS NULL AND s.end_position IS NULL AND (s.polls_ended_at IS NOT NULL OR s.opened_at < $1)
		  AND NOT EXISTS (`+openLooks+`)
		  AND NOT EXISTS (SELECT FROM control.batch b WHERE b.session = s.id AND b.released_at IS NULL)
		ORDER BY s.number`, l.PollCutoff)
	if err != nil {
		return nil, fmt.Errorf("find sessions that end: %w", err)
	}
	return pgx.CollectRows(rows, scanSession)
}

func scanSession(r pgx.CollectableRow) (s Session, err error) {
	err = r.Scan(&s.ID, &s.Number, &s.OpenedAt, &s.Failed, &s.Batches)
	return s, err
}

// EndSession gives a session's end its position; false if another did, or closed it.
func EndSession(ctx context.Context, tx pgx.Tx, id string, position int64) (bool, error) {
	tag, err := tx.Exec(ctx, "UPDATE control.session SET end_position=$2 WHERE id=$1 AND end_position IS NULL AND closed_at IS NULL", id, position)
	if err != nil {
		return false, fmt.Errorf("end session: %w", err)
	}
	return tag.RowsAffected() == 1, nil
}

// AppliedSessions returns the sessions that are open though the warehouse has
// applied their end. Of a file that a session fetched more than once, the last time
// counts; it is looked for among the file's fetches, which are few, not the batch's.
func AppliedSessions(ctx context.Context, q pg.Querier, applied int64) ([]Session, error) {
	rows, err := q.Query(ctx, `SELECT s.id::text, s.number, s.opened_at,
			CASE WHEN EXISTS (SELECT FROM control.poll p WHERE p.session = s.id AND p.state NOT IN ('complete', 'minimal')) THEN 'zip_name'
			ELSE coalesce((SELECT a.phase FROM control.batch b JOIN control.acquisition a ON a.batch = b.id WHERE b.session = s.id AND a.result = 'failed'
				AND NOT EXISTS (SELECT FROM control.acquisition l WHERE l.file = a.file AND l.id > a.id AND l.batch IS NOT DISTINCT FROM a.batch OFFSET 0)
				ORDER BY array_position(ARRAY['zip_name', 'download', 'zip_md5', 'unzip'], a.phase) LIMIT 1), '') END,
			ARRAY(SELECT b.id::text FROM control.batch b WHERE b.session = s.id)
		FROM control.session s WHERE s.closed_at IS NULL AND s.end_position <= $1 ORDER BY s.number`, applied)
	if err != nil {
		return nil, fmt.Errorf("find sessions that are applied: %w", err)
	}
	return pgx.CollectRows(rows, scanSession)
}

// Document is what sequence keeps of a document that has ended before
// insertion.
type Document struct {
	Run      string
	File     string
	Attempt  int32
	Download string
	Unzip    string
	Document string
	Entry    string
	Kind     string
	DocDate  *string
	DocInc   int64
	SHA256   string
	Result   string
	Body     []byte
}

// StoreDocuments keeps the verdicts of documents; a repeat changes nothing.
func StoreDocuments(ctx context.Context, tx pgx.Tx, docs []Document) error {
	var c documentColumns
	for _, d := range docs {
		c.add(d)
	}
	_, err := tx.Exec(ctx, `INSERT INTO control.document (run, file, attempt, download, unzip, document, entry, kind, doc_date, doc_inc, sha256, result, body)
		SELECT * FROM unnest($1::text[]::uuid[], $2::text[]::uuid[], $3::int[], $4::text[], $5::text[], $6::text[]::uuid[], $7::text[], $8::text[],
			$9::text[]::date[], $10::bigint[], $11::text[], $12::text[], $13::bytea[])
		ON CONFLICT DO NOTHING`,
		c.run, c.file, c.attempt, c.download, c.unzip, c.document, c.entry, c.kind, c.date, c.inc, c.sha256, c.result, c.body)
	if err != nil {
		return fmt.Errorf("store documents: %w", err)
	}
	return nil
}

// documentColumns are documents as arrays, one a column.
type documentColumns struct {
	run, file, download, unzip, document, entry, kind, sha256, result []string
	attempt                                                           []int32
	date                                                              []*string
	inc                                                               []int64
	body                                                              [][]byte
}

func (c *documentColumns) add(d Document) {
	c.run, c.file, c.attempt = append(c.run, d.Run), append(c.file, d.File), append(c.attempt, d.Attempt)
	c.download, c.unzip, c.document = append(c.download, d.Download), append(c.unzip, d.Unzip), append(c.document, d.Document)
	c.entry, c.kind, c.date, c.inc = append(c.entry, d.Entry), append(c.kind, d.Kind), append(c.date, d.DocDate), append(c.inc, d.DocInc)
	c.sha256, c.result, c.body = append(c.sha256, d.SHA256), append(c.result, d.Result), append(c.body, d.Body)
}
