package control

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/pg"
	"tributary/schemas"
)

// The states of what is done with a file at a source, see control.done_with.
const (
	DoneDue    = "due"
	DoneActing = "acting"
	DoneShown  = "shown"
	DoneLeft   = "left"
	DoneDone   = "done"
)

// Inserted is a file at a source, whose bytes from there control takes for inserted:
// the warehouse is to say so too.
type Inserted struct {
	File, Action, Name string
	Look               int32
	SHA256             string
	Documents          int // of that version
}

// InsertedAt returns the next files, after the given id, that a source shows as they
// were fetched there, and whose version is complete in a batch that is applied up to a
// position: at most limit, in the order of their ids. Those of which it is known what
// is done by the rule are left out, and so are those of which anything is under way or
// that a person holds.
func InsertedAt(ctx context.Context, q pg.Querier, source, rule string, applied int64, after string, limit int) ([]Inserted, error) {
	return pg.List(ctx, q, "look for what is inserted of "+source, pgx.RowToStructByName[Inserted], `SELECT h.file::text, h.action, h.name, h.look, t.sha256, v.documents
		FROM control.hosting h
		CROSS JOIN LATERAL (SELECT a.sha256 FROM control.acquisition a JOIN control.attempt t ON t.file = a.file AND t.run = a.run AND t.attempt = a.attempt
			WHERE a.file = h.file AND a.run = $5::text::uuid AND a.state = 'ended' AND a.result IN ('complete','duplicate') AND a.sha256 <> '' AND t.source = h.source AND t.look = h.look
			ORDER BY a.id DESC LIMIT 1) t
		CROSS JOIN LATERAL (SELECT a.documents FROM control.acquisition a JOIN control.batch b ON b.id = a.batch
			WHERE a.file = h.file AND a.run = $5::text::uuid AND a.state = 'ended' AND a.result = 'complete' AND a.sha256 = t.sha256 AND a.documents > 0 AND b.last_position <= $3
			ORDER BY a.id DESC LIMIT 1) v
		WHERE h.source = $1 AND h.state = 'present' AND h.settled AND h.file > $4::text::uuid
		  AND NOT EXISTS (SELECT FROM control.done_with d WHERE d.source = h.source AND d.file = h.file AND d.look = h.look AND d.rule = $2 OFFSET 0)
		  AND NOT EXISTS (SELECT FROM control.acquisition a WHERE a.file = h.file AND a.state <> 'ended' OFFSET 0)
		  AND NOT EXISTS (SELECT FROM control.file f WHERE f.id = h.file AND f.held_at IS NOT NULL OFFSET 0)
		ORDER BY h.file LIMIT $6`, source, rule, applied, after, schemas.LiveRun, limit)
}

// PutDue stores that files are to be looked at, to do by the rule what it says. What
// is begun by another rule is left to its end.
func PutDue(ctx context.Context, q pg.Querier, source, rule string, all []Inserted, now time.Time) error {
	var files []string
	var looks []int32
	for _, f := range all {
		files, looks = append(files, f.File), append(looks, f.Look)
	}
	return pg.Exec(ctx, q, "store what is due at "+source, `INSERT INTO control.done_with AS d (source, file, look, rule, state, at) SELECT $1, u.file, u.look, $2, 'due', $5
			FROM unnest($3::text[]::uuid[], $4::int[]) u(file, look) ORDER BY u.file
		ON CONFLICT (source, file) DO UPDATE SET look = excluded.look, rule = excluded.rule, state = 'due', tries = 0, told = CASE WHEN d.look = excluded.look THEN d.told ELSE 0 END,
			not_before = '-infinity', at = excluded.at, exception = '', message = ''
		WHERE d.state <> 'acting'`, source, rule, files, looks, now)
}

// DoneSources returns the sources at which something is defined to be done, by id.
func DoneSources(ctx context.Context, q pg.Querier) ([]Standing, error) {
	return standings(ctx, q, "s.definition ? 'done_with' AND s.state <> $1 ORDER BY s.id", SourceRemoved)
}

