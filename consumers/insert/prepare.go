package insert

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"

	"tributary/internal/archive"
	"tributary/internal/blob"
	"tributary/internal/document"
	"tributary/internal/mapping"
	"tributary/schemas"
)

// quarantined is the exception of a document that crashes whoever loads it.
const quarantined = schemas.Quarantined

// prepared is a document read and judged as far as can be without the
// warehouse: its rows as COPY takes them, or what is wrong with it.
type prepared struct {
	content *content // nil if it failed
	failure *mapping.DocumentError
}

// rows is how many rows the document has, stored or known already.
func (p *prepared) rows() int64 {
	if p == nil || p.content == nil {
		return 0
	}
	return p.content.rows
}

// prepare reads a small document. An error is one of the blob store's, or of
// the stop.
func (in *Inserter) prepare(ctx context.Context, it *item) (*prepared, error) {
	if failure := in.target.verdict(it); failure != nil {
		return &prepared{failure: failure}, nil //nolint:nilerr // it is the document's end, and not this one's
	}
	for try := 1; ; try++ {
		p, err := in.prepareOnce(ctx, it)
		if !errors.Is(err, errPanic) {
			return p, err
		}
		if try == maxPanics {
			return &prepared{failure: poison(err)}, nil
		}
	}
}

func poison(err error) *mapping.DocumentError {
	return &mapping.DocumentError{Exception: quarantined, Message: fmt.Sprintf("reading the document crashed %d times: %v", maxPanics, err)}
}

func (in *Inserter) prepareOnce(ctx context.Context, it *item) (*prepared, error) {
	g := &gathering{ev: it.ev, content: newContent(len(in.deps.Mapping.Tables)), seen: map[mapping.ID]int{}}
	err := in.readDocument(ctx, it, g)
	if failure := (*mapping.DocumentError)(nil); errors.As(err, &failure) {
		return &prepared{failure: failure}, nil
	}
	if err != nil {
		return nil, err
	}
	return &prepared{content: g.content}, nil
}

// gathering keeps all of a small document.
type gathering struct {
	ev      *schemas.DocumentOrdered
	content *content
	seen    map[mapping.ID]int // claims, and the line of each
}

func (g *gathering) Row(r *mapping.Row) error {
	g.content.row(r)
	return nil
}

func (g *gathering) Record(r *mapping.Record) error {
	if first, twice := g.seen[r.Claim]; twice {
		return duplicate(r.Table.Name, keyText(r.Key), r.Line, r.Column, first)
	}
	g.seen[r.Claim] = r.Line
	g.content.record(g.ev, r, false)
	return nil
}

// keyText is a natural key for people.
func keyText(key []*string) string {
	fields := make([]string, len(key))
	for i, f := range key {
		if fields[i] = "-"; f != nil {
			fields[i] = *f
		}
	}
	return strings.Join(fields, " ")
}

func duplicate(table, key string, line, column, first int) *mapping.DocumentError {
	return &mapping.DocumentError{Exception: mapping.DuplicateKey, Line: line, Column: column,
		Message: fmt.Sprintf("the same %s is in the document twice, first in line %d: %.200s", strings.ReplaceAll(table, "_", " "), first, key)}
}

// readDocument reads a document's rows from its archive's blob. Damage to the
// stored bytes is not the document's end: insertion stops until they have been
// fetched again, unless control says that nobody has them any more.
func (in *Inserter) readDocument(ctx context.Context, it *item, sink mapping.Sink) (err error) {
	defer func() {
		if p := recover(); p != nil {
			in.deps.Log.Error("reading a document panicked", "position", it.ev.Position, "file", it.subject(), "entry", it.ev.Entry, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("%w: %v", errPanic, p)
		}
	}()
	ev := it.ev
	if ev.DocCentre != "" && ev.DocCentre != centreOf(ev) {
		return &mapping.DocumentError{Exception: mapping.CentreMismatch,
			Message: fmt.Sprintf("the document's name is of centre %s, but its file is of centre %s", ev.DocCentre, centreOf(ev))}
	}
	err = document.Read(ctx, in.deps.Blobs, ev.DocumentRef, nil, func(r io.Reader) error {
		return in.deps.Mapping.Read(r, mapping.Document{Kind: ev.Kind, Centre: centreOf(ev), Position: ev.Position}, sink)
	})
	switch {
	case blob.Unusable(err):
		lost, err := in.damaged(ctx, it, err)
		if lost != "" {
			return &mapping.DocumentError{Exception: blob.LostName, Message: lost}
		}
		return err
	case errors.Is(err, archive.ErrDamaged):
		return &mapping.DocumentError{Exception: mapping.Unreadable, Message: "the reference to the document does not fit its archive, whose bytes are the right ones: " + err.Error()}
	}
	return err
}

// damaged tells control that a position's stored bytes can't be used. If they are
// lost for good, lost says so; else the error stops insertion for now. Nothing is given
// up that was loaded when it was done first.
func (in *Inserter) damaged(ctx context.Context, it *item, why error) (lost string, err error) {
	if in.deps.Damaged != nil {
		if lost, err = in.deps.Damaged(ctx, it.ev.Archive, why); err != nil {
			return "", err
		}
	}
	if lost != "" && in.target.first {
		return lost, nil
	}
	return "", fmt.Errorf("%s: the stored bytes of %s, blob %s, can't be used; they are fetched again where a source has them, and insertion then goes on by itself: %w", blob.DamagedName, it.subject(), it.ev.Archive, why)
}

// centreOf is the file's producing centre.
func centreOf(ev *schemas.DocumentOrdered) string {
	if ev.Domain != "" {
		return ev.Domain
	}
	return ev.Centre
}

// stopping ends reading when its context does.
type stopping struct {
	ctx context.Context
	r   io.Reader
}

func (s *stopping) Read(p []byte) (int, error) {
	if s.ctx.Err() != nil {
		return 0, context.Cause(s.ctx)
	}
	return s.r.Read(p)
}
