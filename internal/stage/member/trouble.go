package member

import (
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/kafka"
)

// Trouble is what a member tries again just now. It is safe for concurrent use.
type Trouble struct{ text atomic.Pointer[string] }

// Is notes what does not work.
func (t *Trouble) Is(err error) {
	text := err.Error()
	t.text.Store(&text)
}

// Over notes that it works.
func (t *Trouble) Over() { t.text.Store(nil) }

// Text is what does not work; not ok: nothing.
func (t *Trouble) Text() (text string, ok bool) {
	if p := t.text.Load(); p != nil {
		return *p, true
	}
	return "", false
}

// Fetching notes whether a right is missing to read, which lasts until somebody
// gives it.
func (t *Trouble) Fetching(errs []kgo.FetchError, group string) {
	for _, e := range errs {
		if kafka.Denied(e.Err) {
			t.Is(kafka.Lacking(e.Err, "Read", e.Topic, group))
			return
		}
	}
	t.Over()
}
