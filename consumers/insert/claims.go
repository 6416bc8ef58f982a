package insert

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"

	"tributary/internal/mapping"
	"tributary/internal/pg"
)

// place is where a record's content lies.
type place struct {
	position int64
	ordinal  int32
	line     int // of the record's element
}

// identity is a content: what is claimed of which key, and how its rows lie.
type identity struct {
	claim, fingerprint mapping.ID
	layout             int32
}

// copyContents writes the claims of contents, and of their rows those that the
// warehouse doesn't hold yet: equal content of a key, laid out alike, is stored
// once, by the first that brings it. It returns the claims on keys that others
// claim too.
func (w *writer) copyContents(ctx context.Context, contents []*content) (shared []mapping.ID, err error) {
	places, shared, err := w.places(ctx, contents)
	if err != nil {
		return nil, err
	}
	var claims []byte
	n := 0
	for _, c := range contents {
		for i, r := range c.records {
			claims = appendPlace(append(claims, c.lines(i, 0, c.claims)...), r.line, places[n])
			n++
		}
	}
	if len(claims) > 0 {
		if _, err := w.copyFrom(ctx, bytes.NewReader(claims), "COPY warehouse.claim ("+claimColumns+") FROM STDIN"); err != nil {
			return nil, fmt.Errorf("copy to claim: %w", err)
		}
	}
	for _, t := range w.in.deps.Mapping.Tables {
		var r readers
		n = 0
		for _, c := range contents {
			r.add(t, c, places[n:])
			n += len(c.records)
		}
		if len(r.parts) == 0 {
			continue
		}
		if err := w.copy(ctx, t, &r); err != nil {
			return nil, err
		}
	}
	return shared, nil
}

// places finds for each record of the contents, in order, where its content
// lies, and the claims on keys that are known, or claimed twice among these.
func (w *writer) places(ctx context.Context, contents []*content) (places []place, shared []mapping.ID, err error) {
	n := 0
	for _, c := range contents {
		n += len(c.records)
	}
	if n == 0 {
		return nil, nil, nil
	}
	places = make([]place, 0, n)
	claims, prints, layouts := make([]pgtype.UUID, 0, n), make([]pgtype.UUID, 0, n), make([]int32, 0, n)
	for _, c := range contents {
		for _, r := range c.records {
			claims, prints = append(claims, pgtype.UUID{Bytes: r.claim, Valid: true}), append(prints, pgtype.UUID{Bytes: r.fingerprint, Valid: true})
			layouts = append(layouts, r.layout)
		}
	}
	known, found := map[mapping.ID]bool{}, map[identity]place{}
	var id identity
	var p place
	for err := range pg.Each(ctx, w.tx, "look for known content", []any{&id.claim, &id.fingerprint, &id.layout, &p.position, &p.ordinal, &p.line}, `
		SELECT n.claim, n.fingerprint, n.layout, coalesce(o.position, 0), coalesce(o.ordinal, 0), coalesce(o.line, 0)
		FROM unnest($1::uuid[], $2::uuid[], $3::int[]) AS n(claim, fingerprint, layout)
		LEFT JOIN LATERAL (SELECT c.position, c.ordinal, c.line FROM warehouse.claim c
			WHERE c.claim = n.claim AND c.fingerprint = n.fingerprint AND c.layout = n.layout AND c.content_position = c.position AND c.content_ordinal = c.ordinal
			ORDER BY c.position LIMIT 1) o ON true
		WHERE EXISTS (SELECT FROM warehouse.claim c WHERE c.claim = n.claim)`, claims, prints, layouts) {
		if err != nil {
			return nil, nil, err
		}
		if !known[id.claim] {
			known[id.claim] = true
			shared = append(shared, id.claim)
		}
		if p.position > 0 {
			found[id] = p
		}
	}
	here := make(map[mapping.ID]int32, n) // how often claimed among these
	for _, c := range contents {
		for _, r := range c.records {
			if here[r.claim]++; here[r.claim] == 2 && !known[r.claim] {
				shared = append(shared, r.claim)
			}
			at, ok := found[r.identity]
			if !ok || r.parted {
				at = r.place
			}
			if !ok {
				found[r.identity] = at
			}
			places = append(places, at)
		}
	}
	return places, shared, nil
}

// readers reads one after another.
type readers struct{ parts []*bytes.Reader }

// add adds the lines of one table of a content, but for those of records whose
// content lies elsewhere.
func (r *readers) add(t *mapping.Table, c *content, places []place) {
	lines := c.tables[t.Index]
	if len(lines) == 0 {
		return
	}
	if t.Record || t.Under != nil {
		from := 0
		for i, rec := range c.records {
			part := c.lines(i, t.Index+1, lines)
			if places[i] == rec.place {
				continue
			}
			at := c.ends[i*(len(c.tables)+1)+t.Index+1] - len(part)
			r.bytes(lines[from:at])
			from = at + len(part)
		}
		lines = lines[from:]
	}
	r.bytes(lines)
}

func (r *readers) bytes(b []byte) {
	if len(b) > 0 {
		r.parts = append(r.parts, bytes.NewReader(b))
	}
}

func (r *readers) Read(p []byte) (int, error) {
	for len(r.parts) > 0 && r.parts[0].Len() == 0 {
		r.parts = r.parts[1:]
	}
	if len(r.parts) == 0 {
		return 0, io.EOF
	}
	return r.parts[0].Read(p)
}

// copy writes lines in COPY's text format to a mapped table.
func (w *writer) copy(ctx context.Context, t *mapping.Table, lines io.Reader) error {
	sql := "COPY warehouse." + t.Name + " (" + strings.Join(t.ColumnNames(), ", ") + ") FROM STDIN"
	if _, err := w.copyFrom(ctx, lines, sql); err != nil {
		return fmt.Errorf("copy to %s: %w", t.Name, err)
	}
	return nil
}
