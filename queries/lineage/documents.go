package lineage

import (
	"context"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
	"tributary/schemas"
)

// Documents lists the documents of a file that were ordered to be loaded, those of the
// latest version first, and most of them at most: those of one entry, or with an empty
// one all. There may be none.
func (r *Reader) Documents(ctx context.Context, action, name, entry string, most int) ([]*Document, error) {
	return r.documents(ctx, name, []string{schemas.FileID(action, name)}, entry, strconv.Itoa(most))
}

// documents are those of some files of one name.
func (r *Reader) documents(ctx context.Context, name string, files []string, entry, limit string) ([]*Document, error) {
	docs, err := pg.List(ctx, r.Warehouse, "read the documents of "+name, func(row pgx.CollectableRow) (d *Document, err error) {
		d = &Document{}
		return d, row.Scan(d.targets()...)
	}, `SELECT `+documentColumns()+` FROM warehouse.document d`+withdrawal+`
		WHERE d.file = ANY($1) AND ($2 = '' OR d.entry = $2) ORDER BY d.action, d.rank DESC, d.run_number DESC, d.entry COLLATE "C", d.position LIMIT `+limit, files, entry)
	if err != nil {
		return nil, err
	}
	for _, d := range docs {
		d.Why = d.reason()
	}
	return docs, r.when(ctx, docs...)
}

// Successor is a document whose claims are greater than those of another.
type Successor struct {
	Position int64  `json:"position"`
	Action   string `json:"action"`
	File     string `json:"file"`
	Entry    string `json:"entry"`
	Records  int64  `json:"records"` // of the other document, whose keys it decides
}

// maxFollowed is how many records of a document are looked at for what superseded them.
const maxFollowed = 50_000

// Successors lists which documents hold, or delete, the keys of a document's records now,
// those with the most records first and most of them at most. It looks at the first 50,000
// records, in the document's order.
func (r *Reader) Successors(ctx context.Context, position int64, most int) ([]Successor, error) {
	return pg.List(ctx, r.Warehouse, fmt.Sprintf("read what superseded document %d", position), pgx.RowToStructByPos[Successor], `SELECT s.position, s.action, s.file_name, s.entry, count(*)
		FROM (SELECT claim FROM warehouse.claim WHERE position = $1 ORDER BY ordinal LIMIT $2) c,
			LATERAL (SELECT d.position, d.action, d.file_name, d.entry FROM warehouse.claim g JOIN warehouse.document d USING (position)
				WHERE g.claim = c.claim AND NOT d.withdrawn ORDER BY d.version_key DESC, g.position DESC LIMIT 1) s
		WHERE s.position <> $1 GROUP BY 1, 2, 3, 4 ORDER BY 5 DESC, 1 LIMIT $3`, position, maxFollowed, most)
}
