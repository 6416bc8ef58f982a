package pages

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"tributary/queries/explained"
	"tributary/queries/original"
	"tributary/queries/report"
	"tributary/web/access"
)

const (
	// handed is how many originals are handed out at once.
	handed = 4
	// handTime is how long handing out one may take, and pieceTime how long who gets it
	// may take to read a piece.
	handTime  = 15 * time.Minute
	pieceTime = 30 * time.Second
)

// mayHave tells whether who asks may have originals, and whether there are any here.
func (s *Site) mayHave(r *http.Request) bool {
	return s.Originals != nil && access.From(r.Context()).Role >= access.Wrangler
}

// originalFile hands out a version of a file as it was received.
func (s *Site) originalFile(w http.ResponseWriter, r *http.Request) {
	action, name := r.PathValue("action"), r.PathValue("name")
	s.hand(w, r, name, func(ctx context.Context, begin begin) error {
		sha256, err := report.VersionOf(ctx, s.Tracker, action, name, r.URL.Query().Get("version"))
		if err != nil {
			return err
		}
		return unread(s.Originals.CopyFile(ctx, sha256, begin))
	})
}

// originalDocument hands out a document as it was received.
func (s *Site) originalDocument(w http.ResponseWriter, r *http.Request) {
	action, file, entry := r.PathValue("action"), r.PathValue("name"), r.PathValue("entry")
	s.hand(w, r, path.Base(entry), func(ctx context.Context, begin begin) error {
		x, _, err := report.DocumentOf(ctx, s.Tracker, action, file, entry)
		if err != nil {
			return err
		}
		return unread(s.Originals.Copy(ctx, explained.Original(x), begin))
	})
}

// begin is called with the size of an original before its bytes are handed out.
type begin = func(size int64) (io.Writer, error)

// errHeld says that too many originals are handed out.
var errHeld = errors.New("as many originals as may be are handed out now; come again in a minute")

// hand hands an original out as a file to be kept, which no browser shows or runs: what
// others wrote must not act in the name of these pages.
func (s *Site) hand(w http.ResponseWriter, r *http.Request, name string, copyTo func(context.Context, begin) error) {
	ctx, cancel := context.WithTimeout(r.Context(), handTime)
	defer cancel()
	held := &heldBack{to: &patient{w: w, bound: http.NewResponseController(w)}}
	started := false
	err := s.handing(ctx, r, func(ctx context.Context) error {
		return copyTo(ctx, func(size int64) (io.Writer, error) {
			started = true
			h := w.Header()
			h.Set("Content-Type", "application/octet-stream")
			h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": fileName(name)}))
			h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
			h.Set("Cache-Control", "private, no-store")
			h.Set("Content-Length", strconv.FormatInt(size, 10))
			return held, nil
		})
	})
	switch {
	case err == nil:
		if err := held.release(); err != nil {
			s.Log.Debug("an original was not read to its end", "address", r.URL.Path, "error", err)
		}
		s.Log.Info("an original was handed out", "to", access.From(ctx).Name, "address", r.URL.Path)
	case !started:
		s.sorry(w, r, err)
	default:
		s.Log.Warn("an original could not be handed out whole", "address", r.URL.Path, "error", err)
		panic(http.ErrAbortHandler) // who gets it sees that it is not whole
	}
}

// handing checks what is asked for, and lets so many do something at once.
func (s *Site) handing(ctx context.Context, r *http.Request, do func(context.Context) error) error {
	if s.Originals == nil {
		return errNotHere
	}
	if err := (report.Filter{Name: r.PathValue("name"), Contains: r.PathValue("action"), Source: r.PathValue("entry")}).Check(); err != nil {
		return report.ErrNotFound
	}
	select {
	case s.handed <- struct{}{}:
		defer func() { <-s.handed }()
		return do(ctx)
	default:
		return errHeld
	}
}

// unreadError says that stored bytes can't be read.
type unreadError struct{ error }

func (e *unreadError) Unwrap() error { return e.error }

func unread(err error) error {
	if err == nil {
		return nil
	}
	return &unreadError{err}
}

// What a page says that has no original.
const (
	tooMany   = "This can't be handed out now."
	notHanded = "This can't be handed out."
)

// sorry is the page that says why there is no original.
func (s *Site) sorry(w http.ResponseWriter, r *http.Request, err error) {
	status, p := s.failed(r, err)
	var bytes *unreadError
	switch {
	case errors.Is(err, errHeld):
		w.Header().Set("Retry-After", "60")
		p.Title, p.Data = tooMany, failure{Said: tooMany, Why: err.Error()}
	case errors.As(err, &bytes):
		if errors.Is(err, fs.ErrNotExist) {
			status = http.StatusNotFound
		}
		p.Title, p.Data = notHanded, failure{Said: notHanded, Why: original.Words(err)}
	}
	s.answer(w, r, p, status, nil, "")
}

// fileName is a name for a file on anybody's disk: what others wrote, without what means
// something there.
func fileName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || r == ':' || shown(string(r)) != string(r) {
			return '_'
		}
		return r
	}, name)
	return cmp.Or(strings.TrimLeft(strings.ToValidUTF8(name[:min(len(name), 200)], ""), "."), "original")
}

// heldBack passes on all that is written but the last byte, until that is released: what
// turns out to be wrong at its end is never had whole.
type heldBack struct {
	to   io.Writer
	last []byte
}

func (h *heldBack) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if err := h.release(); err != nil {
		return 0, err
	}
	n, err := h.to.Write(p[:len(p)-1])
	if err != nil {
		return n, err
	}
	h.last = append(h.last, p[len(p)-1])
	return len(p), nil
}

func (h *heldBack) release() error {
	last := h.last
	h.last = h.last[:0]
	if len(last) == 0 {
		return nil
	}
	_, err := h.to.Write(last)
	return err
}

// patient gives who reads a bounded time for each piece.
type patient struct {
	w     io.Writer
	bound *http.ResponseController
}

func (p *patient) Write(b []byte) (int, error) {
	if err := p.bound.SetWriteDeadline(time.Now().Add(pieceTime)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, err
	}
	return p.w.Write(b)
}
