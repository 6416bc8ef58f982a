package sequence

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/config"
	"tributary/internal/pg"
	"tributary/internal/stage/sink"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/sql/outbox/outboxtest"
	"tributary/test/wait"
)

func (b *bench) says(want ...string) []*schemas.DocumentOrdered {
	b.t.Helper()
	got := b.ordered()
	if d := cmp.Diff(want, said(got)); d != "" {
		b.t.Errorf("positions differ (- want, + got):\n%s", d)
	}
	return got
}

// A batch that the last verdict completes does not wait for the next interval.
func TestTheLastVerdictReleasesItsBatch(t *testing.T) {
	b := newBench(t)
	b.cfg.Interval = config.Duration(24 * time.Hour)
	f := b.extracted(b.session(), "H", "add", "2026-02-01", 1, 1)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- b.Sequencer.release(ctx, b.epoch) }()
	b.read(f.verdict("specimen", "2026-01-05", 1, schemas.Valid))
	const released = "SELECT FROM control.batch WHERE released_at IS NOT NULL"
	for deadline := time.Now().Add(wait.Patience()); b.text(released) != "()"; {
		if time.Now().After(deadline) {
			t.Fatal("the batch waits for the next interval")
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}

// Documents that come are news of their file, noted to a tenth of the budget.
func TestDocumentsAreNewsOfTheirFile(t *testing.T) {
	b := newBench(t)
	b.deps.SilenceBudget = time.Hour
	f := b.extracted(b.session(), "H", "add", "2026-02-01", 1, 5)
	for i, tt := range []struct {
		age   string // of the last news
		noted bool
	}{{"7 minutes", true}, {"5 minutes", false}, {"2 hours", true}} {
		b.exec("UPDATE control.acquisition SET news_at = clock_timestamp() - $1::text::interval", tt.age)
		b.read(f.verdict("specimen", "2026-01-05", int64(i+1), schemas.Valid))
		if got := b.text("SELECT news_at > clock_timestamp() - interval '1 minute' FROM control.acquisition") == "(t)"; got != tt.noted {
			t.Errorf("after %s: noted is %t, want %t", tt.age, got, tt.noted)
		}
	}
}

// The order key: specimens, experiments, deletions of experiments, deletions
// of specimens; file date and increment; document date and increment; action;
// file name; document name.
func TestABatchIsInTheOrderOfItsKey(t *testing.T) {
	b := newBench(t)
	s := b.session()
	late := b.extracted(s, "H", "add", "2026-02-01", 2, 2)
	early := b.extracted(s, "H", "add", "2026-02-01", 1, 4)
	edit := b.extracted(s, "H", "edit", "2026-02-01", 1, 1)
	gone := b.extracted(s, "H", "delete", "2026-01-01", 1, 2)
	b.read(
		late.verdict("experiment", "2026-01-05", 1, schemas.Valid), late.verdict("specimen", "2026-01-05", 1, schemas.Valid),
		early.verdict("experiment", "2026-01-05", 10, schemas.Valid), early.verdict("experiment", "2026-01-05", 9, schemas.FailedEnd),
		early.verdict("specimen", "2026-01-06", 1, schemas.Valid), early.badName("odd.xml"),
		edit.verdict("specimen", "2026-01-06", 1, schemas.Valid),
		gone.verdict("specimen", "2026-01-01", 1, schemas.Valid), gone.verdict("experiment", "2026-01-01", 1, schemas.Valid),
	)
	b.release()
	one, two, del := "H.2026-02-01.1.impc.zip", "H.2026-02-01.2.impc.zip", "H.2026-01-01.1.impc.zip"
	got := b.says(
		"1 add/"+one+"/H.2026-01-06.1.specimen.impc.xml",
		"2 edit/"+one+"/H.2026-01-06.1.specimen.impc.xml",
		"3 add/"+two+"/H.2026-01-05.1.specimen.impc.xml",
		"4 add/"+one+"/H.2026-01-05.9.experiment.impc.xml",
		"5 add/"+one+"/H.2026-01-05.10.experiment.impc.xml",
		"6 add/"+two+"/H.2026-01-05.1.experiment.impc.xml",
		"7 delete/"+del+"/H.2026-01-01.1.experiment.impc.xml",
		"8 delete/"+del+"/H.2026-01-01.1.specimen.impc.xml",
		"9 add/"+one+"/odd.xml",
		"10 withdrawal add/"+one+" of 4",
		"11 withdrawal edit/"+one+" of 1",
		"12 withdrawal add/"+two+" of 2",
		"13 withdrawal delete/"+del+" of 2",
		"14 end of H 1 of 9",
		"15 end of session 1",
	)
	if f := got[3]; f.Result != schemas.FailedEnd || f.Phase != "xsd" || f.Exception != "xsd_invalid" {
		t.Errorf("a failed document's position is %+v", f)
	}
	if f := got[0]; f.Result != schemas.Valid || f.FileDate != "2026-02-01" || f.FileInc != 1 || !f.RankOwn || f.RankOrdinal != 1 || f.RankTime == nil || f.Profile != "impc@1" || f.Session != s ||
		f.Domain != "H" || f.Number != 1 || f.Source != "src" || f.Archive == "" || f.Download == "" || f.Unzip != "done" || f.Attempt != 1 {
		t.Errorf("a document's position is %+v", f)
	}
}

func TestWhenABatchIsComplete(t *testing.T) {
	tests := []struct {
		name    string
		hold    func(b *bench, session string) // what keeps it
		free    func(b *bench, session string) // and what frees it
		minutes int
	}{
		{"polls that have not ended", func(b *bench, s string) { b.exec("UPDATE control.session SET polls_ended_at = NULL") },
			func(b *bench, s string) { b.exec("UPDATE control.session SET polls_ended_at = now()") }, 0},
		{"polls that have not ended are cut off", func(b *bench, s string) { b.exec("UPDATE control.session SET polls_ended_at = NULL") }, nil, 11},
		{"a look that plan has not taken up", func(b *bench, s string) { b.look(s, "H", "announced") },
			func(b *bench, s string) { b.exec("UPDATE control.look SET class = 'duplicate'") }, 0},
		{"a look that waits for the own source", func(b *bench, s string) { b.look(s, "H", "waiting") },
			func(b *bench, s string) { b.exec("UPDATE control.look SET class = 'superseded'") }, 0},
		{"a file under way", func(b *bench, s string) {
			b.extracted(s, "H", "edit", "2026-02-02", 1, 1)
			b.exec("UPDATE control.acquisition SET state = 'wanted' WHERE state = 'extracted'")
		}, func(b *bench, s string) {
			b.exec("UPDATE control.acquisition SET state = 'ended', result = 'failed' WHERE state = 'wanted'")
		}, 0},
		{"a document that is not validated", func(b *bench, s string) { b.extracted(s, "H", "edit", "2026-02-02", 1, 1) },
			func(b *bench, s string) {
				b.exec("UPDATE control.acquisition SET state = 'ended', result = 'failed' WHERE state = 'extracted'")
			}, 0},
		{"at the limit it is released with what has ended", func(b *bench, s string) { b.extracted(s, "H", "edit", "2026-02-02", 1, 1) }, nil, 31},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			s := b.session()
			f := b.extracted(s, "H", "add", "2026-02-01", 1, 1)
			b.read(f.verdict("specimen", "2026-01-01", 1, schemas.Valid))
			tt.hold(b, s)
			b.release()
			if got := said(b.ordered()); len(got) != 0 {
				t.Fatalf("released too early: %v", got)
			}
			if tt.free != nil {
				tt.free(b, s)
			}
			b.now = b.now.Add(time.Duration(tt.minutes) * time.Minute)
			b.release()
			got := said(b.ordered())
			if len(got) < 3 || got[2] != "3 end of H 1 of 1" {
				t.Fatalf("positions: %v", got)
			}
		})
	}
}

