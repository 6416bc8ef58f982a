package control

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/config"
	"tributary/internal/pg"
	"tributary/internal/throttle"
)

const (
	// askedFor is how long a request without an answer keeps others from being sent.
	askedFor = 10 * time.Second
	// lookAgain is the pause before it is looked whether that was answered.
	lookAgain = 100 * time.Millisecond
	// longestPause is the longest from one request to the next, which configuration and
	// Crawl-delay bound. What is later was noted before the database's clock went back.
	longestPause = time.Minute
	// longestOwed bounds likewise for how long bytes may have to be paid off: many sessions
	// at the least rate owe some minutes.
	longestOwed = time.Hour
	// longestLeft is a day, and by what clocks of members may differ.
	longestLeft = 25 * time.Hour
)

// Throttles keeps how fast servers are asked. Times are by the database's clock, which
// all members share.
type Throttles struct{ Pool *pgxpool.Pool }

// GateTo is the gate of a session for a source, at a server.
func GateTo(pool *pgxpool.Pool, src config.Source, server string, now func() time.Time, log *slog.Logger) *throttle.Gate {
	own := throttle.Server{Name: server, Sessions: src.MaxSessions}
	if text, err := src.Definition(); err == nil { // one that can't be written was never defined
		own.Sources = []throttle.Source{{ID: src.ID, Definition: text}}
	}
	return throttle.NewGate(Throttles{pool}, own, src.ID, now, log)
}

// Server is that of a source, with what all its sources say of how fast it is asked.
func (t Throttles) Server(ctx context.Context, source string) (throttle.Server, error) {
	return ThrottledServer(ctx, t.Pool, source)
}

// ThrottledServer returns the server of a source, with what all its sources say of how
// fast it is asked.
func ThrottledServer(ctx context.Context, q pg.Querier, source string) (s throttle.Server, err error) {
	rows, err := q.Query(ctx, `SELECT id, server, max_sessions, coalesce((SELECT crawl_delay FROM control.throttle WHERE name = $2 || server), 0), jsonb_strip_nulls(jsonb_build_object('throttle', definition->'throttle', 'time_zone', definition->'time_zone'))::text
		FROM control.source WHERE server = (SELECT server FROM control.source WHERE id = $1) AND (state <> 'removed' OR id = $1) ORDER BY id`, source, throttle.ServerName(""))
	if err != nil {
		return s, fmt.Errorf("read how fast the server of %s is asked: %w", source, err)
	}
	var sessions int
	var crawl int64
	var of throttle.Source
	_, err = pgx.ForEachRow(rows, []any{&of.ID, &s.Name, &sessions, &crawl, &of.Definition}, func() error {
		s.Crawl = time.Duration(crawl) * time.Microsecond
		if s.Sources = append(s.Sources, of); s.Sessions == 0 || sessions < s.Sessions {
			s.Sessions = sessions
		}
		return nil
	})
	if err == nil && len(s.Sources) == 0 {
		err = pgx.ErrNoRows
	}
	if err != nil {
		return s, fmt.Errorf("read how fast the server of %s is asked: %w", source, err)
	}
	return s, nil
}

// Claim claims the next request of all bounds, as [throttle.Store] says.
func (t Throttles) Claim(ctx context.Context, bounds []throttle.Bound) (wait time.Duration, err error) {
	names, every := make([]string, len(bounds)), make([]int64, len(bounds))
	for i, b := range bounds {
		names[i], every[i] = b.Name, b.Every.Microseconds()
	}
	err = pg.InTx(ctx, t.Pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "INSERT INTO control.throttle (name) SELECT n FROM unnest($1::text[]) n ORDER BY n ON CONFLICT DO NOTHING", names); err != nil {
			return err
		}
		// Locked in one order by all, and only then compared with the clock.
		if _, err := tx.Exec(ctx, "SELECT FROM control.throttle WHERE name = ANY($1) ORDER BY name FOR UPDATE", names); err != nil {
			return err
		}
		var next, asking int64
		if err := tx.QueryRow(ctx, `SELECT ceil(max(extract(epoch FROM next_request - clock_timestamp())) * 1000000)::bigint, ceil(max(extract(epoch FROM asking_until - clock_timestamp())) * 1000000)::bigint
			FROM control.throttle WHERE name = ANY($1)`, names).Scan(&next, &asking); err != nil {
			return err
		}
		switch next, asking := time.Duration(next)*time.Microsecond, time.Duration(asking)*time.Microsecond; {
		case next > longestPause || asking > askedFor:
			wait = lookAgain
			return forgetLater(ctx, tx, names)
		case next > 0:
			wait = next
		case asking > 0:
			wait = min(asking, lookAgain)
		}
		if wait > 0 {
			return nil
		}
		_, err := tx.Exec(ctx, `UPDATE control.throttle t SET next_request = clock_timestamp() + b.every * interval '1 microsecond', asking_until = clock_timestamp() + $3::interval
			FROM unnest($1::text[], $2::bigint[]) b(name, every) WHERE t.name = b.name`, names, every, interval(askedFor))
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("claim a request: %w", err)
	}
	return wait, nil
}

// forgetLater has nobody wait for longer than a request can take, where the database's
// clock has gone back since that was noted.
func forgetLater(ctx context.Context, tx pgx.Tx, names []string) error {
	_, err := tx.Exec(ctx, `UPDATE control.throttle SET next_request = least(next_request, clock_timestamp() + $2::interval), asking_until = least(asking_until, clock_timestamp() + $3::interval)
		WHERE name = ANY($1)`, names, interval(longestPause), interval(askedFor))
	return err
}

