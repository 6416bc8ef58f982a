package download

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"sync"
	"testing"
	"time"

	"tributary/internal/blob"
	"tributary/internal/config"
	"tributary/internal/remote"
	"tributary/internal/stage"
	"tributary/schemas"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// item is a file of the server in memory.
type item struct {
	bytes          []byte
	size           int64 // as the server says; the bytes' number if 0
	mtime          time.Time
	open           error                           // when it is opened
	read           error                           // after its bytes
	stat           error                           // when it is described
	endless        bool                            // more bytes never end
	opened         func()                          // when it is opened
	reader         func(context.Context) io.Reader // instead of its bytes
	wait, waitStat func(context.Context) error     // before it is opened or described
}

// server is a session in memory.
type server struct {
	mu     sync.Mutex
	files  map[string]*item
	width  int
	closed int
	lost   error // every call fails with it
	opens  map[string]int
}

func (s *server) List(context.Context, string, func(remote.Entry) error) error {
	return errors.New("not used")
}

func (s *server) Stat(ctx context.Context, path string) (remote.Entry, error) {
	if f := s.files[path]; f != nil && f.waitStat != nil {
		return remote.Entry{}, f.waitStat(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.files[path]
	switch {
	case s.closed > 0:
		return remote.Entry{}, errors.New("used after it was closed")
	case s.lost != nil:
		return remote.Entry{}, s.lost
	case f == nil:
		return remote.Entry{}, fs.ErrNotExist
	case f.stat != nil:
		return remote.Entry{}, f.stat
	}
	size := f.size
	if size == 0 {
		size = int64(len(f.bytes))
	}
	return remote.Entry{Name: path, Size: size, ModTime: f.mtime, Precision: time.Second}, nil
}

func (s *server) Open(ctx context.Context, path string, _ int64) (io.ReadCloser, error) {
	if f := s.files[path]; f != nil && f.wait != nil {
		return nil, f.wait(ctx)
	}
	s.mu.Lock()
	f := s.files[path]
	s.opens[path]++
	closed, lost := s.closed, s.lost
	s.mu.Unlock()
	if f != nil && f.opened != nil {
		f.opened()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case closed > 0:
		return nil, errors.New("used after it was closed")
	case lost != nil:
		return nil, lost
	case f == nil:
		return nil, fs.ErrNotExist
	case f.open != nil:
		return nil, f.open
	}
	var r io.Reader = bytes.NewReader(f.bytes)
	if f.read != nil {
		r = io.MultiReader(r, failing{f.read})
	}
	if f.endless {
		r = io.MultiReader(r, zeros{})
	}
	if f.reader != nil {
		r = f.reader(ctx)
	}
	return io.NopCloser(r), nil
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }

func (s *server) Concurrency() int { return max(1, s.width) }

func (s *server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed++
	return nil
}

func (s *server) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed > 0
}

// bench is the stage with a server in memory and what it emitted.
type bench struct {
	*Downloader
	t      *testing.T
	server *server
	dials  int
	// definition is what jobs carry.
	definition string
	dial       error

	mu     sync.Mutex
	out    []schemas.Message
	emit   error
	onEmit func(schemas.Message)
	// acknowledge, if not nil, says what becomes of what must be acknowledged.
	acknowledge func([]schemas.Message) error
	progress    int
	detach      func() (<-chan struct{}, bool)
	// tell, if not nil, takes what nobody needs.
	tell func(schemas.Message, func(error))
}

func newBench(t *testing.T) *bench {
	t.Helper()
	store, err := blob.NewDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	b := &bench{t: t, definition: `{"id": "src", "url": "sftp://reader@host/"}`, server: &server{files: map[string]*item{}, opens: map[string]int{}}}
	b.Downloader = New(config.Default().Download, Deps{Blobs: store,
		Outstanding: func(context.Context, string) (bool, error) { return true, nil },
		Log:         slog.New(slog.DiscardHandler), Now: func() time.Time { return noon },
		Dial: func(context.Context, remote.Config) (remote.Session, error) {
			b.dials++
			if b.dial != nil {
				return nil, b.dial
			}
			return b.server, nil
		}})
	return b
}

// put serves a file in add.
func (b *bench) put(name, content string) *item {
	f := &item{bytes: []byte(content), mtime: noon.Add(-time.Hour)}
	b.server.files["add/"+name] = f
	return f
}

// job asks for files as they are listed now.
func (b *bench) job(names ...string) schemas.Message {
	b.t.Helper()
	body := &schemas.DownloadRequested{Scope: schemas.Scope{Run: schemas.LiveRun, Source: "src"}, Job: "job-1", Server: "host:22", Definition: b.definition}
	for i, name := range names {
		f := b.server.files["add/"+name]
		r := schemas.RequestFile{FileRef: schemas.FileRef{File: schemas.FileID("add", name), FileName: name, Action: "add"}, Session: "session-1", Centre: "H", Attempt: int32(i + 1), Look: 3,
			Path: "add/" + name, RequestedAt: &noon}
		if f != nil {
			mtime := f.mtime
			r.Size, r.ModTime = int64(len(f.bytes)), &mtime
			if f.size != 0 {
				r.Size = f.size
			}
		}
		body.Files = append(body.Files, r)
	}
	return schemas.Message{ID: "event-1", Topic: schemas.DownloadRequestedTopic, Key: "job-1", Body: body}
}

func (b *bench) work(ctx context.Context, m schemas.Message) error {
	b.t.Helper()
	emit := func(_ context.Context, msgs ...schemas.Message) error {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, m := range msgs {
			if b.onEmit != nil {
				b.onEmit(m)
			}
		}
		if b.emit != nil {
			return b.emit
		}
		b.out = append(b.out, msgs...)
		return nil
	}
	return b.Work(ctx, stage.Input{Message: m, Detach: b.detach, Tell: b.tell, Progress: func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.progress++
	}, Emit: emit, EmitAcknowledged: func(ctx context.Context, msgs ...schemas.Message) error {
		if b.acknowledge != nil {
			if err := b.acknowledge(msgs); err != nil {
				return err
			}
		}
		return emit(ctx, msgs...)
	}})
}

