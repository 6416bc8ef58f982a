package poll

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/producers/sources"
	"tributary/sql/control"
)

// leaveSome leaves what the source's keys say, and notes it beside what is ignored.
func (s *Poller) leaveSome(ctx context.Context, conn *pgxpool.Conn, p polled, c *counts) error {
	of := control.Leaving{Source: p.Source, Limit: c.ignored.keep}
	whole := !c.brokenOff && c.refused.total == 0
	all, err := sources.Leave(ctx, conn, p.source, of, c.clock.began.Add(c.clock.session.Ahead), whole)
	if err != nil {
		return err
	}
	c.leave(p, all)
	return nil
}

// leave counts what was left, and keeps the names of the first.
func (c *counts) leave(p polled, all []control.LeftOut) {
	counted := map[[2]string]bool{}
	first := make([]control.Ignored, 0, len(all))
	for _, l := range all {
		first = append(first, control.Ignored{Directory: l.Action, Name: l.Name, Reason: l.Reason, Rule: sources.Rule(p.source, l), Shown: l.Seen})
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
