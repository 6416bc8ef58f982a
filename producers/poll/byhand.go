package poll

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
	"tributary/internal/remote"
	"tributary/schemas"
	"tributary/sql/outbox"
)

// ByHand is what became of a path that a person announces.
type ByHand struct {
	Path      string `json:"path"` // ACTION/NAME
	Announced bool   `json:"announced"`
	Size      int64  `json:"size"`   // bytes, as the server tells it
	Detail    string `json:"detail"` // why it was not announced
}

// Announce looks at paths of a source (ACTION/NAME) on a session, and announces those
// where there is a file, in one transaction. They are judged as the announcements of
// any other program; the same said again is the same announcement.
func Announce(ctx context.Context, db pg.Beginner, out outbox.Outbox, session remote.Session, source string, paths []string, now time.Time) ([]ByHand, error) {
	done := make([]ByHand, 0, len(paths))
	var messages []schemas.Message
	for _, path := range paths {
		one := ByHand{Path: path}
		action, name, _ := strings.Cut(path, "/")
		e, err := stat(ctx, session, action, name)
		var whole *notAFileError
		switch {
		case errors.As(err, &whole):
			one.Detail = whole.Error()
		case err != nil:
			return nil, fmt.Errorf("%s: %w", path, err)
		default:
			one.Announced, one.Size = true, e.Size
			messages = append(messages, byHand(source, action, name, e, now))
		}
		done = append(done, one)
	}
	if len(messages) == 0 {
		return done, nil
	}
	return done, pg.InTx(ctx, db, func(tx pgx.Tx) error { return out.Append(ctx, tx, messages...) })
}

// notAFileError says why a path can't be announced.
type notAFileError struct{ why string }

func (e *notAFileError) Error() string { return e.why }

func stat(ctx context.Context, session remote.Session, action, name string) (remote.Entry, error) {
	if schemas.ActionOrder(action) == 0 || name == "" || strings.Contains(name, "/") {
		return remote.Entry{}, &notAFileError{"it is no path of a file: write add/NAME, edit/NAME or delete/NAME"}
	}
	e, err := session.Stat(ctx, action+"/"+name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return e, &notAFileError{"the source has no such file"}
	case err != nil && remote.ClassOf(err) == remote.Permission:
		return e, &notAFileError{text(err)}
	case err != nil:
		return e, err
	case e.Invalid != "":
		return e, &notAFileError{e.Message}
	case e.Kind != remote.File:
		return e, &notAFileError{"it is no regular file"}
	}
	return e, nil
}

func byHand(source, action, name string, e remote.Entry, now time.Time) schemas.Message {
	file := schemas.FileID(action, name)
	body := &schemas.FileDiscovered{
		Scope: schemas.Scope{Run: schemas.LiveRun, Source: source}, FileRef: fileRef(file, name, action), Change: "new", Size: e.Size,
	}
	if !e.ModTime.IsZero() {
		at := e.ModTime.UTC().Truncate(time.Microsecond)
		body.ModTime = &at
	}
	return schemas.Message{
		ID:    schemas.EventID("announce", schemas.LiveRun, source+"/"+file, strconv.FormatInt(e.Size, 10), e.ModTime.UTC().Format(time.RFC3339Nano)),
		Topic: schemas.FileDiscoveredTopic, Key: file, Stage: "announce", Subject: action + "/" + name, Time: now, Body: body,
	}
}
