package control

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/pg"
)

// wakes are the sources that may be polled before their interval is over, as something
// has changed there: local directories. One with a cron expression keeps to its times,
// and a suspended one to its probes.
const wakes = `s.protocol = 'file' AND s.state = 'available' AND s.definition->>'cron' IS NULL`

// Waking returns the url of each source that may be polled before its interval is over,
// by id.
func Waking(ctx context.Context, pool *pgxpool.Pool) (map[string]string, error) {
	urls := map[string]string{}
	var id, url string
	for err := range pg.Each(ctx, pool, "find local sources", []any{&id, &url}, "SELECT s.id, s.url FROM control.source s WHERE "+wakes) {
		if err != nil {
			return nil, err
		}
		urls[id] = url
	}
	return urls, nil
}

// Wake has a source polled now rather than when its interval is over. Woken is false
// while it is being polled: to be due meanwhile would be an overrun, and what has changed
// since may not be in that listing, so it is to be woken again.
func Wake(ctx context.Context, pool *pgxpool.Pool, source string, now time.Time) (woken bool, err error) {
	err = pg.InTx(ctx, pool, func(tx pgx.Tx) error {
		// Who opens a session holds the source's row, so that its poll is seen below.
		if _, err := tx.Exec(ctx, "SELECT FROM control.source s WHERE s.id = $1 FOR UPDATE", source); err != nil {
			return err
		}
		var polled bool
		if err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT FROM control.poll p WHERE p.source = $1 AND p.state IN ('due','running'))", source).Scan(&polled); err != nil || polled {
			return err
		}
		woken = true
		_, err := tx.Exec(ctx, "UPDATE control.source s SET next_due = least(s.next_due, $2) WHERE s.id = $1 AND "+wakes, source, now)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("source %s: wake: %w", source, err)
	}
	return woken, nil
}
