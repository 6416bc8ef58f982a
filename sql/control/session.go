package control

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
)

// Source is a row of control.source, as configured.
type Source struct {
	ID, Centre, Server, Protocol, URL, AccessKey, State string
	Address                                             string `json:",omitempty"` // host:port where Server, under which its sessions are counted, is another name
	MaxSessions                                         int
	Interval                                            time.Duration
	Hosts                                               []string // what it may show: CENTRE or CENTRE/ACTION; nil: everything
	Definition                                          string   // with the configuration's keys, as JSON; {}: it is not known
	Declared                                            bool     // whether a configuration defines it; else a person does

	// Opens and Closes are its window, or the next one; nil: it is always open. They
	// follow from the definition and the time.
	Opens, Closes *time.Time `json:"-"`
}

// Undefined is the definition of a source whose own is not known: it was stored by
// an older program, or restored from what such a program told.
const Undefined = "{}"

// NextCount gives the next number of a counter: session, revision.
func NextCount(ctx context.Context, tx pgx.Tx, name string) (n int64, err error) {
	return pg.One(ctx, tx, "count "+name, pgx.RowTo[int64], "UPDATE control.counter SET value = value + 1 WHERE name = $1 RETURNING value", name)
}

// keepsState is true of a source whose state the configuration leaves as it is: its
// own word for it has not changed, and a suspended one is reached as before. One
// whose definition and url are not known comes from a restored control.
const keepsState = `(s.state <> 'removed' AND s.declared_state = $9
	AND (s.state <> 'suspended' OR CASE WHEN s.definition = '{}' THEN s.url = '' OR (s.url, s.accesskey) = ($5, $6)
		ELSE s.definition - ` + reachedAlike + ` = $12::text::jsonb - ` + reachedAlike + ` END))`

// reachedAlike are the keys of a definition that don't say how a source is reached. A
// test lists all keys that there are.
const reachedAlike = `'{centre,complete_every,cron,description,done_file,done_with,filters,hosts,interval,latest_only,max_age,max_bytes_per_day,max_entries,max_files_per_day,max_interval,max_new,max_new_bytes,max_sessions,max_size,may_be_empty,min_age,min_size,preference,priority,server,throttle,time_zone,windows}'::text[]`

// Put stores a source as configured and reports whether that changed. The
// configuration's word for its state counts when it is new: what people and polls
// have made of the state since stays, but for a suspended source that is now
// reached in another way. Its address or its server's name may be new only if the change
// began with it.
func (c SourceChange) Put(ctx context.Context, s Source) (changed bool, err error) {
	n, err := pg.Changed(ctx, c.tx, "store source "+s.ID, `INSERT INTO control.source AS s (id, centre, server, protocol, url, accesskey, max_sessions, poll_interval, state, revision, hosts, declared_state, definition, declared, address, opens, closes)
		VALUES ($1,$2,$3,$4,$5,$6,$7,$8::interval,$9,$10,$11,$9,$12::text::jsonb,$13,$14,$15,$16)
		ON CONFLICT (id) DO UPDATE SET centre=$2, server=$3, protocol=$4, url=$5, accesskey=$6, max_sessions=$7, poll_interval=$8::interval, revision=$10, hosts=$11, declared_state=$9, definition=$12::text::jsonb, declared=$13, address=$14, opens=$15, closes=$16,
			state = CASE WHEN `+keepsState+` THEN s.state ELSE $9 END,
			failed_polls = CASE WHEN s.state = $9 OR `+keepsState+` THEN s.failed_polls ELSE 0 END,
			suspended_at = CASE WHEN `+keepsState+` THEN s.suspended_at END,
			maintained_until = CASE WHEN `+keepsState+` THEN s.maintained_until END,
			suspended_why = CASE WHEN `+keepsState+` THEN s.suspended_why ELSE '' END,
			directories = CASE WHEN s.state = 'removed' THEN '{}' ELSE s.directories END, clock = CASE WHEN s.state = 'removed' THEN '{}' ELSE s.clock END, twins = CASE WHEN s.state = 'removed' THEN '{}' ELSE s.twins END,
			acts = CASE WHEN s.state = 'removed' OR (s.url, s.definition->>'done_with') IS DISTINCT FROM ($5, $12::text::jsonb->>'done_with') THEN '' ELSE s.acts END,
			next_due = CASE WHEN s.state = 'suspended' AND NOT `+keepsState+` OR s.next_due = 'infinity' AND (s.state = 'removed' OR s.definition <> $12::text::jsonb) THEN '-infinity' ELSE s.next_due END
		WHERE s.state = 'removed' OR (s.centre, s.server, s.protocol, s.url, s.accesskey, s.max_sessions, s.poll_interval, s.hosts, s.declared_state, s.definition, s.declared, s.address)
			IS DISTINCT FROM ($2,$3,$4,$5,$6,$7,$8::interval,$11,$9,$12::text::jsonb,$13,$14)`,
		s.ID, s.Centre, s.Server, s.Protocol, s.URL, s.AccessKey, s.MaxSessions, interval(s.Interval), s.State, c.Revision, s.Hosts, cmp.Or(s.Definition, Undefined), s.Declared, s.Address, s.Opens, s.Closes)
	return n == 1, err
}