// finished are the outcomes by file name.
func (b *bench) finished() map[string]*schemas.DownloadFinished {
	b.t.Helper()
	out := map[string]*schemas.DownloadFinished{}
	for _, m := range b.out {
		if d, ok := m.Body.(*schemas.DownloadFinished); ok {
			if out[d.FileName] != nil {
				b.t.Errorf("%s has two outcomes", d.FileName)
			}
			if m.Key != d.File || m.Topic != schemas.DownloadFinishedTopic {
				b.t.Errorf("outcome of %s: key %q of %s", d.FileName, m.Key, m.Topic)
			}
			out[d.FileName] = d
		}
	}
	return out
}

// statuses are what was told of a file: phase, status, outcome, note.
func (b *bench) statuses(name string) []string {
	var out []string
	for _, m := range b.out {
		if s, ok := m.Body.(*schemas.StatusChanged); ok && s.FileName == name {
			out = append(out, fmt.Sprintf("%s %s %s %s", s.Phase, s.Status, s.Outcome, s.Note))
		}
	}
	return out
}

func (b *bench) ids() map[string]bool {
	out := map[string]bool{}
	for _, m := range b.out {
		out[m.ID] = true
	}
	return out
}

// full is a store without room.
type full struct{ blob.Store }

func (full) Create(context.Context) (blob.Writer, error) { return fullWriter{}, nil }

type fullWriter struct{}

func (fullWriter) Write([]byte) (int, error) { return 0, blob.ErrFull }
func (fullWriter) Ref() blob.Ref             { return blob.Ref{} }
func (fullWriter) Commit() (blob.Ref, error) { return blob.Ref{}, blob.ErrFull }
func (fullWriter) Abort() error              { return nil }
