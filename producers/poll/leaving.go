package poll

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/sql/control"
)

// Of what its listings show, a source may leave files: those that are too small or large
// or were changed too long ago for it, those of which there is a later one, those that
// were changed too lately, and those that wait for their done-file. What is new or
// changed is left as if nothing of it had been shown: it is neither taken nor gone, and
// the next listing may show it. So what was taken stays, whatever becomes of its age or
// its done-file.
//
// What is left for its size or age for good is out of the question as the latest. What
// isn't ready yet is not: nobody loads an older one meanwhile.

// kinds is how many reasons and directories one statement leaves files for at most.
const kinds = 9

// leaveSome leaves what the source's keys say, and notes it beside what is ignored.
func (s *Poller) leaveSome(ctx context.Context, conn *pgxpool.Conn, p polled, c *counts) error {
	src, limit := p.source, max(kinds, c.ignored.keep)
	var all []control.LeftOut
	note := func(left []control.LeftOut, err error) error {
		all = append(all, left...)
		return err
	}
	if src.MinSize > 0 || src.MaxSize > 0 || src.MaxAge > 0 {
		fit := control.Fit{MinSize: int64(src.MinSize), MaxSize: int64(src.MaxSize), ChangedAfter: c.clock.before(src.MaxAge.D())}
		if err := note(control.LeaveUnfit(ctx, conn, p.Source, fit, limit)); err != nil {
			return err
		}
	}
	if src.LatestOnly {
		if err := note(control.LeaveOlder(ctx, conn, p.Source, !c.brokenOff && c.refused.total == 0, limit)); err != nil {
			return err
		}
	}
	if before, after, waits := strings.Cut(src.DoneFile, "*"); waits || src.MinAge > 0 {
		if err := note(control.LeaveUnready(ctx, conn, p.Source, c.clock.before(src.MinAge.D()), waits, before, after, limit)); err != nil {
			return err
		}
	}
	c.leave(p, all)
	return nil
}

// nameOf notes of an entry what its name says, if that keeps the convention.
func (l *listed) nameOf(row *control.Entry) {
	if name, bad := l.s.deps.Profile.ParseZip(row.Name, l.s.deps.Centres); bad == nil {
		row.Centre, row.FileDate, row.FileInc = name.Centre, name.Date.Format(time.DateOnly), name.Increment
	}
}

// before is the moment so long before the listing, by the server's clock; nil for no time.
func (w *clockwork) before(age time.Duration) *time.Time {
	if age == 0 {
		return nil
	}
	at := w.began.Add(w.session.Ahead - age)
	return &at
}

// leave counts what was left, and keeps the names of the first.
func (c *counts) leave(p polled, all []control.LeftOut) {
	counted := map[[2]string]bool{}
	first := make([]control.Ignored, 0, len(all))
	for _, l := range all {
		first = append(first, control.Ignored{Directory: l.Action, Name: l.Name, Reason: l.Reason, Rule: rule(p, l), Shown: l.Seen})
		kind := [2]string{l.Reason, l.Action}
		if counted[kind] {
			continue
		}
		counted[kind] = true
		c.ignored.count(l.Reason, int(l.All))
		c.listed, c.left = c.listed-int(l.AllNew), c.left+int(l.AllNew)
		if l.Reason == control.TooYoung {
			c.ripen += int(l.All)
			c.grow |= only(l.Action) // its directory doesn't change when it is old enough
		}
	}
	c.ignored.ahead(first)
}

// rule is the bound that an entry is not within, or what else it is left for.
func rule(p polled, l control.LeftOut) string {
	switch l.Reason {
	case control.NoDoneFile:
		return p.source.DoneFileOf(l.Name)
	case control.TooSmall:
		return "min_size: " + p.source.MinSize.String()
	case control.TooLarge:
		return "max_size: " + p.source.MaxSize.String()
	case control.TooYoung:
		return "min_age: " + p.source.MinAge.String()
	case control.TooOld:
		return "max_age: " + p.source.MaxAge.String()
	}
	return l.Beside
}