// look stores an announced or waiting look of a session.
func (b *bench) look(session, domain, class string) {
	b.t.Helper()
	b.exec(`INSERT INTO control.look (source, file, look, session, domain, centre, size, listed_at, class) VALUES ('src', gen_random_uuid(), 1, $1, $2, $2, 1, $3, $4)`, session, domain, b.now, class)
}

// A look or file of another domain holds up nobody but the session's end.
func TestDomainsDoNotWaitForEachOther(t *testing.T) {
	b := newBench(t)
	s := b.session()
	h := b.extracted(s, "H", "add", "2026-02-01", 1, 1)
	b.extracted(s, "Ics", "add", "2026-02-01", 1, 1)
	b.look(s, "Gmc", "announced")
	b.read(h.verdict("specimen", "2026-01-01", 1, schemas.Valid))
	b.release()
	b.says("1 add/"+h.name+"/H.2026-01-01.1.specimen.impc.xml", "2 withdrawal add/"+h.name+" of 1", "3 end of H 1 of 1")
}

// A session's batch waits for earlier sessions' batches of its domain.
func TestBatchesOfADomainFollowTheirSessions(t *testing.T) {
	for _, tt := range []struct {
		name  string
		taken bool // whether plan has taken the earlier session's file up
	}{{"under way", true}, {"announced only", false}} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			first, second := b.session(), b.session()
			var early *file
			if tt.taken {
				early = b.extracted(first, "H", "add", "2026-02-01", 1, 1)
			} else {
				b.look(first, "H", "announced")
			}
			other := b.extracted(second, "Ics", "add", "2026-02-01", 1, 1)
			late := b.extracted(second, "H", "add", "2026-02-01", 2, 1)
			b.read(late.verdict("specimen", "2026-01-01", 1, schemas.Valid), other.verdict("specimen", "2026-01-01", 1, schemas.Valid))
			b.release()
			b.says("1 add/"+other.name+"/Ics.2026-01-01.1.specimen.impc.xml", "2 withdrawal add/"+other.name+" of 1", "3 end of Ics 1 of 1")
			if !tt.taken {
				b.exec("UPDATE control.look SET class = 'taken'")
				early = b.extracted(first, "H", "add", "2026-02-01", 1, 1)
			}
			b.read(early.verdict("specimen", "2026-01-01", 1, schemas.Valid))
			b.release()
			b.says(
				"4 add/"+early.name+"/H.2026-01-01.1.specimen.impc.xml", "5 withdrawal add/"+early.name+" of 1", "6 end of H 1 of 1",
				"7 end of session 1",
				"8 add/"+late.name+"/H.2026-01-01.1.specimen.impc.xml", "9 withdrawal add/"+late.name+" of 1", "10 end of H 2 of 1",
				"11 end of session 2",
			)
		})
	}
}

