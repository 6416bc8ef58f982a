package poll

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"tributary/internal/config"
	"tributary/sql/control"
)

// fewFiles is how many files of a directory may be gone together whatever the share:
// who has shown less than that may well have taken most of it back.
const fewFiles = 20

// shrunkError says that a listing lacks more of a directory than is believed at once.
// A server that was set up anew, or a sync that has only begun, looks like a partner
// that withdraws everything.
type shrunkError struct {
	directory     string
	held, missing int64
}

func (e *shrunkError) Error() string {
	return fmt.Sprintf("the directory %s lacks %d of %d files that were listed there, more than poll.max_missing_share: nothing is concluded from that: "+
		"have them put back; if they were really withdrawn, set may_be_empty: true for the source", e.directory, e.missing, e.held)
}

// shrunk looks whether the listing that CountMissing has counted lacks so much of a
// directory that it isn't believed. What a filter excludes is lacking because a
// person wants it.
func (s *Poller) shrunk(ctx context.Context, tx pgx.Tx, p control.Poll) error {
	lacks, err := control.Lacks(ctx, tx, p)
	if err != nil {
		return err
	}
	for _, l := range lacks {
		if !s.tooMuch(l) {
			continue
		}
		src, err := config.ParseDefinition(p.Definition)
		if err != nil {
			return err
		}
		if src.MayBeEmpty {
			return nil
		}
		err = control.EachMissing(ctx, tx, p.Source, l.Directory, func(name string) {
			if src.Filters.Excluding(l.Directory, name) != nil {
				l.Held, l.Missing = l.Held-1, l.Missing-1
			}
		})
		if err != nil {
			return err
		}
		if s.tooMuch(l) {
			return &shrunkError{l.Directory, l.Held, l.Missing}
		}
	}
	return nil
}

func (s *Poller) tooMuch(l control.Lack) bool {
	return l.Held >= fewFiles && float64(l.Missing) > s.cfg.MaxMissingShare*float64(l.Held)
}