// Answered says that a claimed request was answered. Each bound is told by itself, so
// that nobody who holds one waits for another.
func (t Throttles) Answered(ctx context.Context, bounds []throttle.Bound) error {
	for _, b := range bounds {
		if _, err := t.Pool.Exec(ctx, `INSERT INTO control.throttle AS t (name, next_request) VALUES ($1, clock_timestamp() + $2::interval)
			ON CONFLICT (name) DO UPDATE SET asking_until = 'epoch', next_request = greatest(t.next_request, clock_timestamp() + $2::interval)`,
			b.Name, interval(b.Pause)); err != nil {
			return fmt.Errorf("tell that a request was answered: %w", err)
		}
	}
	return nil
}

// Heed notes the pause that the robots.txt of a server asks for, or that it asks for none,
// and that it has just answered.
func (t Throttles) Heed(ctx context.Context, server string, pause time.Duration) error {
	statement, args := "UPDATE control.throttle SET crawl_delay = 0 WHERE name = $1 AND crawl_delay > 0", []any{throttle.ServerName(server)}
	if pause > 0 {
		statement = `INSERT INTO control.throttle AS t (name, next_request, crawl_delay) VALUES ($1, clock_timestamp() + $2::interval, $3)
			ON CONFLICT (name) DO UPDATE SET crawl_delay = $3, next_request = greatest(t.next_request, clock_timestamp() + $2::interval)`
		args = append(args, interval(pause), pause.Microseconds())
	}
	return pg.Exec(ctx, t.Pool, "note the pause that "+server+" asks for", statement, args...)
}

// Spend notes bytes that came, and returns how long to wait until they are paid off.
func (t Throttles) Spend(ctx context.Context, bounds []throttle.Bound, bytes int64) (wait time.Duration, err error) {
	for _, b := range bounds {
		takes := int64(float64(bytes) / float64(b.Rate) * 1e6) // microseconds
		var owed int64
		err := t.Pool.QueryRow(ctx, `INSERT INTO control.throttle AS t (name, paid_until) VALUES ($1, clock_timestamp() + $2::bigint * interval '1 microsecond')
			ON CONFLICT (name) DO UPDATE SET paid_until = least(greatest(t.paid_until, clock_timestamp()), clock_timestamp() + $3::interval) + $2::bigint * interval '1 microsecond'
			RETURNING (extract(epoch FROM paid_until - clock_timestamp()) * 1000000)::bigint`, b.Name, takes, interval(longestOwed)).Scan(&owed)
		if err != nil {
			return 0, fmt.Errorf("note bytes that came: %w", err)
		}
		wait = max(wait, time.Duration(owed)*time.Microsecond)
	}
	return wait, nil
}

// LeaveAlone notes that a server has asked to be left alone for so long: it is given no
// job, no source of it is due, and nothing is done there with inserted files. It is never
// left for less than was noted before. Whoever writes sources too writes them first.
func LeaveAlone(ctx context.Context, q pg.Querier, server string, now time.Time, wait time.Duration) error {
	return pg.Exec(ctx, q, "leave the server "+server+" alone", `INSERT INTO control.throttle AS t (name, left_until) VALUES ($1, $2)
		ON CONFLICT (name) DO UPDATE SET left_until = greatest(t.left_until, $2)`, throttle.ServerName(server), now.Add(wait))
}

// AskAgain has servers be asked again, whatever they have asked for, as a person wants it.
func AskAgain(ctx context.Context, tx pgx.Tx, servers []string) error {
	if len(servers) == 0 {
		return nil
	}
	return pg.Exec(ctx, tx, "ask servers again", `UPDATE control.throttle SET left_until = 'epoch' WHERE name IN
		(SELECT name FROM control.throttle WHERE name IN (SELECT $2 || s FROM unnest($1::text[]) s) AND left_until > 'epoch' ORDER BY name FOR UPDATE)`, servers, throttle.ServerName(""))
}

// leftAlone tells of the server of that column whether it is left alone at a moment, a
// parameter.
func leftAlone(server, at string) string {
	return fmt.Sprintf("EXISTS (SELECT FROM control.throttle WHERE name = '%s' || %s AND %s)", throttle.ServerName(""), server, leftAt(at))
}

// leftAt tells of a row whether its server is left alone at a moment. One that should be
// for longer than anybody may ask for was noted by a clock that was wrong.
func leftAt(at string) string {
	return fmt.Sprintf("left_until > %[1]s::timestamptz AND left_until <= %[1]s::timestamptz + interval '%[2]d seconds'", at, int(longestLeft.Seconds()))
}

// LeftAlone returns the servers that have asked to be left alone, and until when.
func LeftAlone(ctx context.Context, q pg.Querier, now time.Time) (map[string]time.Time, error) {
	out := map[string]time.Time{}
	var server string
	var until time.Time
	for err := range pg.Each(ctx, q, "read which servers are left alone", []any{&server, &until}, "SELECT substr(name, length($2) + 1), left_until FROM control.throttle WHERE starts_with(name, $2) AND "+leftAt("$1"), now, throttle.ServerName("")) {
		if err != nil {
			return nil, err
		}
		out[server] = until
	}
	return out, nil
}
