package order

import (
	"context"
	"errors"

	"tributary/producers/poll"
	"tributary/producers/sources"
	"tributary/sql/control"
)

// MostAnnounced is how many files may be announced at once.
const MostAnnounced = 100

// Announce connects from this process to a source, and announces files of it (ACTION/NAME).
// What can't be ordered is an Error; a source that can't be looked at is a
// poll.UnreachableError.
func (d *Deps) Announce(ctx context.Context, source string, paths []string, by control.Decision) ([]poll.ByHand, error) {
	if d == nil || d.Registry == nil {
		return nil, ErrNotHere
	}
	if err := CheckReason(by.Reason, false); err != nil {
		return nil, err
	}
	if n := len(paths); n == 0 || n > MostAnnounced {
		return nil, bad("%d files are named: name from 1 to %d", n, MostAnnounced)
	}
	var done []poll.ByHand
	err := d.connecting(ctx, func(ctx context.Context) (err error) {
		done, err = poll.Hand{Pool: d.Control, Outbox: d.Outbox, Config: d.Registry.Config, Log: d.Log, Now: d.Registry.Now}.Announce(ctx, source, paths, by)
		return err
	})
	var rests *poll.NotFetchedError
	if sources.Refused(err) || errors.As(err, &rests) {
		return nil, bad("%v", err)
	}
	return done, err
}
