package poll

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/config"
	"tributary/internal/pg"
	"tributary/internal/remote"
	"tributary/internal/remote/connectors"
	sourceconfig "tributary/internal/source"
	"tributary/producers/sources"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/sql/outbox"
)

// ByHand is what became of a path that a person announces.
type ByHand struct {
	Path      string `json:"path"` // ACTION/NAME
	Announced bool   `json:"announced"`
	Size      int64  `json:"size"`   // bytes, as the server tells it
	Detail    string `json:"detail"` // why it was not announced
}

// Hand announces files that a person names.
type Hand struct {
	Pool   *pgxpool.Pool // of control
	Outbox outbox.Outbox // of control
	Config config.Config
	Log    *slog.Logger
	Now    func() time.Time
}

// UnreachableError says that a source could not be looked at.
type UnreachableError struct{ cause error }

func (e *UnreachableError) Error() string { return e.cause.Error() }
func (e *UnreachableError) Unwrap() error { return e.cause }

// NotFetchedError says that a source is one from which nothing is fetched.
type NotFetchedError struct{ Source, State string }

func (e *NotFetchedError) Error() string {
	return fmt.Sprintf("%s is %s, so nothing is fetched from it: tributary sources resume %s", e.Source, e.State, e.Source)
}

// Announce connects to a source and announces paths of it, by somebody's order. A source
// that is not there is an error of sources.Refused; others that people can mend are a
// NotFetchedError or an UnreachableError.
func (h Hand) Announce(ctx context.Context, source string, paths []string, by control.Decision) ([]ByHand, error) {
	known, err := sources.Present(ctx, h.Pool, []string{source})
	if err != nil {
		return nil, err
	}
	if known[0].State != control.SourceAvailable {
		return nil, &NotFetchedError{source, known[0].State}
	}
	src, err := config.ParseDefinition(known[0].Definition)
	if err != nil {
		return nil, err
	}
	r, err := sourceconfig.Remote(src, h.Config.Poll.ConnectTimeout, h.Config.Poll.IdleTimeout, h.Config.Limits)
	if err != nil {
		return nil, &UnreachableError{err}
	}
	r.Gate = control.GateTo(h.Pool, src, known[0].Server, h.Now, h.Log)
	session, err := connectors.All().Dial(ctx, r)
	if err != nil {
		return nil, &UnreachableError{err}
	}
	defer session.Close()
	return announce(ctx, h.Pool, h.Outbox, session, source, paths, by)
}

// announce looks at paths of a source (ACTION/NAME) on a session, and announces those
// where there is a file, in one transaction. They are judged as the announcements of
// any other program; the same said again is the same announcement. Each time an event tells
// who ordered it.
func announce(ctx context.Context, db pg.Beginner, out outbox.Outbox, session remote.Session, source string, paths []string, by control.Decision) ([]ByHand, error) {
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
			return nil, &UnreachableError{fmt.Errorf("%s: %w", path, err)}
		default:
			one.Announced, one.Size = true, e.Size
			messages = append(messages, byHand(source, action, name, e, by)...)
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

// byHand are the announcement of a file, and the event that says who ordered it: programs
// that read announcements need not know.
func byHand(source, action, name string, e remote.Entry, by control.Decision) []schemas.Message {
	file := schemas.FileID(action, name)
	body := &schemas.FileDiscovered{
		Scope: schemas.Scope{Run: schemas.LiveRun, Source: source}, FileRef: fileRef(file, name, action), Change: "new", Size: e.Size,
	}
	if !e.ModTime.IsZero() {
		at := e.ModTime.UTC().Truncate(time.Microsecond)
		body.ModTime = &at
	}
	m := schemas.Message{
		ID:    schemas.EventID("announce", schemas.LiveRun, source+"/"+file, strconv.FormatInt(e.Size, 10), e.ModTime.UTC().Format(time.RFC3339Nano)),
		Topic: schemas.FileDiscoveredTopic, Key: file, Stage: "announce", Subject: action + "/" + name, Time: by.At, Body: body,
	}
	told := map[string]string{"by": by.By, "announcement": m.ID}
	if by.Reason != "" {
		told["reason"] = by.Reason
	}
	return []schemas.Message{m, {
		ID:    schemas.EventID("announce", schemas.LiveRun, m.ID, "ordered", by.At.UTC().Format(time.RFC3339Nano)),
		Topic: schemas.StatusChangedTopic, Key: file, Stage: m.Stage, Subject: m.Subject, Time: by.At, Body: &schemas.StatusChanged{
			Scope: body.Scope, FileRef: body.FileRef, Entity: schemas.EntityAnnouncement, Note: "announced", Message: by.Said("announced at " + source),
			FileSize: e.Size, ModTime: body.ModTime, Attributes: told,
		},
	}}
}
