package scale

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/engine/enginetest"
	"tributary/internal/pg"
	"tributary/internal/remote"
	"tributary/producers/schedule"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/test/scale/plans"
	"tributary/test/wait"
)

// Control that knows very many files decides by index: no statement that any of
// its roles executes looks at more rows and pages than the rows that it is given,
// or gives, account for. Statements are those that the roles execute while two
// sessions go through, and each one in the source code must be among them.
func TestControlDecidesByIndex(t *testing.T) {
	hostings, listed := number(t, "TRIBUTARY_SCALE_HOSTINGS", half(200_000)), number(t, "TRIBUTARY_SCALE_LISTED", half(2_000))
	p := &plans.Watcher{Given: []string{"listed"}}
	w, scheduler, plain, entries := sessions(t, p, hostings, listed)
	people(t, w.pool, entries[0].Name)
	asks(t, w.pool, entries[0].Name)
	rest(t, w.pool, scheduler, min(listed, 2000))
	w.announced(entries[0].Name)
	w.replays(min(listed/10, 500))
	heals(t, w.pool)
	listings(t, w.pool)
	manners(t, w.pool)
	deletes(t, w.pool)
	w.removed(plain, listed/10)
	for _, s := range written(t) {
		if !p.Seen(s.begin) {
			t.Errorf("no role has executed the statement: %s", s.begin)
		}
	}
	p.Check(t, map[string]plans.Allowance{
		"SELECT (SELECT count(*) FROM control.poll WHERE state IN ('due','running'))": {Reason: "it counts what is unfinished", Work: hostings / 20},
		"UPDATE control.hosting h SET misses =":                                       {Reason: "it compares all that the source hosts with its listing", Work: listed},
		"SELECT DISTINCT action FROM control.hosting":                                 {Reason: "it looks at all that the source hosts, where a directory is missing", Work: listed},
		"SELECT ARRAY(SELECT s.id FROM control.source s WHERE s.state":                {Reason: "a centre is seldom removed, and then all files are looked at", Work: hostings / 10},
		"WITH g AS (UPDATE control.hosting SET state='gone'":                          {Reason: "it looks at all that the source hosts", Work: listed},
		"SELECT DISTINCT file::text FROM (SELECT a.file FROM control.acquisition a":   {Reason: "it passes requests that jobs hold and that had no news for the silence budget, on a slow machine all that were listed, at five pages each", Work: listed / 10},
		"INSERT INTO pg_temp.listed (file, action, name, size, mtime, precision, exception, yearless, message, known, centre, file_date, file_inc) SELECT h.file": {Reason: "it lists all that a source hosts, for whoever tries its filters", Work: listed},
		"SELECT b.id::text FROM control.batch b LEFT JOIN": {Reason: "once, it passes the index entries of what has just ended in a batch, until they are vacuumed", Work: listed / 2000},
	})
}

