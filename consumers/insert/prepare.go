package insert

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"

	"tributary/internal/archive"
	"tributary/internal/mapping"
	"tributary/schemas"
)

// quarantined is the exception of a document that crashes whoever loads it.
const quarantined = schemas.Quarantined

// prepared is a document read and judged as far as can be without the
// warehouse: its rows as COPY takes them, or what is wrong with it.
type prepared struct {
	tables  [][]byte // by the table's index
	rows    int64
	failure *mapping.DocumentError
}

// prepare reads a small document. An error is one of the blob store's, or of
// the stop.
func (in *Inserter) prepare(ctx context.Context, it *item) (*prepared, error) {
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
	p := &prepared{tables: make([][]byte, len(in.d.Mapping.Tables))}
	seen := map[mapping.Claim]struct{}{}
	err := in.readDocument(ctx, it, func(row *mapping.Row) error {
		if row.Table.Claims {
			if _, twice := seen[row.Claim]; twice {
				return duplicate(row.Table.Name, string(row.Key), row.SourceLine, row.SourceColumn)
			}
			seen[row.Claim] = struct{}{}
		}
		p.tables[row.Table.Index] = append(p.tables[row.Table.Index], row.Line...)
		p.rows++
		return nil
	})
	if failure := (*mapping.DocumentError)(nil); errors.As(err, &failure) {
		return &prepared{failure: failure}, nil
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

func duplicate(table, key string, line, column int) *mapping.DocumentError {
	return &mapping.DocumentError{Exception: mapping.DuplicateKey, Line: line, Column: column,
		Message: fmt.Sprintf("the same %s is in the document twice: %.200s", table, key)}
}

// readDocument reads a document's rows from its archive's blob. Damage to the
// stored bytes is the document's end; a blob that can't be had is not: the
// store may come back.
func (in *Inserter) readDocument(ctx context.Context, it *item, sink mapping.Sink) (err error) {
	defer func() {
		if p := recover(); p != nil {
			in.d.Log.Error("reading a document panicked", "position", it.ev.Position, "file", it.subject(), "entry", it.ev.Entry, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("%w: %v", errPanic, p)
		}
	}()
	ev := it.ev
	if ev.DocCentre != "" && ev.DocCentre != centreOf(ev) {
		return &mapping.DocumentError{Exception: mapping.CentreMismatch,
			Message: fmt.Sprintf("the document's name is of centre %s, but its file is of centre %s", ev.DocCentre, centreOf(ev))}
	}
	b, err := in.d.Blobs.Open(ctx, ev.Archive)
	if err != nil {
		return fmt.Errorf("open the archive of %s: %w", it.subject(), err)
	}
	defer b.Close()
	r, err := archive.OpenMember(b, archive.Member{Name: ev.Entry, Ordinal: int(ev.Ordinal), Document: true, Offset: ev.Offset,
		CompressedSize: ev.Packed, Size: ev.Size, Method: uint16(ev.Method), CRC32: uint32(ev.CRC32)})
	if err == nil {
		defer r.Close()
		err = in.d.Mapping.Read(&stopping{ctx, r}, mapping.Document{Kind: ev.Kind, Centre: centreOf(ev), Position: ev.Position,
			Tombstone: ev.Action == schemas.Delete}, sink)
	}
	if errors.Is(err, archive.ErrDamaged) {
		return &mapping.DocumentError{Exception: mapping.Unreadable, Message: err.Error()}
	}
	return err
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
