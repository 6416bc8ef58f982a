// Package xsdcheck validates XML documents against XML Schema 1.0 while they
// are read, in memory that doesn't grow with the document.
//
// A document may be hostile: there is no DTD and no entity but the five of
// XML, no schema but the compiled one (xsi:schemaLocation is never followed),
// and depth, attributes, tokens, identity constraints, errors and bytes have
// limits (Options), as have names, start tags and namespace declarations in force
// (fixed). Bad input is a Result; an error means that no verdict was possible.
//
// What is invalid is said with the element's path, what is wrong with it and
// what the schema allows there.
package xsdcheck

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/jacoelho/xsd"

	"tributary/internal/xmlsource"
	"tributary/internal/xsdtree"
)

// Options are the limits of one document's validation. Zero means the default.
type Options struct {
	// MaxErrors is how many errors a Result lists at most. Default 500.
	MaxErrors int
	// MaxBytes is the size of the largest document, in bytes of its UTF-8
	// form. Default 4 GiB.
	MaxBytes int64
	// MaxDepth is how deeply elements may be nested. Default 256.
	MaxDepth int
	// MaxAttributes is how many attributes an element may have. Default 4096.
	MaxAttributes int
	// MaxTokenBytes is the length of the longest text, attribute, name or
	// comment that is kept, in bytes. Default 4 MiB.
	MaxTokenBytes int64
	// MaxIdentityEntries is how many values of IDs and keys are kept for a
	// document. Default 1,000,000.
	MaxIdentityEntries int
}

// withDefaults fills in what is zero.
func (o Options) withDefaults() (Options, error) {
	for _, limit := range []struct {
		name  string
		value int64
	}{
		{"MaxErrors", int64(o.MaxErrors)},
		{"MaxBytes", o.MaxBytes},
		{"MaxDepth", int64(o.MaxDepth)},
		{"MaxAttributes", int64(o.MaxAttributes)},
		{"MaxTokenBytes", o.MaxTokenBytes},
		{"MaxIdentityEntries", int64(o.MaxIdentityEntries)},
	} {
		if limit.value < 0 {
			return Options{}, fmt.Errorf("validation limit %s is %d: it must not be negative", limit.name, limit.value)
		}
	}
	o.MaxErrors = orDefault(o.MaxErrors, 500)
	o.MaxBytes = orDefault(o.MaxBytes, 4<<30)
	o.MaxDepth = orDefault(o.MaxDepth, 256)
	o.MaxAttributes = orDefault(o.MaxAttributes, 4096)
	o.MaxTokenBytes = orDefault(o.MaxTokenBytes, 4<<20)
	o.MaxIdentityEntries = orDefault(o.MaxIdentityEntries, 1_000_000)
	return o, nil
}

func orDefault[T int | int64](value, otherwise T) T {
	if value == 0 {
		return otherwise
	}
	return value
}

// Result is the verdict on one document.
type Result struct {
	// Valid is true if there is no error.
	Valid bool
	// Errors are sorted by position and no more than MaxErrors. What makes a
	// document unreadable (it is not well-formed, or breaks a limit) is the
	// only error of its Result.
	Errors []Error
	// Total is the number of errors found, which is more than are listed if
	// Truncated. Looking for errors ends soon after MaxErrors, so there may be
	// more still.
	Total int
	// Truncated is true if there are, or may be, more errors than are listed.
	Truncated bool
	// Bytes is how many bytes of the document, as it was given, were read.
	Bytes int64
}

// Schema is a compiled schema. It is safe for use by several goroutines.
type Schema struct {
	engine   *xsd.Engine
	tree     *xsdtree.Schema // for messages; nil if it can't read the schema
	opts     Options
	sessions sync.Pool // of *session, made with opts
}

// session is what one validation works with.
type session struct {
	engine *xsd.Session
	kept   []byte // room for the beginning of a document
}

// WithOptions returns the same schema with other limits. A negative limit is
// an error.
func (s *Schema) WithOptions(opts Options) (*Schema, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Schema{engine: s.engine, tree: s.tree, opts: opts}, nil
}

// Validate reads r's document to its end, or until it is found unreadable, and
// judges it. The error is not nil only if r failed or ctx ended: then there is
// no verdict. Cancelling ctx is noticed at each read of r, and while the
// document is judged; it can't interrupt r itself.
func (s *Schema) Validate(ctx context.Context, r io.Reader) (Result, error) {
	in := &source{ctx: ctx, r: r}
	decoded, err := xmlsource.Reader(in)
	if err != nil {
		return s.judge(ctx, in, &text{}, err)
	}
	session, err := s.session()
	if err != nil {
		return Result{}, err
	}
	doc := &text{r: decoded, kept: session.kept[:0]}
	err = session.engine.Validate(ctx, doc)
	result, err := s.judge(ctx, in, doc, err)
	// A session is not handed back when the library panics: what it holds then
	// is unknown.
	session.kept = doc.kept
	s.sessions.Put(session)
	return result, err
}

func (s *Schema) session() (*session, error) {
	if pooled, ok := s.sessions.Get().(*session); ok {
		return pooled, nil
	}
	engine, err := s.engine.NewSession(xsd.ValidateOptions{
		// One more than is listed tells whether there are more.
		MaxErrors:             s.opts.MaxErrors + 1,
		MaxIdentityEntries:    s.opts.MaxIdentityEntries,
		MaxInstanceDepth:      s.opts.MaxDepth,
		MaxInstanceAttributes: s.opts.MaxAttributes,
		MaxInstanceTextBytes:  s.opts.MaxTokenBytes,
		MaxInstanceTokenBytes: s.opts.MaxTokenBytes,
		MaxInstanceBytes:      s.opts.MaxBytes,
	})
	if err != nil {
		return nil, fmt.Errorf("preparing validation: %w", err)
	}
	return &session{engine: engine}, nil
}

// judge turns what validation returned into a Result, or into an error if it
// says nothing about the document.
func (s *Schema) judge(ctx context.Context, in *source, doc *text, err error) (Result, error) {
	result := Result{Bytes: in.bytes}
	if in.err != nil {
		return result, fmt.Errorf("reading the document: %w", in.err)
	}
	if cause := ctx.Err(); cause != nil && err != nil {
		return result, fmt.Errorf("validating the document: %w", cause)
	}
	if err == nil {
		result.Valid = true
		return result, nil
	}
	// At the cap the engine stops looking, so what follows is unknown.
	full := count(err) > s.opts.MaxErrors
	found, err := describe(err)
	if err != nil {
		return result, fmt.Errorf("validating the document: %w", err)
	}
	if len(found) == 0 && full {
		// Only findings that don't count, but so many that others had no place.
		found = []finding{{Error: Error{Exception: OverLimit, Message: "too many elements have a malformed xsi:schemaLocation: remove the attribute"}}}
	}
	doc.place(found)
	result.Valid = len(found) == 0
	result.Total = len(found)
	result.Truncated = full
	found = found[:min(len(found), s.opts.MaxErrors)]
	explainer := explainer{tree: s.tree, text: doc.kept}
	explainer.explain(found)
	for _, f := range found {
		result.Errors = append(result.Errors, f.Error)
	}
	return result, nil
}
