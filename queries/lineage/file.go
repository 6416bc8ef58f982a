package lineage

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"tributary/internal/pg"
	"tributary/schemas"
)

// Brought is what one document of a file put into the warehouse.
type Brought struct {
	Document Document `json:"document"`
	Records  []Count  `json:"records"` // by table
	Keys     []Key    `json:"keys"`    // in the document's order
	KeysLeft int64    `json:"keys_left"`
}

// Count counts claims of one table. Records is the sum of the others.
type Count struct {
	Table      string `json:"table"`
	Records    int64  `json:"records"`
	Current    int64  `json:"current"`
	Deletions  int64  `json:"tombstones"` // that say that their key is gone
	Superseded int64  `json:"superseded"`
	Withdrawn  int64  `json:"withdrawn"`
}

// Key is a claim of a document, in short.
type Key struct {
	Table   string `json:"table"`
	Key     []Part `json:"key"`
	Ordinal int32  `json:"ordinal"`
	Line    int    `json:"line"`
	State   string `json:"state"` // Current, Superseded, Withdrawn, or Tombstone for any deletion
}

// File calls each with what every document of a file put where, the latest
// version first. Action narrows it to one file of that name. A file of which
// nothing was ordered is ErrNotFound.
func (r *Reader) File(ctx context.Context, name, action string, each func(*Brought) error) error {
	_, err := r.FilePage(ctx, name, action, 0, 0, each)
	return err
}

// FilePage is the part of File that follows the document at a position, or the first
// part for 0: at most limit documents; 0: all. More tells whether others follow.
func (r *Reader) FilePage(ctx context.Context, name, action string, after int64, limit int, each func(*Brought) error) (more bool, err error) {
	docs, err := r.ofFile(ctx, name, action)
	if err != nil {
		return false, err
	}
	if after > 0 {
		i := slices.IndexFunc(docs, func(d *Document) bool { return d.Position == after })
		docs = docs[min(uint(i), uint(len(docs)-1))+1:] // nothing follows one that there isn't
	}
	if limit > 0 && len(docs) > limit {
		docs, more = docs[:limit], true
	}
	for _, d := range docs {
		b, err := r.Brought(ctx, d)
		if err != nil {
			return false, err
		}
		if err := each(b); err != nil {
			return false, err
		}
	}
	return more, nil
}

// ofFile are the documents of a file that were ordered to be loaded, in File's order.
func (r *Reader) ofFile(ctx context.Context, name, action string) ([]*Document, error) {
	var files []string
	for _, a := range schemas.Actions() {
		if action == "" || action == a {
			files = append(files, schemas.FileID(a, name))
		}
	}
	docs, err := r.documents(ctx, name, files, "", "ALL")
	if err != nil {
		return nil, err
	}
	if len(docs) == 0 {
		return nil, fmt.Errorf("%s: %w: no document of this file was ordered to be loaded; `tributary show` tells where it stands", name, ErrNotFound)
	}
	return docs, nil
}

// Brought tells what a document put where.
func (r *Reader) Brought(ctx context.Context, d *Document) (*Brought, error) {
	b := &Brought{Document: *d, Records: []Count{}, Keys: []Key{}}
	return b, r.brought(ctx, b)
}

func (r *Reader) brought(ctx context.Context, b *Brought) error {
	var total int64
	var c Count
	for err := range pg.Each(ctx, r.Warehouse, "count the records of "+b.Document.Entry, []any{&c.Table, &c.Records, &c.Current, &c.Deletions}, `SELECT record_type, count(*), count(*) FILTER (WHERE is_current), count(*) FILTER (WHERE tombstone)
		FROM warehouse.claim WHERE position = $1 GROUP BY 1 ORDER BY 1`, b.Document.Position) {
		if err != nil {
			return err
		}
		out := c
		if b.Document.Withdrawn {
			out.Withdrawn, out.Deletions = out.Records, 0
		}
		out.Superseded = out.Records - out.Current - out.Deletions - out.Withdrawn
		total += out.Records
		b.Records = append(b.Records, out)
	}
	limit := "ALL"
	if r.Limit > 0 {
		limit = strconv.Itoa(r.Limit)
	}
	var k Key
	var values []*string
	var deletes, current bool
	for err := range pg.Each(ctx, r.Warehouse, "list the records of "+b.Document.Entry, []any{&k.Table, &values, &k.Ordinal, &k.Line, &deletes, &current}, `SELECT record_type, natural_key, ordinal, line, tombstone, is_current FROM warehouse.claim
		WHERE position = $1 ORDER BY ordinal LIMIT `+limit, b.Document.Position) {
		if err != nil {
			return err
		}
		out := k
		out.Key = r.parts(k.Table, append([]*string(nil), values...))
		switch {
		case b.Document.Withdrawn:
			out.State = Withdrawn
		case current:
			out.State = Current
		case deletes:
			out.State = Tombstone
		default:
			out.State = Superseded
		}
		b.Keys = append(b.Keys, out)
	}
	b.KeysLeft = total - int64(len(b.Keys))
	return nil
}
