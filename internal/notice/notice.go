// Package notice delivers short messages to whom they were promised: to webhooks, by
// HTTP, and to people, by mail. What it is told comes from others in part, so every
// text is cleaned and cut here, whoever wrote it.
package notice

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"tributary/internal/config"
	"tributary/schemas"
)

const (
	// maxTitle and maxText bound a notice's texts, in bytes.
	maxTitle = 200
	maxText  = 4 << 10
	// timeout is for one delivery, all of it.
	timeout = 20 * time.Second
)

// Notice is one thing that somebody is told.
type Notice struct {
	ID    string    // a UUID that follows from what it is about: told again, it is the same
	Kind  string    // such as file_failed
	Time  time.Time // when it happened
	Title string    // one line
	Data  Data
}

// Data is what a notice is about, for programs. What does not apply is empty.
type Data struct {
	Title     string `json:"title"`
	Message   string `json:"message,omitempty"`
	Centre    string `json:"centre,omitempty"`
	Source    string `json:"source,omitempty"`
	File      string `json:"file,omitempty"` // action/name
	Document  string `json:"document,omitempty"`
	Phase     string `json:"phase,omitempty"`
	Exception string `json:"exception,omitempty"`
	Number    int64  `json:"number,omitempty"` // of a batch
	Count     int64  `json:"count,omitempty"`  // of what the kind counts: documents of a batch, findings of a document
	Run       string `json:"run,omitempty"`    // of a replay
	Event     string `json:"event,omitempty"`  // id of the event in status.changed
	URL       string `json:"url,omitempty"`    // of the page about it, where it is known where the pages are
}

// Path is the address of the page about it, below that of the pages.
func (d Data) Path() string {
	escape := url.PathEscape
	action, name, file := strings.Cut(d.File, "/")
	switch {
	case file && d.Document != "":
		return "/files/" + escape(action) + "/" + escape(name) + "/documents/" + escape(d.Document)
	case file:
		return "/files/" + escape(action) + "/" + escape(name)
	case d.Source != "":
		return "/sources/" + escape(d.Source)
	case d.Centre != "":
		return "/centres/" + escape(d.Centre)
	}
	return "/"
}

// At is the notice with the address of the page about it, below that of the pages; empty:
// nobody knows where these are. The names in it must be whole, as they are before Tidy.
func (n Notice) At(pages string) Notice {
	if address := pages + n.Data.Path(); pages != "" && len(address) <= maxText {
		n.Data.URL = address
	}
	return n
}

// Tidy is the notice with all its texts clean, on one line where they must be, and cut.
func (n Notice) Tidy() Notice {
	d := &n.Data
	for _, p := range []*string{&d.Centre, &d.Source, &d.File, &d.Document, &d.Phase, &d.Exception, &d.Run, &d.Event} {
		*p = line(*p, maxText)
	}
	d.Message = schemas.Cut(schemas.Clean(d.Message), maxText)
	n.Title = line(n.Title, maxTitle)
	d.Title = n.Title
	return n
}

// line is a text on one line, clean, and no longer than most bytes.
func line(text string, most int) string {
	return schemas.Cut(strings.Join(strings.FieldsFunc(schemas.Clean(text), func(r rune) bool { return r == '\n' || r == '\t' }), " "), most)
}

// Target is where notices go. It is safe for concurrent use, and keeps nothing: what an
// error says was not delivered.
type Target interface {
	// Deliver tells one notice. A *Refused is about this notice alone; any other error
	// is about the target, and ends by itself or when somebody mends it.
	Deliver(ctx context.Context, n Notice) error
}

// Refused says that a target won't have a notice, whenever it comes.
type Refused struct{ Why string }

func (r *Refused) Error() string { return r.Why }

// IsRefused tells whether an error is a *Refused.
func IsRefused(err error) bool {
	var r *Refused
	return errors.As(err, &r)
}

// Open makes the target of a configuration. Nothing is sent yet. It fails if a secret or
// a file can't be read.
func Open(cfg config.NotifyTarget, smtp config.SMTP) (Target, error) {
	if cfg.Webhook != "" {
		w, err := NewWebhook(cfg)
		if err != nil {
			return nil, fmt.Errorf("notify target %s: %w", cfg.ID, err)
		}
		return w, nil
	}
	m, err := NewMail(cfg.Mail, smtp)
	if err != nil {
		return nil, fmt.Errorf("notify target %s: %w", cfg.ID, err)
	}
	return m, nil
}
