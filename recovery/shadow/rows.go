package shadow

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"

	"golang.org/x/sync/errgroup"

	"tributary/internal/archive"
	"tributary/internal/blob"
	"tributary/internal/document"
	"tributary/internal/mapping"
	"tributary/internal/pg"
	"tributary/schemas"
)

// loading is what loading a document came to: its rows, or what was wrong.
type loading struct {
	sum     sum
	rows    int64
	failure string // an exception; empty if it was loaded
}

// sum is a digest of claims in any order.
type sum struct {
	claims int64
	digest [4]uint64
}

// add takes a claim: which key, of what content, and how its rows lie.
func (s *sum) add(ordinal, layout int32, claim, fingerprint mapping.ID) {
	var b [8 + 2*len(claim)]byte
	binary.BigEndian.PutUint32(b[:], uint32(ordinal))
	binary.BigEndian.PutUint32(b[4:], uint32(layout))
	copy(b[8:], claim[:])
	copy(b[8+len(claim):], fingerprint[:])
	h := sha256.Sum256(b[:])
	for i := range s.digest {
		s.digest[i] += binary.BigEndian.Uint64(h[8*i:])
	}
	s.claims++
}

// rows completes the comparison of documents that are valid in the shadow:
// whether the mapping of now loads them, and makes the rows that are there.
func (c *Comparer) rows(ctx context.Context, all []*Document) error {
	loaded, err := c.loaded(ctx, all)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, d := range all {
		if d.now == nil || !d.Shadow.valid() {
			continue
		}
		before := loaded[place{d.File, d.Archive, d.Entry}]
		if d.Live.valid() && (before == nil || before.current) {
			if before != nil {
				failed(&d.Live, before.failure)
				failed(&d.Shadow, before.failure)
			}
			continue // not inserted yet, or by this very mapping
		}
		group.Go(func() error {
			now, err := c.load(ctx, d)
			if err != nil {
				return err
			}
			failed(&d.Shadow, now.failure)
			if d.Live.valid() {
				failed(&d.Live, before.failure)
				if d.Change = d.classify(); d.Change == Unchanged && d.Live.valid() && before.loading != now {
					d.Change = RowsDiffer
				}
				return nil
			}
			d.Change = d.classify()
			return nil
		})
	}
	return group.Wait()
}

// failed turns a valid verdict into that of a document that could not be loaded.
func failed(v *Verdict, exception string) {
	if exception != "" {
		v.Result, v.Phase, v.Exception = schemas.FailedEnd, string(schemas.Upload), exception
	}
}

// place names a document of a version.
type place struct{ file, archive, entry string }

// inserted is a document that the warehouse has applied.
type inserted struct {
	loading
	position int64
	current  bool // it was loaded by the mapping of now
}

// loaded finds what the warehouse made of the documents that are valid live.
func (c *Comparer) loaded(ctx context.Context, all []*Document) (map[place]*inserted, error) {
	var files, archives, entries []string
	for _, d := range all {
		if d.live != nil && d.Live.valid() && d.Shadow.valid() {
			files, archives, entries = append(files, d.File), append(archives, d.Archive), append(entries, d.Entry)
		}
	}
	out := map[place]*inserted{}
	if len(files) == 0 {
		return out, nil
	}
	mappings, err := c.mappings(ctx, files)
	if err != nil {
		return nil, err
	}
	at := map[int64]*inserted{}
	var positions []int64
	var p place
	var kind string
	var d inserted
	for err := range pg.Each(ctx, c.Warehouse, "read what is loaded", []any{&p.file, &p.archive, &p.entry, &d.position, &kind, &d.rows, &d.failure}, `SELECT DISTINCT ON (d.file, d.archive, d.entry) d.file, d.archive, d.entry, d.position, d.kind, d.rows, CASE WHEN d.state = 'loaded' THEN '' ELSE d.exception END
		FROM unnest($1::text[], $2::text[], $3::text[]) k (file, archive, entry) JOIN warehouse.document d ON d.file = k.file AND d.archive = k.archive AND d.entry = k.entry
		WHERE d.phase = 'upload' ORDER BY d.file, d.archive, d.entry, d.version_key DESC`, files, archives, entries) {
		if err != nil {
			return nil, err
		}
		one := d
		by := mappings[d.position]
		out[p], one.current = &one, by != "" && by == c.Versions.Upload[kind]
		if !one.current {
			at[d.position] = &one
			positions = append(positions, d.position)
		}
	}
	var position int64
	var ordinal, layout int32
	var claim, fingerprint mapping.ID
	for err := range pg.Each(ctx, c.Warehouse, "read the claims of what is loaded", []any{&position, &ordinal, &layout, &claim, &fingerprint}, "SELECT position, ordinal, layout, claim, fingerprint FROM warehouse.claim WHERE position = ANY($1)", positions) {
		if err != nil {
			return nil, err
		}
		at[position].sum.add(ordinal, layout, claim, fingerprint)
	}
	return out, nil
}