// DoneVisit is a member's leave to act at a source.
type DoneVisit struct {
	ID, Source, Server string
	Standing           Standing `db:"-"`
}

// TakeDoneVisit takes a source at which something is due, and one session of its
// server's credit: of an available source in its window, where nobody acts and whose
// server has not asked to be left alone, the one that was for longest. ok is false where
// there is none.
func TakeDoneVisit(ctx context.Context, pool *pgxpool.Pool, holder string, now time.Time, ttl time.Duration) (v DoneVisit, ok bool, err error) {
	err = pg.InTx(ctx, pool, func(tx pgx.Tx) error {
		if err := lockCredit(ctx, tx); err != nil {
			return err
		}
		v.ID = uuid.NewString()
		err := tx.QueryRow(ctx, fmt.Sprintf(`WITH c AS (SELECT c.id, c.server, c.address FROM control.source c LEFT JOIN control.done_with_visit v ON v.source = c.id
				WHERE c.state = 'available' AND c.definition <> '{}' AND `+open("c", "$2")+` AND NOT `+leftAlone("c.server", "$2")+` AND (v.source IS NULL OR v.lease_until < clock_timestamp())
				  AND EXISTS (SELECT FROM control.done_with d WHERE d.source = c.id AND d.state IN ('due','acting') AND d.not_before <= $2)
				  AND `+creditSQL+` > 0
				ORDER BY v.lease_until NULLS FIRST, c.id LIMIT 1),
			s AS (INSERT INTO control.job_session (job, session, holder, server, source, address, lease_until)
				SELECT $1::text::uuid, $1::text::uuid, $3, c.server, c.id, c.address, clock_timestamp() + $4::interval FROM c)
			INSERT INTO control.done_with_visit (source, visit, holder, lease_until) SELECT c.id, $1::text::uuid, $3, clock_timestamp() + $4::interval FROM c
			ON CONFLICT (source) DO UPDATE SET visit = excluded.visit, holder = excluded.holder, lease_until = excluded.lease_until
			RETURNING source, (SELECT server FROM c)`, "c.server"), v.ID, now, holder, interval(ttl)).Scan(&v.Source, &v.Server)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		all, err := Standings(ctx, tx, v.Source)
		if err != nil || len(all) == 0 {
			return err
		}
		v.Standing, ok = all[0], true
		return nil
	})
	if err != nil {
		return DoneVisit{}, false, fmt.Errorf("take a visit: %w", err)
	}
	return v, ok, nil
}

// RenewDoneVisit extends a visit; pg.ErrLeaseLost when it was taken over.
func RenewDoneVisit(ctx context.Context, pool *pgxpool.Pool, v DoneVisit, ttl time.Duration) error {
	return pg.InTx(ctx, pool, func(tx pgx.Tx) error {
		if err := checkVisit(ctx, tx, v); err != nil {
			return err
		}
		for _, sql := range []string{"UPDATE control.done_with_visit SET lease_until = clock_timestamp() + $2::interval WHERE visit = $1::text::uuid",
			"UPDATE control.job_session SET lease_until = clock_timestamp() + $2::interval WHERE job = $1::text::uuid"} {
			if _, err := tx.Exec(ctx, sql, v.ID, interval(ttl)); err != nil {
				return fmt.Errorf("renew a visit: %w", err)
			}
		}
		return nil
	})
}

// EndDoneVisit gives the visit's credit back, once its session is closed.
func EndDoneVisit(ctx context.Context, pool *pgxpool.Pool, v DoneVisit) error {
	for _, sql := range []string{"UPDATE control.done_with_visit SET lease_until = clock_timestamp() WHERE visit = $1::text::uuid", "DELETE FROM control.job_session WHERE job = $1::text::uuid"} {
		if _, err := pool.Exec(ctx, sql, v.ID); err != nil {
			return fmt.Errorf("end a visit: %w", err)
		}
	}
	return nil
}

