package poll

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/sql/control"
)

// Each file that is fetched is compared with the checksum beside it, if there is one. It
// is not asked for where complete listings have shown that the source has none at all:
// one that has some shows a new one a moment after its file, perhaps, and one that has
// none doesn't begin in that very moment.

// isChecksum tells whether a name, in whatever case, is that of a checksum.
func isChecksum(name string) bool { return strings.EqualFold(name[max(0, len(name)-4):], ".md5") }

// noChecksumsAt is until when the source is known to show no checksums, once a poll of it
// has ended as state; nil: it is not known. A listing of no file says nothing of what
// comes with one, and what a minimal poll passes over is as it was.
func (c counts) noChecksumsAt(p control.Poll, state string, now time.Time) *time.Time {
	switch {
	case c.checksums || c.window:
		return nil
	case state == "complete" && c.listed > 0:
		return &now
	case !p.Passed: // it was defined otherwise
		return nil
	case state == "minimal" && p.NoChecksumsAt != nil:
		return &now
	}
	return p.NoChecksumsAt
}

// forgetNoChecksums has checksums asked for beside what the listing at hand shows, before
// any of that is recorded, if they may be there.
func (s *Poller) forgetNoChecksums(ctx context.Context, conn *pgxpool.Conn, p control.Poll, c *counts) error {
	if p.NoChecksumsAt == nil || c.noChecksumsAt(p, "", time.Time{}) != nil {
		return nil
	}
	return control.ForgetNoChecksums(ctx, conn, p.Source)
}
