package poll

import (
	"cmp"
	"context"
	"strconv"

	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/sql/control"
)

// bounds are what a poll may still take up of a listing, and whether it must choose
// for that. What is recorded after midnight counts to the new day, of which nothing
// had been used.
func (s *Poller) bounds(ctx context.Context, conn *pgxpool.Conn, p polled, listed int) (b control.Bounds, choose bool, err error) {
	var today control.Taken
	if p.source.MaxFilesPerDay > 0 || p.source.MaxBytesPerDay > 0 {
		day, _ := p.source.Day(s.deps.Now())
		if today, err = control.TakenOn(ctx, conn, p.Source, day); err != nil {
			return b, false, err
		}
	}
	b = control.Bounds{
		PollFiles: control.Bound{Most: int64(cmp.Or(p.source.MaxNew, s.cfg.MaxNew)), Used: p.Taken.Looks},
		PollBytes: control.Bound{Most: int64(p.source.MaxNewBytes), Used: p.Taken.Bytes},
		DayFiles:  control.Bound{Most: p.source.MaxFilesPerDay, Used: today.Files},
		DayBytes:  control.Bound{Most: int64(p.source.MaxBytesPerDay), Used: today.Bytes},
	}
	own := b.PollBytes.Most > 0 || b.DayFiles.Most > 0 || b.DayBytes.Most > 0
	return b, own || int64(listed) > b.PollFiles.Most-b.PollFiles.Used, nil
}

// nextTakesMore tells whether a poll that comes at once would take up what this one
// has left.
func (c counts) nextTakesMore() bool { return c.waiting.Entries > 0 && !control.OfDay(c.waiting.Limit) }

// takeUp tells what the poll took up, of which revision of its source, and what it left.
func (c counts) takeUp(p control.Poll, to map[string]string) {
	n := func(n int64) string { return strconv.FormatInt(n, 10) }
	to["taken"], to["taken_bytes"], to["revision"] = n(c.taken.Looks), n(c.taken.Bytes), n(p.Revision)
	if c.waiting.Entries > 0 {
		to["postponed"], to["stopped_by"] = n(c.waiting.Entries), c.waiting.Limit
	}
}
