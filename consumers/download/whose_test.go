package download

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"tributary/internal/remote"
)

// reading is a session whose readers are made of another's.
type reading struct {
	remote.Session
	of func(io.ReadCloser) io.ReadCloser
}

func (s reading) Open(ctx context.Context, path string, size int64) (io.ReadCloser, error) {
	r, err := s.Session.Open(ctx, path, size)
	return s.of(r), err
}

// promised says of which version of a file the bytes are that it brings.
type promised struct {
	io.ReadCloser
	whose *remote.Entry
}

func (p promised) Whose() *remote.Entry { return p.whose }

// Where the server says of which version the bytes are, that is compared with what was
// listed, and it is not asked once more.
func TestBytesOfAVersionThatTheServerNames(t *testing.T) {
	listed := remote.Entry{Size: 4, ModTime: noon.Add(-time.Hour), Precision: time.Second}
	later, longer := listed, listed
	later.ModTime = noon
	longer.Size = 5
	for about, tt := range map[string]struct {
		whose remote.Entry
		opens int
		want  string
	}{
		"as listed":                         {listed, 1, "fetched "},
		"another, and whole":                {later, 2, "fetched "},
		"another, of which some is missing": {longer, 2, "failed transfer_truncated"},
	} {
		t.Run(about, func(t *testing.T) {
			b := newBench(t)
			b.cfg.Checksums = false
			f := b.put("1.zip", "zip1")
			f.stat = errors.New("it is asked what it shows now")
			b.deps.Dial = func(context.Context, remote.Config) (remote.Session, error) {
				return reading{b.server, func(r io.ReadCloser) io.ReadCloser { return promised{r, &tt.whose} }}, nil
			}
			if err := b.work(t.Context(), b.job("1.zip")); err != nil {
				t.Fatal(err)
			}
			d := b.finished()["1.zip"]
			if got := fmt.Sprint(d.Result, " ", d.Exception); got != tt.want || b.server.opens["add/1.zip"] != tt.opens {
				t.Errorf("it ended %q (%s) after %d fetches, want %q after %d", got, d.Message, b.server.opens["add/1.zip"], tt.want, tt.opens)
			}
		})
	}
}

// found finds out how a file stands once it has come.
type found struct {
	io.ReadCloser
	shown *remote.Entry
}

func (f found) After(context.Context) *remote.Entry { return f.shown }

// A server is not asked again for what its session has found out, but where that is not
// as it was listed.
func TestAFileThatIsFoundAsListed(t *testing.T) {
	listed := remote.Entry{Size: 4, ModTime: noon.Add(-time.Hour), Precision: time.Second}
	later := listed
	later.ModTime = noon
	for about, tt := range map[string]struct {
		shown *remote.Entry
		want  string
	}{
		"as listed":     {&listed, "fetched "},
		"another":       {&later, "failed transfer_failed"},
		"not found out": {nil, "failed transfer_failed"},
	} {
		t.Run(about, func(t *testing.T) {
			b := newBench(t)
			b.cfg.Checksums = false
			b.put("1.zip", "zip1").stat = errors.New("it is asked what it shows now")
			b.deps.Dial = func(context.Context, remote.Config) (remote.Session, error) {
				return reading{b.server, func(r io.ReadCloser) io.ReadCloser { return found{r, tt.shown} }}, nil
			}
			if err := b.work(t.Context(), b.job("1.zip")); err != nil {
				t.Fatal(err)
			}
			d := b.finished()["1.zip"]
			if got := fmt.Sprint(d.Result, " ", d.Exception); got != tt.want {
				t.Errorf("it ended %q (%s), want %q", got, d.Message, tt.want)
			}
		})
	}
}

// answering is a session whose answers have heads.
type answering struct{ remote.Session }

func (s answering) Open(ctx context.Context, path string, size int64) (io.ReadCloser, error) {
	r, err := s.Session.Open(ctx, path, size)
	if err != nil {
		return nil, &remote.Error{Op: "open", Path: path, Err: err, Heads: remote.Heads{Request: "GET " + path, Response: "404"}}
	}
	return answered{r, path}, nil
}

type answered struct {
	io.ReadCloser
	path string
}

func (a answered) Heads() remote.Heads {
	return remote.Heads{Request: "GET " + a.path, Response: "200"}
}

// By which heads a server handed bytes out or refused them is told with the attempt.
func TestHeadsAreToldWithTheAttempt(t *testing.T) {
	b := newBench(t)
	b.cfg.Checksums = false
	b.deps.Dial = func(context.Context, remote.Config) (remote.Session, error) { return answering{b.server}, nil }
	b.put("1.zip", "zip1")
	m := b.job("1.zip")
	for _, want := range []string{"200", "404"} {
		if _, told := b.attempt(m); told["request_head"] != "GET add/1.zip" || told["response_head"] != want {
			t.Errorf("told of an answer %s: %v", want, told)
		}
		b.server.files = nil // the answer to the next is that there is none
	}
}