// Whatever ends after its batch was released goes into a late batch of the
// domain, which belongs to no session.
func TestWhatEndsLaterGoesIntoALateBatch(t *testing.T) {
	b := newBench(t)
	s := b.session()
	inTime := b.extracted(s, "H", "add", "2026-02-01", 1, 1)
	slow := b.extracted(s, "H", "add", "2026-02-01", 2, 2)
	slower := b.extracted(s, "H", "add", "2026-02-01", 3, 1)
	b.read(inTime.verdict("specimen", "2026-01-01", 1, schemas.Valid), slow.verdict("specimen", "2026-01-01", 1, schemas.Valid))
	b.now = b.now.Add(31 * time.Minute)
	b.release()
	b.says("1 add/"+inTime.name+"/H.2026-01-01.1.specimen.impc.xml", "2 withdrawal add/"+inTime.name+" of 1", "3 end of H 1 of 1", "4 end of session 1")

	b.read(slow.verdict("specimen", "2026-01-01", 2, schemas.Valid))
	b.release()
	b.says() // it gathers for a while
	b.read(slower.verdict("specimen", "2026-01-01", 1, schemas.Valid))
	if got := b.text("SELECT count(*) FROM control.batch WHERE session IS NULL"); got != "(1)" {
		t.Fatalf("late batches: %s", got)
	}
	b.now = b.now.Add(b.cfg.LateLimit.D())
	b.release()
	got := b.says(
		"5 add/"+slow.name+"/H.2026-01-01.1.specimen.impc.xml", "6 add/"+slow.name+"/H.2026-01-01.2.specimen.impc.xml", "7 add/"+slower.name+"/H.2026-01-01.1.specimen.impc.xml",
		"8 withdrawal add/"+slow.name+" of 2", "9 withdrawal add/"+slower.name+" of 1", "10 end of H 2 of 3 late")
	if got[0].Number != 2 || !got[0].Late || got[5].Session != "" {
		t.Errorf("late positions: %+v, %+v", got[0], got[5])
	}

	// What was tried again belongs to no session at all.
	again := b.extracted("", "H", "add", "2026-02-01", 4, 1)
	b.read(again.verdict("specimen", "2026-01-01", 1, schemas.Valid))
	b.now = b.now.Add(b.cfg.LateLimit.D())
	b.release()
	b.says("11 add/"+again.name+"/H.2026-01-01.1.specimen.impc.xml", "12 withdrawal add/"+again.name+" of 1", "13 end of H 3 of 1 late")
}