// mappings tells by which version of its mapping a document was loaded, by its
// position, as far as the tracker knows. Where it does not, the document is
// mapped anew and compared.
func (c *Comparer) mappings(ctx context.Context, files []string) (map[int64]string, error) {
	out := map[int64]string{}
	var position int64
	var version string
	for err := range pg.Each(ctx, c.Tracker, "ask the tracker by what documents were loaded", []any{&position, &version}, `SELECT position, upload_version FROM tracker.document
		WHERE file_id IN (SELECT DISTINCT unnest($1::text[]::uuid[])) AND position IS NOT NULL AND upload_version IS NOT NULL`, files) {
		if err != nil {
			return nil, err
		}
		out[position] = version
	}
	return out, nil
}

// load makes a document's rows by the mapping of now, and keeps nothing of them
// but their digest and their keys.
func (c *Comparer) load(ctx context.Context, d *Document) (out loading, err error) {
	defer func() {
		if p := recover(); p != nil { // as insert would give it up
			out, err = loading{failure: schemas.Quarantined}, nil
		}
	}()
	v := d.now
	if v.DocCentre != "" && v.DocCentre != d.Centre {
		return loading{failure: mapping.CentreMismatch}, nil
	}
	sink := &digesting{seen: map[mapping.ID]bool{}}
	err = document.Read(ctx, c.Blobs, v.DocumentRef, nil, func(r io.Reader) error {
		return c.Mapping.Read(r, mapping.Document{Kind: v.Kind, Centre: d.Centre}, sink)
	})
	var wrong *mapping.DocumentError
	switch {
	case blob.Unusable(err):
		return out, fmt.Errorf("%s: read %s of %s/%s: %w; tributary blobs verify --repair has it fetched again", blob.DamagedName, d.Entry, d.Action, d.FileName, err)
	case errors.Is(err, archive.ErrDamaged):
		return loading{failure: mapping.Unreadable}, nil
	case errors.As(err, &wrong):
		return loading{failure: wrong.Exception}, nil
	case err != nil:
		return out, fmt.Errorf("read %s of %s/%s: %w", d.Entry, d.Action, d.FileName, err)
	}
	return sink.loading, nil
}

// digesting digests a document's claims, and counts its rows.
type digesting struct {
	loading
	seen map[mapping.ID]bool
}

func (s *digesting) Row(*mapping.Row) error {
	s.rows++
	return nil
}

func (s *digesting) Record(r *mapping.Record) error {
	if s.seen[r.Claim] {
		return &mapping.DocumentError{Exception: mapping.DuplicateKey, Line: r.Line, Column: r.Column, Message: "the same key is in the document twice"}
	}
	s.seen[r.Claim] = true
	s.sum.add(r.Ordinal, r.Layout, r.Claim, r.Fingerprint)
	return nil
}