// checkVisit fails with pg.ErrLeaseLost where another member has taken the source over.
func checkVisit(ctx context.Context, tx pgx.Tx, v DoneVisit) error {
	_, err := pg.One(ctx, tx, "visit to "+v.Source, pgx.RowTo[int], "SELECT 1 FROM control.done_with_visit WHERE source = $1 AND visit = $2::text::uuid FOR UPDATE", v.Source, v.ID)
	if errors.Is(err, pgx.ErrNoRows) {
		return fmt.Errorf("visit to %s: %w", v.Source, pg.ErrLeaseLost)
	}
	return err
}

// DoneWith is what is to be done with a file at a source, or is done.
type DoneWith struct {
	File, Action, Name, Centre string
	Look                       int32
	Rule, State                string
	Tries, Told                int
	Size                       int64
	ModTime                    *time.Time
	ListedAt                   time.Time
	Shown                      bool // the source's last listing shows that look of it
}

// DueAt returns what is due at a source, the oldest first: at most limit.
func DueAt(ctx context.Context, q pg.Querier, source string, now time.Time, limit int) ([]DoneWith, error) {
	return pg.List(ctx, q, "read what is due at "+source, pgx.RowToStructByName[DoneWith], `SELECT d.file::text, h.action, h.name, coalesce(f.centre, '') AS centre, d.look, d.rule, d.state, d.tries, d.told, h.size, h.mtime AS mod_time, h.listed_at,
			h.look = d.look AND h.state IN ('present','done_with') AS shown
		FROM control.done_with d JOIN control.hosting h ON h.source = d.source AND h.file = d.file JOIN control.file f ON f.id = d.file
		WHERE d.source = $1 AND d.state IN ('due','acting') AND d.not_before <= $2 ORDER BY d.at, d.file LIMIT $3`, source, now, limit)
}

// PostponeDone has nothing be due at a source before some time.
func PostponeDone(ctx context.Context, q pg.Querier, source string, until time.Time) error {
	return pg.Exec(ctx, q, "postpone what is due at "+source, "UPDATE control.done_with SET not_before = greatest(not_before, $2) WHERE source = $1 AND state IN ('due','acting')", source, until)
}

// BeginDone stores that something may be done with a file at any moment from now on,
// which is the last word before it is: from then on nothing is concluded where listings
// lack it. takes says that it will not be where it is any more. Ok is false where it
// may not be done: the source shows another look of it, something of it is under way,
// a person holds it, or the order to act has been taken back.
func BeginDone(ctx context.Context, pool *pgxpool.Pool, v DoneVisit, d DoneWith, acts string, takes bool, now time.Time) (ok bool, err error) {
	err = pg.InTx(ctx, pool, func(tx pgx.Tx) error {
		if err := checkVisit(ctx, tx, v); err != nil {
			return err
		}
		if _, err := LockFiles(ctx, tx, []string{d.File}); err != nil {
			return err
		}
		// The source's row is only read: an order that is given just now counts from the
		// next file on.
		n, err := pg.Changed(ctx, tx, "begin with "+d.Action+"/"+d.Name, `UPDATE control.hosting h SET state = CASE WHEN $5 THEN 'done_with' ELSE h.state END, shown_until = CASE WHEN $5 THEN $6 ELSE h.shown_until END, misses = 0
			FROM control.source s
			WHERE h.source = $1 AND h.file = $2::text::uuid AND h.look = $3 AND h.state IN ('present','done_with')
			  AND s.id = h.source AND s.acts = $4 AND s.state = 'available'
			  AND NOT EXISTS (SELECT FROM control.acquisition a WHERE a.file = h.file AND a.state <> 'ended')
			  AND NOT EXISTS (SELECT FROM control.file f WHERE f.id = h.file AND f.held_at IS NOT NULL)`, v.Source, d.File, d.Look, acts, takes, int64(1)<<62)
		if ok = n == 1; !ok {
			return err
		}
		return pg.Exec(ctx, tx, "begin with "+d.Action+"/"+d.Name, "UPDATE control.done_with SET state = 'acting', tries = tries + 1, at = $4 WHERE source = $1 AND file = $2::text::uuid AND look = $3", v.Source, d.File, d.Look, now)
	})
	return ok, err
}

