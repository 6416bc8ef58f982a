package plan

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/schemas"
	"tributary/sql/control"
)

// longestRest is for how long a server may ask to be left alone.
const longestRest = 24 * time.Hour

// asked is for how long the server of a download has asked to be left alone, a day at
// most.
func asked(d schemas.DownloadFinished) time.Duration {
	return time.Duration(min(max(d.RetryAfter, 0), longestRest.Milliseconds())) * time.Millisecond
}

// rest notes that a server has asked to be left alone: it is given no job until then, so
// no session is held for what waits.
func (w *World) rest(d schemas.DownloadFinished) {
	wait := asked(d)
	if w.longestRest > 0 {
		wait = min(wait, w.longestRest)
	}
	if wait == 0 || d.Server == "" {
		return
	}
	if w.rests == nil {
		w.rests = map[string]time.Duration{}
	}
	w.rests[d.Server] = max(w.rests[d.Server], wait)
}

// storeRests writes which servers are left alone, in one order, so that two planners
// never wait for each other.
func (w *World) storeRests(ctx context.Context, tx pgx.Tx) error {
	for _, server := range slices.Sorted(maps.Keys(w.rests)) {
		if err := control.LeaveAlone(ctx, tx, server, w.now, w.rests[server]); err != nil {
			return err
		}
	}
	return nil
}

// from is the best hosting from which an acquisition is fetched now: one whose server
// has not asked to be left alone, if there is any.
func (w *World) from(candidates []control.Hosting) control.Hosting {
	for _, h := range candidates {
		if !w.left[h.Server].After(w.now) {
			return h
		}
	}
	return candidates[0]
}