func TestNumbersArePerDomain(t *testing.T) {
	b := newBench(t)
	for n := range 3 {
		s := b.session()
		for _, domain := range []string{"H", "Ics"} {
			f := b.extracted(s, domain, "add", "2026-02-01", int64(n+1), 1)
			b.read(f.verdict("specimen", "2026-01-01", 1, schemas.Valid))
		}
	}
	b.release()
	numbers := map[string]string{}
	next := int64(1)
	for _, o := range b.ordered() {
		if o.Position != next {
			t.Fatalf("position %d after %d", o.Position, next-1)
		}
		next++
		if o.What == schemas.PositionBatchEnd {
			numbers[o.Domain] += fmt.Sprint(o.Number)
		}
	}
	if numbers["H"] != "123" || numbers["Ics"] != "123" {
		t.Errorf("numbers are %v", numbers)
	}
}

// Documents of another outcome than the accepted one are set aside, repeats
// change nothing.
func TestOnlyAcceptedDocumentsCount(t *testing.T) {
	b := newBench(t)
	s := b.session()
	f := b.extracted(s, "H", "add", "2026-02-01", 1, 2)
	aside := f.verdict("specimen", "2026-01-01", 1, schemas.Valid)
	aside.Download = "another sha"
	one := f.verdict("specimen", "2026-01-01", 1, schemas.Valid)
	b.read(aside, one, one)
	b.read(one)
	b.release()
	b.says()
	b.read(f.verdict("specimen", "2026-01-01", 2, schemas.Valid))
	b.release()
	b.says("1 add/"+f.name+"/H.2026-01-01.1.specimen.impc.xml", "2 add/"+f.name+"/H.2026-01-01.2.specimen.impc.xml", "3 withdrawal add/"+f.name+" of 2", "4 end of H 1 of 2", "5 end of session 1")
}

