package download

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/blob"
	"tributary/internal/blob/blobtest"
	"tributary/internal/remote"
	"tributary/schemas"
)

// resumer is the server in memory, which can go on in the middle of a file.
type resumer struct {
	*server
	// at is where it was asked to go on, each time.
	at []int64
	// goOn says what it sends instead of what is asked for; nil: that.
	goOn func(data []byte, offset int64, version string) (io.ReadCloser, error)
}

func (s *resumer) OpenAt(_ context.Context, path string, offset int64, version string) (io.ReadCloser, error) {
	s.at = append(s.at, offset)
	data := s.files[path].bytes
	if s.goOn != nil {
		return s.goOn(data, offset, version)
	}
	return io.NopCloser(bytes.NewReader(data[offset:])), nil
}

// noise is data in which a hole or a swap shows.
func noise(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{2}).Read(b)
	return b
}

// resumable is a bench whose server can go on, and which keeps what came.
func resumable(t *testing.T) (*bench, *resumer) {
	b := newBench(t)
	s := &resumer{server: b.server}
	b.deps.Dial = func(context.Context, remote.Config) (remote.Session, error) { return s, nil }
	dir, ok := b.deps.Blobs.(*blob.Dir)
	if !ok {
		t.Fatal("the bench has another store")
	}
	b.deps.Partials = dir.Partials(1 << 30)
	return b, s
}

// attempt does a job anew, and returns how it ended and what was told of it.
func (b *bench) attempt(m schemas.Message) (*schemas.DownloadFinished, map[string]string) {
	b.t.Helper()
	b.out = nil
	if err := b.work(b.t.Context(), m); err != nil {
		b.t.Fatal(err)
	}
	b.server.closed = 0
	var told map[string]string
	for _, m := range b.out {
		if s, ok := m.Body.(*schemas.StatusChanged); ok && s.Status != string(schemas.Running) {
			told = s.Attributes
		}
	}
	for _, d := range b.finished() {
		return d, told
	}
	b.t.Fatal("no outcome")
	return nil, nil
}

// After a cut the next attempt goes on a little before the end of what came, and
// the file is whole. What was not cut is not kept.
func TestACutTransferGoesOn(t *testing.T) {
	const cutAt = 2<<20 + 5
	data := noise(3 << 20)
	b, s := resumable(t)
	f := b.put("a.zip", string(data))
	m := b.job("a.zip")
	f.reader = func(context.Context) io.Reader {
		return io.MultiReader(bytes.NewReader(data[:cutAt]), failing{errors.New("cut")})
	}
	if d, told := b.attempt(m); d.Result != schemas.FailedEnd || d.Exception != "transfer_failed" || told != nil || d.StartedAt == nil {
		t.Fatalf("the first attempt ended as %+v, and %v was told", d, told)
	}
	d, told := b.attempt(m)
	if d.Result != schemas.Fetched || d.SHA256 != sha(string(data)) || d.MD5 != md(string(data)) || d.Size != int64(len(data)) {
		t.Errorf("the second attempt ended as %+v", d)
	}
	if want := []int64{cutAt - 64<<10}; !slices.Equal(s.at, want) {
		t.Errorf("it went on at %d, want %d", s.at, want)
	}
	if d.StartedAt != nil {
		t.Errorf("all its bytes are said to have come since %s, when it went on", d.StartedAt)
	}
	if diff := cmp.Diff(map[string]string{"resumed_from": strconv.Itoa(cutAt), "received": strconv.Itoa(len(data) - cutAt)}, told); diff != "" {
		t.Errorf("of it is told (- want, + got):\n%s", diff)
	}
	if got, err := blobtest.ReadAll(t.Context(), b.deps.Blobs, d.SHA256, 4<<20); err != nil || !bytes.Equal(got, data) {
		t.Errorf("the store has %d bytes, or others (%v)", len(got), err)
	}
	f.reader = nil
	if d, told = b.attempt(m); d.Result != schemas.Fetched || told != nil || len(s.at) != 1 {
		t.Errorf("afterwards it is resumed again, at %d: %v", s.at, told)
	}
}

