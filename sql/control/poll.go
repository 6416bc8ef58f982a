package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/clock"
	"tributary/internal/pg"
	"tributary/schemas"
)

// Poll is a poll that a member has taken.
type Poll struct {
	ID, Session, Source, Server, Centre string
	Number                              int64 // of the session
	Once                                bool
	Epoch                               int64
	Attempts                            int
	StartedAt                           time.Time
	Definition                          string // of the source, as it is defined now
	Passed                              bool   // whether a poll has checked it so before
	Revision                            int64  // of the source, as it is now
	// Ignored is how many entries its last complete listing showed that nobody takes up.
	Ignored int64 `db:"-"`
	// Rests tells that the source is polled once and no more.
	Rests bool `db:"-"`
	// Taken is what the poll has taken up already, as one that is taken again may have.
	Taken Taken `db:"-"`
	// Directories are what the poll may go by; nothing is known of a poll that was left.
	Directories Directories `db:"-"`
	// Clock is what is known of the clock of the source's server.
	Clock clock.Clock `db:"-"`
	// NoChecksumsAt is when the source's last poll ended, if it is known to show no
	// checksums.
	NoChecksumsAt *time.Time `db:"-"`
	// Twins are the names that its listings showed last and that some take for one.
	Twins Twins `db:"-"`
}

// lockCredit makes everything that takes a server's credit wait its turn, so
// that a count of what is outstanding stays true until the transaction ends.
func lockCredit(ctx context.Context, tx pgx.Tx) error {
	return pg.Exec(ctx, tx, "lock credit", "SELECT pg_advisory_xact_lock(hashtext('tributary.control.credit'))")
}

// creditSQL counts, for the server named by %s, the sessions that may still be
// opened: its limit less its outstanding jobs, the sessions still open of jobs
// that have ended, and running polls.
const creditSQL = `((SELECT min(max_sessions) FROM control.source WHERE server = %[1]s AND state <> 'removed')
	- (SELECT count(*) FROM control.job WHERE server = %[1]s)
	- (SELECT count(*) FROM control.job_session x WHERE x.server = %[1]s AND x.lease_until >= clock_timestamp()
		AND NOT EXISTS (SELECT FROM control.job j WHERE j.id = x.job))
	- (SELECT count(*) FROM control.poll WHERE server = %[1]s AND state = 'running' AND lease_until >= clock_timestamp()))`

// TakePoll takes one due poll under its server's credit, of none of the servers
// that are full, or one whose holder has gone silent: of the oldest session first, so that a
// source waits for no more than one poll of each other, however often these are
// due, and of no source that is outside of its window. It is polled as it is defined now, where it is now. ok is false when there is none.
func TakePoll(ctx context.Context, pool *pgxpool.Pool, holder string, full []string, now time.Time, ttl time.Duration) (p Poll, ok bool, err error) {
	// Others wait for who holds the lock: none is taken for nothing.
	if waits, err := pollWaits(ctx, pool, now); err != nil || !waits {
		return Poll{}, false, err
	}
	err = pg.InTx(ctx, pool, func(tx pgx.Tx) error {
		if err := lockCredit(ctx, tx); err != nil {
			return err
		}
		row := tx.QueryRow(ctx, fmt.Sprintf(`UPDATE control.poll p SET state='running', server=d.server, address=d.address, holder=$1, epoch=p.epoch+1, attempts=p.attempts+1,
				started_at=coalesce(p.started_at, $3), lease_until=clock_timestamp()+$4::interval
			FROM control.session s, control.source d
			WHERE s.id = p.session AND d.id = p.source AND p.id = (
				SELECT q.id FROM control.poll q JOIN control.source c ON c.id = q.source AND c.state IN ('available','suspended') AND c.definition <> '{}'
				WHERE c.server <> ALL($2) AND `+open("c", "$3")+` AND ((q.state='due' AND q.not_before <= $3) OR (q.state='running' AND q.lease_until < clock_timestamp()))
				  AND `+creditSQL+` > 0
				ORDER BY (SELECT o.number FROM control.session o WHERE o.id = q.session), q.id LIMIT 1)
			RETURNING p.id, p.session, p.source, p.server, p.centre, s.number, s.once, p.epoch, p.attempts, p.started_at, d.definition::text, d.passed = md5(d.definition::text), d.revision, d.ignored, coalesce(d.definition->>'cron', '') = '@once', p.taken, p.taken_bytes, d.directories, d.clock, d.no_checksums_at, d.twins, `+judgedBySQL, "c.server"),
			holder, append([]string{}, full...), now, interval(ttl))
		var stored []byte
		var of string
		err := row.Scan(&p.ID, &p.Session, &p.Source, &p.Server, &p.Centre, &p.Number, &p.Once, &p.Epoch, &p.Attempts, &p.StartedAt, &p.Definition, &p.Passed, &p.Revision, &p.Ignored, &p.Rests, &p.Taken.Looks, &p.Taken.Bytes, &stored, &p.Clock, &p.NoChecksumsAt, &p.Twins, &of)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		ok, p.Clock = true, p.Clock.Of(p.Server)
		return p.Directories.known(stored, of)
	})
	if err != nil {
		return Poll{}, false, fmt.Errorf("take a poll: %w", err)
	}
	return p, ok, nil
}