// The last documents of a file, read by two members at once, end it once.
func TestTheLastDocumentsComeAtOnce(t *testing.T) {
	b := newBench(t)
	s := b.session()
	for n := range 10 {
		f := b.extracted(s, "H", "add", "2026-02-01", int64(n+1), 2)
		var wg sync.WaitGroup
		for i := range 2 {
			r := b.batch(f.verdict("specimen", "2026-01-01", int64(i), schemas.Valid))
			r.Partition, r.From, r.To = int32(i), int64(n), int64(n+1)
			wg.Go(func() {
				if err := b.Apply(t.Context(), []sink.Range{r}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if got := b.text("SELECT state, result FROM control.acquisition WHERE id = $1", f.acquisition); got != "(ended,complete)" {
			t.Fatalf("file %d is %s", n, got)
		}
	}
}

func TestABatchOfVerdictsAppliesOnce(t *testing.T) {
	b := newBench(t)
	f := b.extracted(b.session(), "H", "add", "2026-02-01", 1, 1)
	r := b.batch(f.verdict("specimen", "2026-01-01", 1, schemas.Valid))
	if err := b.Apply(t.Context(), []sink.Range{r}); err != nil {
		t.Fatal(err)
	}
	if err := b.Apply(t.Context(), []sink.Range{r}); !errors.Is(err, pg.ErrMoved) {
		t.Fatalf("applied twice: %v", err)
	}
	if next, err := b.Position(t.Context(), schemas.DocumentValidatedTopic, 0); err != nil || next != 1 {
		t.Errorf("the next offset is %d (%v)", next, err)
	}
}

// Positions have no gaps and no doubles, also when two members release at the
// same time, one of which has lost its lease.
func TestTwoSequencersGiveGaplessPositions(t *testing.T) {
	b := newBench(t)
	const domains, files = 4, 5
	for range files {
		s := b.session()
		for d := range domains {
			f := b.extracted(s, string(rune('A'+d)), "add", "2026-02-01", b.sessions, 1)
			b.read(f.verdict("specimen", "2026-01-01", 1, schemas.Valid))
		}
	}
	members := []*Sequencer{b.Sequencer, b.member(b.Pool, "one"), b.member(b.Pool, "one")}
	now := b.deps.Now()
	ready, err := control.ReadyBatches(t.Context(), b.Pool, b.limits(now))
	if err != nil || len(ready) < len(members) {
		t.Fatalf("ready: %v (%v)", ready, err)
	}
	// Nobody gets past the row of the next position until two are there, each
	// with another batch.
	held, err := b.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer held.Rollback(t.Context()) // once it is committed there is nothing to roll back
	if _, err := held.Exec(t.Context(), "SELECT FROM control.position FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i, m := range members {
		wg.Go(func() {
			if err := m.releaseBatch(t.Context(), b.epoch, ready[i], b.limits(now), now); err != nil {
				t.Error(err)
			}
			for {
				more, err := m.turn(t.Context(), b.epoch)
				if err != nil {
					t.Error(err)
					return
				}
				if !more {
					return
				}
			}
		})
	}
	const waiting = "SELECT count(*) >= 2 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
	for deadline := time.Now().Add(wait.Patience()); b.text(waiting) != "(t)"; {
		if time.Now().After(deadline) {
			t.Fatal("no two members release at the same time")
		}
	}
	if err := held.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	b.release()
	var documents, ends int
	for i, o := range b.ordered() {
		if o.Position != int64(i+1) {
			t.Fatalf("position %d comes after %d", o.Position, i)
		}
		switch o.What {
		case schemas.PositionDocument:
			documents++
		case schemas.PositionBatchEnd:
			ends++
		}
	}
	if documents != domains*files || ends != domains*files {
		t.Errorf("%d documents in %d batches", documents, ends)
	}
}

func TestALateSequencerReleasesNothing(t *testing.T) {
	b := newBench(t)
	f := b.extracted(b.session(), "H", "add", "2026-02-01", 1, 1)
	b.read(f.verdict("specimen", "2026-01-01", 1, schemas.Valid))
	b.exec("UPDATE control.lease SET epoch = epoch + 1, holder = 'two'")
	if _, err := b.turn(t.Context(), b.epoch); !errors.Is(err, pg.ErrLeaseLost) {
		t.Fatalf("turn: %v", err)
	}
	b.says()
	if got := b.text("SELECT next FROM control.position"); got != "(1)" {
		t.Errorf("the next position is %s", got)
	}
}

// A session closes when the warehouse has applied its end; it has failed if a
// poll did not complete.
func TestSessionsCloseWhenTheyAreApplied(t *testing.T) {
	b := newBench(t)
	s := b.session()
	f := b.extracted(s, "H", "add", "2026-02-01", 1, 1)
	b.read(f.verdict("specimen", "2026-01-01", 1, schemas.Valid))
	b.session() // without a file
	b.release()
	b.says("1 add/"+f.name+"/H.2026-01-01.1.specimen.impc.xml", "2 withdrawal add/"+f.name+" of 1", "3 end of H 1 of 1", "4 end of session 1", "5 end of session 2")
	for _, step := range []struct {
		applied int64
		closed  string
	}{{3, "(0)"}, {4, "(1)"}, {5, "(2)"}} {
		b.applied = step.applied
		b.release()
		if got := b.text("SELECT count(closed_at) FROM control.session"); got != step.closed {
			t.Errorf("at position %d %s sessions are closed, want %s", step.applied, got, step.closed)
		}
	}
}

// What a closed session tells is the earliest phase in which anything of it
// failed: a poll, else a file, else a document, of which the warehouse knows.
func TestASessionTellsItsFirstFailure(t *testing.T) {
	for name, tc := range map[string]struct {
		poll, file string        // how they failed
		again      bool          // the file was fetched once more, and that went well
		document   schemas.Phase // in which one failed, as the warehouse knows
		want       string
	}{
		"nothing":      {want: "done "},
		"a poll":       {poll: "failed", file: "unzip", document: schemas.XSD, want: "failed zip_name"},
		"a transfer":   {file: "download", document: schemas.XSD, want: "failed download"},
		"a checksum":   {file: "zip_md5", want: "failed zip_md5"},
		"once":         {file: "download", again: true, want: "done "},
		"a document":   {document: schemas.XSD, want: "failed xsd"},
		"data of some": {document: schemas.Data, want: "failed data"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			s := b.session()
			f := b.extracted(s, "H", "add", "2026-02-01", 1, 1)
			g := b.extracted(s, "H", "add", "2026-02-02", 1, 1)
			b.read(f.verdict("specimen", "2026-01-01", 1, schemas.Valid))
			b.read(g.verdict("specimen", "2026-01-02", 1, schemas.Valid))
			if tc.poll != "" {
				b.exec("INSERT INTO control.source (id, centre, server, protocol, url, max_sessions, poll_interval, state, revision) VALUES ('s', 'H', 'h:22', 'sftp', 'sftp://h', 1, '1 h', 'available', 1) ON CONFLICT DO NOTHING")
				b.exec("INSERT INTO control.poll (id, session, source, server, centre, state) VALUES (gen_random_uuid(), $1, 's', 'h:22', 'H', $2)", s, tc.poll)
			}
			if tc.file != "" {
				b.exec("UPDATE control.acquisition SET state = 'ended', result = 'failed', phase = $1 WHERE id = (SELECT max(id) FROM control.acquisition)", tc.file)
			}
			if tc.again {
				b.exec(`INSERT INTO control.acquisition (run, file, session, domain, batch, source, look, size, state, result)
					SELECT run, file, session, domain, batch, source, look + 1, size, 'ended', 'done' FROM control.acquisition WHERE result = 'failed'`)
			}
			var asked []string
			b.deps.Failed = func(_ context.Context, batches []string) (schemas.Phase, error) {
				asked = batches
				return tc.document, nil
			}
			b.applied = 100
			b.release()
			b.release()
			var got []string
			for _, m := range outboxtest.Drain(t, b.Pool, control.Schema, b.deps.Outbox.Codec) {
				if e, ok := m.Body.(*schemas.StatusChanged); ok && e.Entity == schemas.EntitySession {
					got = append(got, e.Status+" "+e.Phase)
				}
			}
			if len(got) != 1 || got[0] != tc.want {
				t.Errorf("it tells %q, want %q", got, tc.want)
			}
			if tc.poll+tc.file == "" && len(asked) != 1 {
				t.Errorf("the warehouse is asked for the batches %q", asked)
			}
		})
	}
}

// A session is not closed before it is known what failed.
func TestASessionWaitsForTheWarehouse(t *testing.T) {
	b := newBench(t)
	b.session()
	b.release()
	b.applied = 100
	b.deps.Failed = func(context.Context, []string) (schemas.Phase, error) { return "", errors.New("away") }
	if closed, err := b.closeSessions(t.Context(), b.epoch, b.now); closed || err == nil {
		t.Errorf("closed: %v, %v", closed, err)
	}
	if got := b.text("SELECT count(closed_at) FROM control.session"); got != "(0)" {
		t.Errorf("%s sessions are closed", got)
	}
}

// An empty batch has no positions, but its number.
func TestABatchOfFailuresIsEmpty(t *testing.T) {
	b := newBench(t)
	b.extracted(b.session(), "H", "add", "2026-02-01", 1, 1)
	b.exec("UPDATE control.acquisition SET state = 'ended', result = 'failed'")
	b.release()
	b.says("1 end of session 1")
}
