package control

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
)

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
	return pg.Exec(ctx, tx, "store documents", `INSERT INTO control.document (run, file, attempt, download, unzip, document, entry, kind, doc_date, doc_inc, sha256, result, body)
		SELECT * FROM unnest($1::text[]::uuid[], $2::text[]::uuid[], $3::int[], $4::text[], $5::text[], $6::text[]::uuid[], $7::text[], $8::text[],
			$9::text[]::date[], $10::bigint[], $11::text[], $12::text[], $13::bytea[])
		ON CONFLICT DO NOTHING`,
		c.run, c.file, c.attempt, c.download, c.unzip, c.document, c.entry, c.kind, c.date, c.inc, c.sha256, c.result, c.body)
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
	return pg.Exec(ctx, tx, "note news of files", `UPDATE control.acquisition SET news_at = clock_timestamp()
		WHERE id IN (`+extractedOf+`) AND news_at < clock_timestamp() - $2::interval`, files, younger)
}