// RenewPoll extends a poll's lease; pg.ErrLeaseLost when it was taken over.
func RenewPoll(ctx context.Context, q pg.Querier, p Poll, ttl time.Duration) error {
	n, err := pg.Changed(ctx, q, "renew poll", "UPDATE control.poll SET lease_until=clock_timestamp()+$3::interval WHERE id=$1 AND epoch=$2 AND state='running'", p.ID, p.Epoch, interval(ttl))
	if err == nil && n == 0 {
		return fmt.Errorf("poll of %s: %w", p.Source, pg.ErrLeaseLost)
	}
	return err
}

// CheckPoll locks the poll's row and fails with pg.ErrLeaseLost if another
// member has taken it over.
func CheckPoll(ctx context.Context, tx pgx.Tx, p Poll) error {
	_, err := checkPoll(ctx, tx, p, "true")
	return err
}

// CheckEnding is CheckPoll of a poll that ends. It tells, too, whether its source is
// available and no poll of it has failed since one that showed something: then a poll that
// has not failed changes nothing of how the source stands.
func CheckEnding(ctx context.Context, tx pgx.Tx, p Poll) (sound bool, err error) {
	return checkPoll(ctx, tx, p, "coalesce((SELECT s.state = 'available' AND s.failed_polls = 0 FROM control.source s WHERE s.id = p.source), false)")
}

func checkPoll(ctx context.Context, tx pgx.Tx, p Poll, what string) (is bool, err error) {
	is, err = pg.One(ctx, tx, "check poll", pgx.RowTo[bool], "SELECT "+what+" FROM control.poll p WHERE id=$1 AND epoch=$2 AND state='running' FOR UPDATE OF p", p.ID, p.Epoch)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, fmt.Errorf("poll of %s: %w", p.Source, pg.ErrLeaseLost)
	}
	return is, err
}

// Vanished is a hosting that complete listings no longer show.
type Vanished struct {
	File, Name, Action string
	Centre             string
	Look               int32
	Size               int64
}

// CountMissing counts for each hosting how many complete listings in a row
// have lacked it, this one included. Where that changes none, none is lacking.
func CountMissing(ctx context.Context, tx pgx.Tx, p Poll) (changed int64, err error) {
	// The statistics know nothing of a new source, and of the listing nothing at
	// all: a join of the two may be planned for one row and done for all of them,
	// so each row is looked up by itself.
	return pg.Changed(ctx, tx, "count missing files", `UPDATE control.hosting h SET misses = CASE WHEN EXISTS (SELECT FROM pg_temp.listed l WHERE l.file = h.file OFFSET 0) THEN 0 ELSE h.misses + 1 END
		WHERE h.source=$1 AND h.state='present' AND (h.misses > 0 OR NOT EXISTS (SELECT FROM pg_temp.listed l WHERE l.file = h.file OFFSET 0))`, p.Source)
}

// Lack is how many of the files that a source hosted in a directory before a listing
// the listing lacks.
type Lack struct {
	Directory     string
	Held, Missing int64
}

// Lacks returns what a poll's listing lacks that CountMissing has counted, by directory.
func Lacks(ctx context.Context, tx pgx.Tx, p Poll) ([]Lack, error) {
	return pg.List(ctx, tx, "ask what "+p.Source+" lacks", pgx.RowToStructByName[Lack], `SELECT action AS directory, count(*) AS held, count(*) FILTER (WHERE misses > 0) AS missing
		FROM control.hosting WHERE source=$1 AND state='present' AND NOT (look = 1 AND listed_at >= $2) GROUP BY action ORDER BY action`, p.Source, p.StartedAt)
}

// EachMissing calls each with the name of every file that the listing lacks in a
// directory.
func EachMissing(ctx context.Context, tx pgx.Tx, source, directory string, each func(name string)) error {
	var name string
	for err := range pg.Each(ctx, tx, "ask what "+source+" lacks", []any{&name}, "SELECT name FROM control.hosting WHERE source=$1 AND state='present' AND misses > 0 AND action=$2", source, directory) {
		if err != nil {
			return err
		}
		each(name)
	}
	return nil
}