// DoneOutcome is what became of something that was due.
type DoneOutcome struct {
	State              string // DoneDue and DoneActing: it is tried again
	Taken              bool   // it is not where it was any more, by us
	Exception, Message string
	NotBefore          time.Time // when it is tried again
}

// EndDone stores what became of it, for who holds the visit. What is not taken away is
// there as before; polls that may have begun before it was taken away may show it still.
func EndDone(ctx context.Context, tx pgx.Tx, v DoneVisit, d DoneWith, o DoneOutcome, now time.Time) error {
	if err := checkVisit(ctx, tx, v); err != nil {
		return err
	}
	if _, err := LockFiles(ctx, tx, []string{d.File}); err != nil {
		return err
	}
	n, err := pg.Changed(ctx, tx, "store what became of "+d.Action+"/"+d.Name, `UPDATE control.done_with SET state = $4, exception = $5, message = $6, not_before = $7, at = $8, told = told + 1
		WHERE source = $1 AND file = $2::text::uuid AND look = $3`, v.Source, d.File, d.Look, o.State, o.Exception, pg.Text(o.Message), o.NotBefore, now)
	if err != nil || n == 0 || o.State == DoneActing {
		return err
	}
	return pg.Exec(ctx, tx, "store what became of "+d.Action+"/"+d.Name, `UPDATE control.hosting SET state = CASE WHEN $4 THEN 'done_with' ELSE 'present' END,
			shown_until = CASE WHEN $4 THEN (SELECT value FROM control.counter WHERE name = 'session') ELSE 0 END
		WHERE source = $1 AND file = $2::text::uuid AND look = $3 AND state = 'done_with'`, v.Source, d.File, d.Look, o.Taken)
}

// PutActs stores what is to be done at a source from now on, and who says so; empty:
// nothing, it is only shown what would be. What was shown is looked at again.
func PutActs(ctx context.Context, tx pgx.Tx, source, acts, said string, revision int64) error {
	if err := pg.Exec(ctx, tx, "source "+source+": store what is done there", "UPDATE control.source SET acts = $2, acts_said = $3, revision = $4 WHERE id = $1", source, acts, pg.Text(said), revision); err != nil {
		return err
	}
	if acts == "" {
		return nil
	}
	return pg.Exec(ctx, tx, "source "+source+": store what is done there", "UPDATE control.done_with SET state = 'due', not_before = '-infinity' WHERE source = $1 AND state = 'shown'", source)
}

// DoneCount is how many files of a source stand so.
type DoneCount struct {
	State     string `json:"state"`
	Exception string `json:"exception,omitempty"`
	Files     int64  `json:"files"`
	More      bool   `json:"more,omitempty"` // there are more than Files: they are not all counted
}

const (
	// doneCounted is how many files that stand alike are counted at the most.
	doneCounted = 10_000
	// doneKinds is how many ways to stand are told apart: there are fewer exceptions.
	doneKinds = 200
)

// DoneCounts returns how the files of a source stand that are inserted, up to a bound of
// each way: what it reads doesn't grow with what was ever done there.
func DoneCounts(ctx context.Context, q pg.Querier, source string) ([]DoneCount, error) {
	return pg.List(ctx, q, "count what is done at "+source, pgx.RowToStructByName[DoneCount], `WITH RECURSIVE k AS (
			(SELECT state, exception FROM control.done_with WHERE source = $1 ORDER BY state, exception LIMIT 1)
			UNION ALL
			SELECT n.state, n.exception FROM k CROSS JOIN LATERAL (SELECT d.state, d.exception FROM control.done_with d
				WHERE d.source = $1 AND (d.state, d.exception) > (k.state, k.exception) ORDER BY d.state, d.exception LIMIT 1) n)
		SELECT k.state, k.exception, least(c.files, $2) AS files, c.files > $2 AS more
		FROM (SELECT * FROM k LIMIT $3) k
		CROSS JOIN LATERAL (SELECT count(*) AS files FROM (SELECT FROM control.done_with d WHERE d.source = $1 AND d.state = k.state AND d.exception = k.exception LIMIT $2 + 1) d) c
		ORDER BY k.state, k.exception`, source, int64(doneCounted), doneKinds)
}
