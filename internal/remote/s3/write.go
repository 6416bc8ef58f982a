package s3

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"

	"tributary/internal/remote"
	"tributary/internal/remote/writing"
)

// s3Writer changes objects of a bucket.
type s3Writer struct{ s *s3Session }

func (s *s3Session) Writer() writing.Writer { return s3Writer{s} }

// Remove deletes an object. One that is not there is deleted, too, says the protocol.
// Where the bucket keeps versions, the object stays there as an old one.
func (w s3Writer) Remove(ctx context.Context, p string) error {
	key, err := w.s.key(p)
	if err != nil {
		return err
	}
	return w.do(ctx, "delete", p, question{method: http.MethodDelete, key: key})
}

// Move copies an object within the bucket, and deletes it once a copy of its size is
// there. Where that was cut off, the copy is known by its ETag.
func (w s3Writer) Move(ctx context.Context, from, to string) error {
	a, b, err := remote.Between(w.s.base, from, to)
	if err != nil {
		return err
	}
	a, b = a[1:], b[1:] // keys begin without a slash, and both paths with one
	was, err := w.look(ctx, a)
	if err != nil {
		return w.s.Fail("move", from, err)
	}
	is, err := w.look(ctx, b)
	switch {
	case err == nil && (is.size != was.size || is.tag == "" || is.tag != was.tag):
		return remote.Occupied(to)
	case err == nil:
		return w.Remove(ctx, from)
	case remote.ClassOf(err) != remote.NotExist:
		return w.s.Fail("move", from, err)
	}
	if err := w.do(ctx, "move", from, question{method: http.MethodPut, key: b, copyOf: a}); err != nil {
		return err
	}
	if is, err = w.look(ctx, b); err != nil || is.size != was.size {
		return w.s.Fail("move", from, errors.Join(errors.New("the copy isn't there whole, so the object stays where it is"), err))
	}
	return w.Remove(ctx, from)
}

// Mark makes an empty object. One of that key stays.
func (w s3Writer) Mark(ctx context.Context, p string) error {
	key, err := w.s.key(p)
	if err != nil {
		return err
	}
	if _, err := w.look(ctx, key); remote.ClassOf(err) != remote.NotExist || err == nil {
		return w.s.Fail("mark", p, err)
	}
	return w.do(ctx, "mark", p, question{method: http.MethodPut, key: key})
}

// MakeDirectory has nothing to make: a directory is there once a key begins with it.
func (w s3Writer) MakeDirectory(context.Context, string) error { return nil }

// objectVersion is what tells an object from another of its key.
type objectVersion struct {
	size int64
	tag  string
}

func (w s3Writer) look(ctx context.Context, key string) (objectVersion, error) {
	resp, done, err := w.s.ask(ctx, question{method: http.MethodHead, key: key}) //nolint:bodyclose // done closes it
	if err != nil {
		return objectVersion{}, err
	}
	defer done()
	return objectVersion{resp.ContentLength, resp.Header.Get("ETag")}, nil
}

// do asks for one change. A copy may fail after it has been accepted: the answer says
// so then.
func (w s3Writer) do(ctx context.Context, op, p string, q question) error {
	q.of.Changes = true
	resp, done, err := w.s.ask(ctx, q) //nolint:bodyclose // done closes it
	if err != nil {
		return w.s.Fail(op, p, err)
	}
	defer done()
	body, err := io.ReadAll(io.LimitReader(resp.Body, w.s.cfg.Limits.Reply))
	if err != nil {
		return w.s.Fail(op, p, err)
	}
	var said struct {
		XMLName       xml.Name
		Code, Message string
	}
	if xml.Unmarshal(body, &said) == nil && said.XMLName.Local == "Error" {
		return w.s.Fail(op, p, fmt.Errorf("the server has accepted it, and then failed (%s: %s)", said.Code, said.Message))
	}
	return nil
}
