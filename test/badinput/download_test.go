package badinput

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"time"

	"tributary/consumers/download"
	"tributary/internal/config"
	"tributary/internal/remote"
	"tributary/schemas"
)

// served is a file as a server serves it, which may lie.
type served struct {
	content  []byte
	listed   int64  // size in the listing and when it is described; the content's if 0
	endless  bool   // more bytes come without an end
	breaks   error  // instead of the content's end
	grows    bool   // it has another size each time it is described
	checksum []byte // what lies beside it, if anything
}

// download lets the real stage fetch the file and returns what it said of it.
func (s *stages) download(ctx context.Context, f *served) (*schemas.DownloadFinished, error) {
	cfg := config.Default().Download
	cfg.MaxFileSize = 8 << 20
	d := download.New(cfg, download.Deps{
		Sources: map[string]config.Source{"src": {ID: "src", URL: "file:///nowhere"}}, Blobs: s.blobs,
		Dial:        func(context.Context, remote.Config) (remote.Session, error) { return &session{f: f}, nil },
		Outstanding: func(context.Context, string) (bool, error) { return true, nil },
		Log:         slog.New(slog.DiscardHandler), Now: time.Now,
	})
	size := f.listed
	if size == 0 {
		size = int64(len(f.content))
	}
	job := &schemas.DownloadRequested{Job: "job", Scope: schemas.Scope{Run: schemas.LiveRun, Source: "src"}, Files: []schemas.RequestFile{{
		FileRef: schemas.FileRef{File: schemas.FileID("add", zipName), FileName: zipName, Action: "add"},
		Session: "session", Centre: "H", Attempt: 1, Look: 1, Path: "add/" + zipName, Size: size,
	}}}
	err := s.work(ctx, d, schemas.Message{ID: "requested", Topic: schemas.DownloadRequestedTopic, Body: job})
	if err == nil && s.fetched == nil {
		err = errors.New("the download told no end")
	}
	return s.fetched, err
}

// session is a server's session with one file.
type session struct {
	f     *served
	stats int64
}

func (s *session) List(context.Context, string, func(remote.Entry) error) error {
	return errors.New("nothing is listed here")
}

func (s *session) Stat(_ context.Context, path string) (remote.Entry, error) {
	size := s.f.listed
	if size == 0 {
		size = int64(len(s.f.content))
	}
	if s.f.grows {
		s.stats++
		size += s.stats
	}
	return remote.Entry{Name: path, Size: size}, nil
}

func (s *session) Open(_ context.Context, path string, _ int64) (io.ReadCloser, error) {
	if path != "add/"+zipName {
		if s.f.checksum == nil {
			return nil, fs.ErrNotExist
		}
		return io.NopCloser(bytes.NewReader(s.f.checksum)), nil
	}
	r := io.Reader(bytes.NewReader(s.f.content))
	switch {
	case s.f.endless:
		r = io.MultiReader(r, zeros{})
	case s.f.breaks != nil:
		r = io.MultiReader(r, failing{s.f.breaks})
	}
	return io.NopCloser(r), nil
}

func (s *session) Concurrency() int { return 1 }

func (s *session) Close() error { return nil }

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
