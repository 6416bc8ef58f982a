package sources

import (
	"context"
	"strings"
	"time"

	"tributary/internal/config"
	"tributary/internal/pg"
	"tributary/internal/profile"
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

// leavingReasons are those for which a source leaves files, in the order in which it is
// asked for them.
func leavingReasons() []string {
	return []string{control.TooSmall, control.TooLarge, control.TooOld, control.NotLatest, control.NoDoneFile, control.TooYoung}
}

// Leave leaves what the keys of a source say of the connection's listing, and returns at
// least one of each directory and reason. Now is the moment of the listing by the server's
// clock, and whole says that it lacks nothing.
func Leave(ctx context.Context, conn pg.Querier, src config.Source, of control.Leaving, now time.Time, whole bool) (all []control.LeftOut, err error) {
	of.Limit = max(of.Limit, kinds)
	note := func(left []control.LeftOut, err error) error {
		all = append(all, left...)
		return err
	}
	if src.MinSize > 0 || src.MaxSize > 0 || src.MaxAge > 0 {
		fit := control.Fit{MinSize: int64(src.MinSize), MaxSize: int64(src.MaxSize), ChangedAfter: before(now, src.MaxAge)}
		if err := note(control.LeaveUnfit(ctx, conn, of, fit)); err != nil {
			return nil, err
		}
	}
	if src.LatestOnly {
		if err := note(control.LeaveOlder(ctx, conn, of, whole)); err != nil {
			return nil, err
		}
	}
	if head, tail, waits := strings.Cut(src.DoneFile, "*"); waits || src.MinAge > 0 {
		if err := note(control.LeaveUnready(ctx, conn, of, before(now, src.MinAge), waits, head, tail)); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// ReadName notes of an entry what its name says, if that keeps the convention: which is the
// latest is asked by that.
func ReadName(e *control.Entry, p *profile.Profile, known profile.Centres) {
	if name, bad := p.ParseZip(e.Name, known); bad == nil {
		e.Centre, e.FileDate, e.FileInc = name.Centre, name.Date.Format(time.DateOnly), name.Increment
	}
}

// before is the moment so long before another; nil for no time.
func before(now time.Time, age config.Duration) *time.Time {
	if age == 0 {
		return nil
	}
	at := now.Add(-age.D())
	return &at
}

// keyOf is the key of a source for which it leaves files for a reason, with its value, as
// the configuration writes it; empty: it hasn't that key.
func keyOf(src config.Source, reason string) string {
	write := func(has bool, key, value string) string {
		if !has {
			return ""
		}
		return key + ": " + value
	}
	switch reason {
	case control.TooSmall:
		return write(src.MinSize > 0, "min_size", src.MinSize.String())
	case control.TooLarge:
		return write(src.MaxSize > 0, "max_size", src.MaxSize.String())
	case control.TooYoung:
		return write(src.MinAge > 0, "min_age", src.MinAge.String())
	case control.TooOld:
		return write(src.MaxAge > 0, "max_age", src.MaxAge.String())
	case control.NotLatest:
		return write(src.LatestOnly, "latest_only", "true")
	case control.NoDoneFile:
		return write(src.DoneFile != "", "done_file", src.DoneFile)
	}
	return ""
}

// Rule is what stands against an entry that is left: the bound that it is not within, the
// done-file that it waits for, or the later file.
func Rule(src config.Source, l control.LeftOut) string {
	switch l.Reason {
	case control.NoDoneFile:
		return src.DoneFileOf(l.Name)
	case control.NotLatest:
		return l.Beside
	}
	return keyOf(src, l.Reason)
}