// RemoveSources marks the sources that the configuration declares no more as
// removed and returns them. It may declare none any more.
func RemoveSources(ctx context.Context, tx pgx.Tx, keep []string, revision int64) ([]Source, error) {
	return pg.List(ctx, tx, "remove sources", pgx.RowToStructByNameLax[Source], `UPDATE control.source SET state='removed', revision=$2, failed_polls=0, suspended_at=NULL, suspended_why=''
		WHERE (id = ANY($1)) IS NOT TRUE AND state <> 'removed' AND declared
		RETURNING id, centre, server, protocol, url, accesskey, state`, keep, revision)
}

// DueSource is a source that a new session will poll.
type DueSource struct {
	ID, Centre, Server string
	Interval           time.Duration
	Definition         string
	Unchanged          int // complete polls in a row that found no change
}

// dueSQL is true of a source s that a session opened now, the first parameter, would
// poll; an available one with all, whether it is due or not.
func dueSQL(all string) string {
	return `(s.state = 'available' AND ` + all + ` OR s.state IN ('available','suspended') AND s.next_due <= $1)
		AND (` + all + ` OR NOT ` + leftAlone("s.server", "$1") + `)
		AND ` + open("s", "$1") + `
		AND NOT EXISTS (SELECT FROM control.poll p WHERE p.source = s.id AND p.state IN ('due','running'))`
}

// DueSources locks and returns the sources that are due and not being polled:
// available ones, all of them if all is set, and suspended ones, to be probed. None
// of them is outside of its window, or, unless all is set, of a server that has asked to
// be left alone.
func DueSources(ctx context.Context, tx pgx.Tx, now time.Time, all bool) ([]DueSource, error) {
	return pg.List(ctx, tx, "due sources", pgx.RowToStructByName[DueSource], `SELECT s.id, s.centre, s.server, s.poll_interval AS interval, s.definition::text AS definition, s.unchanged
		FROM control.source s JOIN control.centre c ON c.short_name = s.centre AND c.active
		WHERE `+dueSQL("$2")+` ORDER BY s.id FOR UPDATE OF s`, now, all)
}

// OpenSession stores a session with a poll, due at once, for each source.
func OpenSession(ctx context.Context, tx pgx.Tx, id string, number int64, once bool, now time.Time, polls map[string]DueSource) error {
	if _, err := tx.Exec(ctx, "INSERT INTO control.session (id, number, once, opened_at) VALUES ($1,$2,$3,$4)", id, number, once, now); err != nil {
		return fmt.Errorf("open session: %w", err)
	}
	b := &pgx.Batch{}
	for poll, s := range polls {
		b.Queue("INSERT INTO control.poll (id, session, source, server, centre, state) VALUES ($1,$2,$3,$4,$5,'due')", poll, id, s.ID, s.Server, s.Centre)
	}
	return pg.Send(ctx, tx, "open session", b)
}

// SetDue sets when a source is next due.
func SetDue(ctx context.Context, q pg.Querier, source string, at time.Time) error {
	return pg.Exec(ctx, q, "source "+source+": set due", "UPDATE control.source SET next_due = $2 WHERE id = $1", source, at)
}

// Rest has a source that is polled once polled no more until a person asks, or it is
// defined otherwise than the poll knows it.
func Rest(ctx context.Context, tx pgx.Tx, p Poll) error {
	return pg.Exec(ctx, tx, "source "+p.Source+": let it rest", "UPDATE control.source SET next_due = 'infinity' WHERE id = $1 AND definition = $2::text::jsonb AND definition->>'cron' = '@once'", p.Source, p.Definition)
}

func interval(d time.Duration) string { return fmt.Sprintf("%d milliseconds", d.Milliseconds()) }