// What may be another file, or can't be gone on with, is fetched from its
// beginning, in the same attempt.
func TestWhatIsFetchedFromItsBeginning(t *testing.T) {
	const cutAt = 2 << 20
	other := noise(4 << 20)[1<<20:]
	tests := map[string]struct {
		change func(b *bench, s *resumer, f *item, listed *schemas.RequestFile)
		asked  bool // to go on
	}{
		"listed with another size": {func(_ *bench, _ *resumer, f *item, r *schemas.RequestFile) {
			f.bytes = other[:len(other)-1]
			r.Size = int64(len(f.bytes))
		}, false},
		"listed with another time": {func(_ *bench, _ *resumer, f *item, r *schemas.RequestFile) {
			f.bytes, f.mtime = other, f.mtime.Add(time.Second)
			r.ModTime = &f.mtime
		}, false},
		"replaced since it was listed": {func(_ *bench, _ *resumer, f *item, r *schemas.RequestFile) {
			f.bytes, f.mtime = other, f.mtime.Add(time.Second)
		}, false},
		"replaced with the same size and time": {func(_ *bench, _ *resumer, f *item, _ *schemas.RequestFile) { f.bytes = other }, true},
		"the server doesn't go on":             {func(_ *bench, s *resumer, _ *item, _ *schemas.RequestFile) { s.goOn = refuses }, true},
		"the server begins at the beginning":   {func(_ *bench, s *resumer, _ *item, _ *schemas.RequestFile) { s.goOn = ignores }, true},
		"the server ends sooner":               {func(_ *bench, s *resumer, _ *item, _ *schemas.RequestFile) { s.goOn = endsSooner }, true},
		"the server sends more":                {func(_ *bench, s *resumer, _ *item, _ *schemas.RequestFile) { s.goOn = sendsMore }, true},
		"the end is another, as the md5 says": {func(b *bench, s *resumer, f *item, _ *schemas.RequestFile) {
			b.put("a.zip.md5", md(string(f.bytes)))
			s.goOn = endsOtherwise
		}, true},
		"no time is shown":      {func(_ *bench, _ *resumer, f *item, r *schemas.RequestFile) { f.mtime, r.ModTime = time.Time{}, nil }, false},
		"nothing may be kept":   {func(b *bench, _ *resumer, _ *item, _ *schemas.RequestFile) { b.deps.Partials = nil }, false},
		"what was kept is lost": {func(b *bench, _ *resumer, _ *item, _ *schemas.RequestFile) { _, _ = b.deps.Partials.Drop() }, false},
		"another connector, which can't resume": {func(b *bench, s *resumer, _ *item, _ *schemas.RequestFile) {
			b.deps.Dial = func(context.Context, remote.Config) (remote.Session, error) { return s.server, nil }
		}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b, s := resumable(t)
			data := noise(3 << 20)
			f := b.put("a.zip", string(data))
			m := b.job("a.zip")
			f.reader = func(context.Context) io.Reader {
				return io.MultiReader(bytes.NewReader(data[:cutAt]), failing{errors.New("cut")})
			}
			b.attempt(m)
			f.reader = nil
			tt.change(b, s, f, &m.Body.(*schemas.DownloadRequested).Files[0])
			d, told := b.attempt(m)
			if d.Result != schemas.Fetched || d.SHA256 != sha(string(f.bytes)) || told != nil {
				t.Errorf("it ended as %+v, and %v was told", d, told)
			}
			if (len(s.at) > 0) != tt.asked {
				t.Errorf("the server was asked to go on at %d", s.at)
			}
		})
	}
}

func refuses([]byte, int64, string) (io.ReadCloser, error) {
	return nil, fmt.Errorf("no: %w", remote.ErrNotResumed)
}

func ignores(data []byte, _ int64, _ string) (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(data)), nil
}

func endsSooner(data []byte, offset int64, _ string) (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(data[offset : len(data)-1])), nil
}

func sendsMore(data []byte, offset int64, _ string) (io.ReadCloser, error) {
	return io.NopCloser(io.MultiReader(bytes.NewReader(data[offset:]), bytes.NewReader([]byte{0}))), nil
}

func endsOtherwise(data []byte, offset int64, _ string) (io.ReadCloser, error) {
	data = bytes.Clone(data)
	data[len(data)-1] ^= 1
	return io.NopCloser(bytes.NewReader(data[offset:])), nil
}

// An attempt may bring nothing, as the server is away again; three in a row, and
// the file is fetched from its beginning.
func TestResumingIsGivenUp(t *testing.T) {
	b, s := resumable(t)
	data := noise(3 << 20)
	f := b.put("a.zip", string(data))
	m := b.job("a.zip")
	f.reader = func(context.Context) io.Reader {
		return io.MultiReader(bytes.NewReader(data[:2<<20]), failing{errors.New("cut")})
	}
	b.attempt(m)
	f.reader = nil
	s.goOn = func([]byte, int64, string) (io.ReadCloser, error) { return nil, errors.New("away") }
	for i := range maxIdle {
		if d, told := b.attempt(m); d.Result != schemas.FailedEnd || told["received"] != "0" {
			t.Errorf("attempt %d ended as %+v, and %v was told", i, d, told)
		}
	}
	if d, _ := b.attempt(m); d.Result != schemas.Fetched || len(s.at) != maxIdle {
		t.Errorf("in the end: %+v, asked to go on at %d", d, s.at)
	}
}