// sessions fills control and has two sessions go through, whose statements are watched: a
// first one finds files at both sources, some of them only at the other one's; a second
// one finds some changed and some gone.
func sessions(t *testing.T, p *plans.Watcher, hostings, listed int) (*world, *schedule.Scheduler, *pgxpool.Pool, []remote.Entry) {
	t.Helper()
	dsn := enginetest.Filled(t, "control", control.Migrate)
	plain, err := pg.Open(t.Context(), dsn, "test", 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(plain.Close)
	fill(t, plain, hostings)
	w := newWorld(t, p.Pool(t, dsn), listed)
	p.Watch()
	scheduler := w.start()
	entries := zips(listed, 0)
	w.show(ownSource, entries[:listed*9/10])
	w.show(otherSource, entries[listed*4/5:])
	w.round(scheduler, plain, "all files new")
	changed := zips(listed, 7)
	twin := changed[0]
	twin.Name = strings.ToLower(twin.Name)
	w.show(ownSource, append(append(changed[:listed/10], twin), entries[listed/10:listed*4/5]...))
	w.show(otherSource, entries[listed*4/5:listed*9/10])
	if _, err := plain.Exec(t.Context(), "UPDATE control.source SET next_due = '-infinity' WHERE id = ANY($1)", []string{ownSource, otherSource}); err != nil {
		t.Fatal(err)
	}
	w.round(scheduler, plain, "files changed and gone")
	return w, scheduler, plain, entries
}

// round goes through a session, until it is closed and the files found in it
// have ended.
func (w *world) round(s *schedule.Scheduler, plain *pgxpool.Pool, what string) {
	w.t.Helper()
	began := time.Now()
	id, err := s.Open(w.t.Context(), false)
	if err != nil {
		w.t.Fatal(err)
	}
	listed := false
	eventually(w.t, 45*time.Minute, func() string {
		var state string
		err := plain.QueryRow(w.t.Context(), `SELECT coalesce((SELECT 'polls have not ended' FROM control.session WHERE id = $1 AND polls_ended_at IS NULL),
			(SELECT 'is not closed' FROM control.session WHERE id = $1 AND closed_at IS NULL),
			(SELECT 'files under way: ' || count(*) FROM control.acquisition WHERE domain = 'H' AND (state <> 'ended' OR retry_at IS NOT NULL) HAVING count(*) > 0),
			(SELECT 'batches not out: ' || count(*) FROM control.batch WHERE domain = 'H' AND released_at IS NULL HAVING count(*) > 0), '')`, id).Scan(&state)
		if err != nil {
			return err.Error()
		}
		if !listed && state != "polls have not ended" {
			listed = true
			w.t.Logf("%s: listed and compared after %s", what, time.Since(began).Round(time.Millisecond))
		}
		return state
	})
	w.t.Logf("%s: the session is over after %s", what, time.Since(began).Round(time.Millisecond))
}

// zips is a listing; one in ten files fails at first, and as many have a name
// that is none. What was changed has another size.
func zips(n int, change int64) []remote.Entry {
	out := make([]remote.Entry, n)
	for i := range out {
		out[i] = remote.Entry{Name: fmt.Sprintf("H.2026-01-02.%d.impc.zip", i+1), Size: 100 + int64(i)*10 + change, ModTime: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC), Precision: time.Second}
		switch i % 10 {
		case 3:
			out[i].Size = 13
		case 4:
			out[i].Name = fmt.Sprintf("H-%d.zip", i)
		}
	}
	return out
}

// removed removes a source while so many files at it have not settled, and waits
// until nothing does that.
func (w *world) removed(plain *pgxpool.Pool, unsettled int) {
	w.t.Helper()
	for _, sql := range []string{
		"UPDATE control.hosting SET settled = false WHERE (source, file) IN (SELECT source, file FROM control.hosting WHERE source = $1 AND state = 'present' ORDER BY file LIMIT $2)",
		"UPDATE control.source SET state = 'removed' WHERE id = $1 AND $2 > 0",
	} {
		if _, err := plain.Exec(w.t.Context(), sql, otherSource, unsettled); err != nil {
			w.t.Fatal(err)
		}
	}
	eventually(w.t, wait.Patience(), func() string {
		var left int
		if err := plain.QueryRow(w.t.Context(), "SELECT count(*) FROM control.hosting WHERE source = $1 AND state = 'present' AND NOT settled", otherSource).Scan(&left); err != nil {
			return err.Error()
		}
		if left > 0 {
			return fmt.Sprintf("%d files have not settled", left)
		}
		return ""
	})
}

