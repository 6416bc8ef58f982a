package poll

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/sql/control"
)

// Where a source's files have done-files, each is put beside its file last, and says that
// this is whole. A new or changed file without one is left as if nothing of it had been
// shown: it is neither taken nor gone, and the next listing may show it. What was taken
// before stays when its done-file is taken away.

// leaveUndone leaves what waits for its done-file, and notes it beside what is ignored.
func (s *Poller) leaveUndone(ctx context.Context, conn *pgxpool.Conn, p polled, c *counts) error {
	before, after, waits := strings.Cut(p.source.DoneFile, "*")
	if !waits {
		return nil
	}
	undone, err := control.LeaveUndone(ctx, conn, p.Source, before, after, max(1, c.ignored.keep))
	if err != nil || len(undone) == 0 {
		return err
	}
	first := make([]control.Ignored, len(undone))
	for i, u := range undone {
		first[i] = control.Ignored{Directory: u.Action, Name: u.Name, Reason: control.NoDoneFile, Rule: p.source.DoneFileOf(u.Name)}
	}
	c.ignored.ahead(control.NoDoneFile, int(undone[0].All), first)
	c.listed -= int(undone[0].AllNew)
	return nil
}
