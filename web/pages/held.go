package pages

import (
	"context"
	"fmt"
	"strings"
	"time"

	"tributary/queries/lineage"
	"tributary/queries/report"
)

const (
	// heldDocuments is how many documents of the warehouse a page of a file lists, and of
	// one entry the document's page.
	heldDocuments = 20
	// heldKeys is how many records of a document are listed, heldSuccessors how many
	// documents that superseded some of them, and heldClaims how many claims on a key.
	heldKeys, heldSuccessors, heldClaims = 20, 10, 20
	// heldTime is how long the warehouse may take, so that the rest of the page is there.
	heldTime = 5 * time.Second
)

// lineage tells where rows come from, with no more of a list than limit; nil: not here.
func (s *Site) lineage(limit int) *lineage.Reader {
	if s.Warehouse == nil || s.Mapping == nil {
		return nil
	}
	return &lineage.Reader{Warehouse: s.Warehouse, Tracker: s.Tracker, Mapping: s.Mapping, Limit: limit}
}

// held is what is in the warehouse of a file, or of one of its documents. It is nil where
// nothing was ordered to be loaded, or the warehouse is not to be seen here.
type held struct {
	Away      bool // the warehouse does not answer
	Documents []heldDocument
	More      bool // there may be older ones

	// Of one document that is loaded, else nil and empty.
	Records    []lineage.Count
	Keys       []heldKey
	KeysLeft   int64
	Successors []successor
}

// heldDocument is a document as it was ordered to be loaded.
type heldDocument struct {
	*lineage.Document

	To      string
	Short   string // version of its file
	Stands  string
	Current bool // it is the one that the page is about
}

type heldKey struct {
	lineage.Key

	Place, To, Text string
}

type successor struct {
	lineage.Successor

	To string
}

// heldOf lists what the warehouse holds of a file.
func (s *Site) heldOf(ctx context.Context, action, name string) *held {
	return s.heldBy(ctx, action, name, "", func(context.Context, *lineage.Reader, *held) error { return nil })
}

// heldOfDocument lists what the warehouse holds of a document, and what it brought.
func (s *Site) heldOfDocument(ctx context.Context, x report.DocumentFacts) *held {
	return s.heldBy(ctx, x.Action, x.File, x.Document.Document, func(ctx context.Context, r *lineage.Reader, h *held) error {
		at := 0
		for i, d := range h.Documents {
			if x.Position != nil && d.Position == *x.Position {
				at = i
			}
		}
		h.Documents[at].Current = true
		return s.brought(ctx, r, h, h.Documents[at].Document)
	})
}

func (s *Site) heldBy(ctx context.Context, action, name, entry string, more func(context.Context, *lineage.Reader, *held) error) *held {
	r := s.lineage(heldKeys)
	if r == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, heldTime)
	defer cancel()
	docs, err := r.Documents(ctx, action, name, entry, heldDocuments)
	h := &held{More: len(docs) == heldDocuments}
	for _, d := range docs {
		h.Documents = append(h.Documents, heldDocument{Document: d, To: s.fileTo(action, name, "documents", d.Entry), Short: d.Version[:min(len(d.Version), 12)], Stands: stands(d)})
	}
	if err == nil && len(docs) > 0 {
		err = more(ctx, r, h)
	}
	switch {
	case err != nil:
		s.Log.Warn("what the warehouse holds of a file can't be read", "file", action+"/"+name, "error", err)
		return &held{Away: true}
	case len(docs) == 0:
		return nil
	}
	return h
}

// brought adds what a document brought, and what superseded it.
func (s *Site) brought(ctx context.Context, r *lineage.Reader, h *held, d *lineage.Document) error {
	b, err := r.Brought(ctx, d)
	if err != nil {
		return err
	}
	h.Records, h.KeysLeft = b.Records, b.KeysLeft
	for _, k := range b.Keys {
		place := fmt.Sprintf("%d/%d", d.Position, k.Ordinal)
		h.Keys = append(h.Keys, heldKey{k, place, s.to("/lineage/" + place), keyText(k.Key)})
	}
	superseded := int64(0)
	for _, c := range b.Records {
		superseded += c.Superseded
	}
	if superseded == 0 {
		return nil
	}
	all, err := r.Successors(ctx, d.Position, heldSuccessors)
	for _, x := range all {
		h.Successors = append(h.Successors, successor{x, s.fileTo(x.Action, x.File, "documents", x.Entry)})
	}
	return err
}

// stands says how a document of the warehouse stands.
func stands(d *lineage.Document) string {
	switch {
	case d.State == "failed":
		return "failed at " + d.Phase + ": " + d.Exception
	case d.Withdrawn:
		return "withdrawn: " + d.Why
	}
	return d.State + ", " + plural(int(d.Rows), "row", "rows")
}

// keyText is a natural key for people.
func keyText(key []lineage.Part) string {
	var words []string
	for _, k := range key {
		if k.Value != nil {
			words = append(words, k.Column+"="+*k.Value)
		}
	}
	return strings.Join(words, "  ")
}