// people do what people do by commands.
func people(t *testing.T, pool *pgxpool.Pool, file string) {
	t.Helper()
	op, err := control.RequestUnload(t.Context(), pool, control.Unload{Action: "add", Name: file, By: "me", Reason: "a test"}, now())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := control.RequestUnload(t.Context(), pool, control.Unload{Action: "add", Name: file, Archive: op.Archive, By: "me", Reason: "once more"}, now()); err != nil {
		t.Fatal(err)
	}
	if _, err := control.RequestReference(t.Context(), pool, control.Reference{Name: "r", File: "r.csv", Blob: "b", By: "me"}, now()); err != nil {
		t.Fatal(err)
	}
	eventually(t, wait.Patience(), func() string {
		if op, err = control.ReadOperation(t.Context(), pool, op.ID); err != nil || op.Position == 0 {
			return fmt.Sprint("the operation has no position: ", err)
		}
		return ""
	})
	var session string
	if err := pool.QueryRow(t.Context(), "SELECT id::text FROM control.session ORDER BY number DESC LIMIT 1").Scan(&session); err != nil {
		t.Fatal(err)
	}
	_, unlisted := control.Unlisted(t.Context(), pool, session, now())
	_, operations := control.Operations(t.Context(), pool, 10)
	_, open := control.SessionOpen(t.Context(), pool)
	_, pending := control.Pending(t.Context(), pool)
	_, digest := control.PositionDigest(t.Context(), pool)
	_, fetching := control.Fetching(t.Context(), pool)
	_, given := control.GivenPosition(t.Context(), pool)
	_, _, ignored := control.IgnoredOf(t.Context(), pool, ownSource, 0, 0)
	_, shown := control.LeftShown(t.Context(), pool, ownSource)
	forgotten := control.ForgetDirectories(t.Context(), pool, "nobody")
	minimal := pg.InTx(t.Context(), pool, func(tx pgx.Tx) error {
		return control.PutDirectories(t.Context(), tx, "nobody", control.Directories{})
	})
	missing := pg.InTx(t.Context(), pool, func(tx pgx.Tx) error {
		_, err := control.Lacks(t.Context(), tx, control.Poll{Source: ownSource})
		return errors.Join(err, control.EachMissing(t.Context(), tx, ownSource, "add", func(string) {}))
	})
	_, outstanding := control.JobOutstanding(t.Context(), pool, schemas.LiveRun)
	_, others := control.OtherReplays(t.Context(), pool, 1, []string{schemas.LiveRun})
	_, rests := control.SourceRests(t.Context(), pool, "nobody")
	_, checksums := control.WithoutChecksums(t.Context(), pool, ownSource, control.Undefined, []string{schemas.FileID("add", file)})
	checksums = errors.Join(checksums, control.ForgetNoChecksums(t.Context(), pool, "nobody"))
	retried := pg.InTx(t.Context(), pool, func(tx pgx.Tx) error {
		rested := control.Rest(t.Context(), tx, control.Poll{Source: ownSource, Definition: control.Undefined})
		return errors.Join(rested, control.RetryUnavailable(t.Context(), tx, ownSource, now()), control.RetryMissed(t.Context(), tx, now(), 1000))
	})
	defined := pg.InTx(t.Context(), pool, func(tx pgx.Tx) error {
		_, byHand := control.Undeclared(t.Context(), tx)
		_, locked := control.LockSource(t.Context(), tx, "nobody")
		_, replaced := control.Replaced(t.Context(), tx, "")
		_, centres := control.Centres(t.Context(), tx)
		_, used := control.CentreUsed(t.Context(), tx, "nobody")
		return errors.Join(byHand, locked, replaced, centres, used, control.RemoveCentre(t.Context(), tx, "nobody"))
	})
	decided := pg.InTx(t.Context(), pool, func(tx pgx.Tx) error {
		q, err := control.LockQuality(t.Context(), tx, schemas.LiveRun)
		return errors.Join(err, control.StoreQuality(t.Context(), tx, q))
	})
	held := pg.InTx(t.Context(), pool, func(tx pgx.Tx) error {
		_, outstanding := control.Outstanding(t.Context(), tx, schemas.LiveRun)
		_, listed := control.HeldFiles(t.Context(), tx, 10)
		return errors.Join(outstanding, listed, control.StoreHold(t.Context(), tx, schemas.LiveRun, control.Hold{}))
	})
	administered := pg.InTx(t.Context(), pool, func(tx pgx.Tx) error {
		announced := control.AnnounceMember(t.Context(), tx, control.Member{ID: "nobody", Roles: []string{"plan"}})
		_, beat := control.BeatMember(t.Context(), tx, "nobody")
		number, asked := control.AskMember(t.Context(), tx, control.MemberRequest{Member: "nobody", Verb: "stat", WaitsFor: time.Minute})
		_, waiting := control.MemberRequests(t.Context(), tx, "nobody")
		_, answered := control.AnswerRequest(t.Context(), tx, number, nil, "")
		_, read := control.ReadRequest(t.Context(), tx, number)
		_, listed := control.Members(t.Context(), tx)
		return errors.Join(announced, beat, asked, waiting, answered, read, listed, control.LeaveMember(t.Context(), tx, "nobody"))
	})
	if administered != nil {
		t.Error(administered)
	}
	if _, err := control.SessionDeaths(t.Context(), pool, schemas.LiveRun); err != nil {
		t.Error(err)
	}
	accounts(t, pool)
	notices(t, pool)
	_, end, err := control.HoldSession(t.Context(), pool, schemas.LiveRun, "own.example:22", "test", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	end()
	// What only a slow or failing poll needs.
	gone := control.Poll{ID: schemas.LiveRun}
	if err := control.RenewPoll(t.Context(), pool, gone, time.Second); !errors.Is(err, pg.ErrLeaseLost) {
		t.Errorf("a poll that is nobody's is renewed: %v", err)
	}
	postponed := control.PostponePoll(t.Context(), pool, gone, now(), "", "")
	for _, err := range []error{postponed, ignored, unlisted, operations, open, pending, digest, fetching, given, outstanding, rests, checksums, others, retried, defined, shown, missing, held, decided, forgotten, minimal} {
		if err != nil {
			t.Fatal(err)
		}
	}
}
