package poll

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/remote"
	"tributary/schemas"
	"tributary/sql/control"
)

// Between complete polls a source may be polled minimally (complete_every). The time of
// a directory changes when an entry comes, goes or is renamed, so one whose time is that
// of an earlier listing shows nothing new: it is passed over. A file that is overwritten
// in place is seen by the next complete poll, which alone tells what is gone.
//
// Clocks differ, and times are as exact as a server shows them. So nothing is concluded
// from what the server's clock says: a listing counts if the directory had shown the
// same time for longer than that is exact to, by our own clock, when it began. What
// comes later then gives the directory another time.

const (
	// steady is for how long a directory must have shown its time when it is listed,
	// beyond what the time is exact to: file systems keep times to 2 s at worst.
	steady = 2 * time.Second
	// early is how much sooner than complete_every a poll is complete: those that come
	// at the same time each day are some seconds apart from that.
	early = time.Minute
	// feedEvery is how often a feed is read whatever its server says of it, where the
	// source doesn't say otherwise.
	feedEvery = 24 * time.Hour
	// mostVersion is how long a name of a version is kept, in bytes.
	mostVersion = 1024
)

// actions are a set of action directories.
type actions uint8

func only(action string) actions { return 1 << schemas.ActionOrder(action) }

func (a actions) has(action string) bool { return a&only(action) != 0 }

// passing decides which directories a poll passes over, and what the next ones go by.
type passing struct {
	began   time.Time
	minimal bool // the last complete poll is not long enough ago
	was     control.Directories
	shown   map[string]remote.Entry // the directories whose time the server shows, by action
	over    []string                // actions passed over
	is      map[string]string       // the versions of listings that the server named, by action
}

// pass asks a source that is polled minimally for the times of its directories. Where it
// doesn't show them, all are listed: what is wrong with it their listings tell.
func (s *Poller) pass(ctx context.Context, session remote.Session, p polled) *passing {
	every := p.source.CompleteEvery.D()
	if every == 0 && p.source.Feed != "" {
		every = feedEvery
	}
	if every == 0 {
		return nil
	}
	now := s.deps.Now()
	since := now.Sub(p.Directories.Complete)
	o := &passing{began: now, was: p.Directories, shown: map[string]remote.Entry{}, is: map[string]string{}}
	o.minimal = p.Passed && !p.Once && !o.was.Complete.IsZero() && since >= 0 && since < every-early
	if p.source.Feed != "" {
		return o // which has no directories
	}
	err := session.List(ctx, "", func(e remote.Entry) error {
		if e.Kind == remote.Dir && !e.ModTime.IsZero() && slices.Contains(schemas.Actions(), e.Name) {
			o.shown[e.Name] = e
		}
		return nil
	})
	if err != nil {
		clear(o.shown)
	}
	return o
}

// passes tells whether the poll passes over a directory, and notes that it does.
func (o *passing) passes(action string) bool {
	if o == nil || !o.minimal || !o.settled(action) {
		return false
	}
	o.over = append(o.over, action)
	return true
}

// settled tells whether a directory shows nothing that an earlier listing didn't, by its
// time.
func (o *passing) settled(action string) bool {
	e, shown := o.shown[action]
	d, known := o.was.By[action]
	return shown && known && !d.Mute && !d.Came && e.ModTime.Equal(d.Time) && !d.Listed.IsZero() && d.Listed.Sub(d.Since) >= e.Precision+steady
}

// list lists a directory, unless the server says that it is the listing of before: then
// it is passed over, as by its time.
func (o *passing) list(ctx context.Context, session remote.Session, action string, yield func(remote.Entry) error) (over bool, err error) {
	asks, able := session.(remote.Conditional)
	if o == nil || !able {
		return false, session.List(ctx, action, yield)
	}
	version := ""
	if d := o.was.By[action]; o.minimal && !d.Mute {
		version = d.Version
	}
	is, err := asks.ListIf(ctx, action, version, yield)
	if errors.Is(err, remote.ErrUnchanged) {
		o.over = append(o.over, action)
		return true, nil
	}
	if err == nil && len(is) <= mostVersion {
		o.is[action] = is
	}
	return false, err
}

// passedOver are the actions whose directories the poll passed over.
func (c counts) passedOver() []string {
	if c.passing == nil {
		return nil
	}
	return c.passing.over
}

// next is what the polls after one go by that was recorded to its end: in which
// directories files have come, and some may still grow.
func (o *passing) next(came, grow actions, postponed bool) control.Directories {
	n := control.Directories{Of: o.was.Of, Complete: o.began, By: map[string]control.Directory{}}
	if len(o.over) > 0 {
		n.Complete, n.Minimal = o.was.Complete, o.was.Minimal+1
	}
	for action, e := range o.shown {
		was, known := o.was.By[action]
		same := known && was.Time.Equal(e.ModTime)
		d := control.Directory{Time: e.ModTime, Since: o.began, Mute: was.Mute || same && was.Came}
		if same {
			d.Since, d.Listed = was.Since, was.Listed
		}
		if !slices.Contains(o.over, action) {
			d.Came = o.settled(action) && came.has(action)
			if d.Listed = o.began; postponed || grow.has(action) {
				d.Listed = time.Time{}
			}
		}
		n.By[action] = d
	}
	o.named(n.By, came, grow, postponed)
	return n
}

// named notes the versions of listings that the server named: of those of which nothing
// is left, and of what was passed over. One that it goes on naming though files came is
// believed no more.
func (o *passing) named(by map[string]control.Directory, came, grow actions, postponed bool) {
	for _, action := range schemas.Actions() {
		was, d := o.was.By[action], by[action]
		is, listed := o.is[action]
		d.Mute = d.Mute || was.Mute || is != "" && is == was.Version && came.has(action)
		switch {
		case slices.Contains(o.over, action):
			d.Version = was.Version
		case listed && !d.Mute && !postponed && !grow.has(action):
			d.Version = is
		}
		if d != (control.Directory{}) {
			by[action] = d
		}
	}
}

// attributes are what the poll's event tells of what it passed over.
func (o *passing) attributes(to map[string]string) {
	if o != nil && len(o.over) > 0 {
		to["passed_over"] = strings.Join(o.over, " ")
	}
}

// goBy stores what the next polls of a source go by, if it is polled minimally, and logs
// which directories all of them list from now on.
func (s *Poller) goBy(ctx context.Context, tx pgx.Tx, p control.Poll, c counts) error {
	if c.passing == nil {
		return nil
	}
	next := c.passing.next(c.came, c.grow, c.waiting.Entries > 0)
	for action, d := range next.By {
		if d.Mute && !p.Directories.By[action].Mute {
			s.deps.Log.Warn("files come into a directory whose time stays as it is: every poll lists it from now on, until a person asks for one (tributary sources poll)",
				"source", p.Source, "directory", action)
		}
	}
	return control.PutDirectories(ctx, tx, p.Source, next)
}