// MarkGone marks the next hostings, after the given file id, that goneAfter
// complete listings have lacked, and returns them: at most limit, in the order
// of their ids.
func MarkGone(ctx context.Context, tx pgx.Tx, p Poll, goneAfter int, after string, limit int) ([]Vanished, error) {
	gone, err := pg.List(ctx, tx, "find files gone", pgx.RowToStructByName[Vanished], `WITH g AS (UPDATE control.hosting SET state='gone' WHERE source=$1 AND state='present' AND misses >= $2 AND file > $3::uuid
				AND file <= coalesce((SELECT n.file FROM control.hosting n WHERE n.source=$1 AND n.state='present' AND n.misses >= $2 AND n.file > $3::uuid
					ORDER BY n.file OFFSET $4 LIMIT 1), 'ffffffff-ffff-ffff-ffff-ffffffffffff')
			RETURNING file, name, action, look, size)
		SELECT g.file::text, g.name, g.action, coalesce(f.centre, '') AS centre, g.look, g.size
		FROM g CROSS JOIN LATERAL (SELECT centre FROM control.file WHERE id = g.file OFFSET 0) f ORDER BY g.file`, p.Source, goneAfter, after, limit-1)
	if err != nil {
		return nil, err
	}
	return gone, classGone(ctx, tx, p.Source, gone)
}

// classGone classes the looks of what is gone from a source that never settled.
func classGone(ctx context.Context, tx pgx.Tx, source string, gone []Vanished) error {
	if len(gone) == 0 {
		return nil
	}
	files := make([]string, len(gone))
	for i, v := range gone {
		files[i] = v.File
	}
	return pg.Exec(ctx, tx, "class looks that are gone", `UPDATE control.look k SET class='gone' FROM (
			SELECT u.source, u.file, u.look FROM unnest($2::text[]::uuid[]) g(file) CROSS JOIN LATERAL (SELECT source, file, look FROM control.look
				WHERE source=$1 AND file=g.file AND class='unsettled' OFFSET 0) u) s
		WHERE k.source=s.source AND k.file=s.file AND k.look=s.look`, source, files)
}

// EndPoll stores how a poll ended and, when it was its session's last, that
// the session's polls have ended. A source whose polls are not complete is due less
// often, if it is polled by interval, as until once is enough: a cron expression's
// times stay. A minimal poll counts as a complete one here: it showed what it was to.
func EndPoll(ctx context.Context, tx pgx.Tx, p Poll, state, exception, message string, now time.Time) error {
	b := &pgx.Batch{}
	b.Queue("SELECT 1 FROM control.session WHERE id=$1 FOR UPDATE", p.Session)
	b.Queue("UPDATE control.poll SET state=$2, exception=$3, message=$4, ended_at=$5, lease_until=NULL WHERE id=$1", p.ID, state, exception, message, now)
	b.Queue(`UPDATE control.source SET failures = CASE WHEN $2 IN ('complete', 'minimal') THEN 0 ELSE failures + 1 END,
		next_due = CASE WHEN $2 IN ('complete', 'minimal') OR coalesce(definition->>'cron', '@once') <> '@once' THEN next_due ELSE greatest(next_due, $3::timestamptz + poll_interval * least(8, power(2, failures))) END
		WHERE id=$1 AND NOT ($2 IN ('complete', 'minimal') AND failures = 0)`, p.Source, state, now)
	b.Queue(`UPDATE control.session SET polls_ended_at=$2 WHERE id=$1 AND polls_ended_at IS NULL
		AND NOT EXISTS (SELECT FROM control.poll WHERE session=$1 AND state IN ('due','running'))`, p.Session, now)
	return pg.Send(ctx, tx, "end poll", b)
}

// SourceCheck is what a poll has found out about a source.
type SourceCheck struct {
	At      time.Time       `json:"at"`
	Session int64           `json:"session"` // its number
	Passed  bool            `json:"passed"`
	Steps   json.RawMessage `json:"steps"` // as package remote writes them
}

// PutCheck stores a check by a poll. Where it has passed, the definition that the
// poll was made with is not checked again.
func PutCheck(ctx context.Context, tx pgx.Tx, p Poll, c SourceCheck) error {
	return pg.Exec(ctx, tx, "source "+p.Source+": store its check", "UPDATE control.source SET checked = $2, passed = CASE WHEN $3 THEN md5($4) ELSE '' END WHERE id = $1", p.Source, c, c.Passed, p.Definition)
}

// PostponePoll gives a poll back, to be tried again later.
func PostponePoll(ctx context.Context, q pg.Querier, p Poll, notBefore time.Time, exception, message string) error {
	return pg.Exec(ctx, q, "postpone poll", `UPDATE control.poll SET state='due', not_before=$3, exception=$4, message=$5, lease_until=NULL
		WHERE id=$1 AND epoch=$2 AND state='running'`, p.ID, p.Epoch, notBefore, exception, message)
}

// headersJSON is how record headers are kept beside an event's bytes.
func headersJSON(h []schemas.Header) ([]byte, error) {
	b, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("headers: %w", err)
	}
	return b, nil
}
