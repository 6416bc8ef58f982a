package poll

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/config"
	"tributary/internal/remote"
	"tributary/internal/remote/connectors"
	"tributary/schemas"
	"tributary/test/wait"
)

// ended is how the last poll ended.
func (b *bench) ended() string {
	b.t.Helper()
	return b.text("SELECT p.state, p.exception FROM control.poll p JOIN control.session s ON s.id = p.session ORDER BY s.number DESC LIMIT 1")
}

// task is the event that tells how the poll ended.
func (b *bench) task() *schemas.StatusChanged {
	b.t.Helper()
	for _, m := range b.events() {
		if e, ok := m.Body.(*schemas.StatusChanged); ok && e.Entity == schemas.EntityTask {
			return e
		}
	}
	b.t.Fatal("no event tells how the poll ended")
	return nil
}

// A listing is limited over all its directories together, in entries and in bytes
// of names, whatever these are; what came before the limit is recorded.
func TestAListingIsLimitedAsAWhole(t *testing.T) {
	for _, tt := range []struct {
		name  string
		limit func(*config.Poll)
	}{
		{"entries", func(p *config.Poll) { p.MaxEntries = 3 }},
		{"bytes of names", func(p *config.Poll) { p.MaxListingBytes = config.Bytes(3 * len(good)) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			b.once = true
			tt.limit(&b.cfg)
			b.server.dirs = map[string][]remote.Entry{"add": {{Name: good}, {Name: good2}}, "edit": {{Name: good}, {Name: strings.Repeat("x", len(good)), Kind: remote.Other}}}
			b.listing()
			if got := b.ended(); got != "broken_off listing_too_long" {
				t.Fatalf("the poll ended %s", got)
			}
			if got := b.text("SELECT count(*) FROM control.look WHERE class = 'announced'"); got != "3" {
				t.Errorf("%s files are announced of the three listed within the limit", got)
			}
			b.server.dirs["edit"] = b.server.dirs["edit"][:1]
			b.listing()
			if got := b.ended(); got != "complete " {
				t.Errorf("a listing at the limit ended %s", got)
			}
		})
	}
}

// A name that comes again in another chunk is found without a memory of names; the
// first of each counts.
func TestNamesThatComeAgainAreIgnoredAcrossChunks(t *testing.T) {
	b := newBench(t)
	b.once = true
	for range 2 {
		for i := range chunk + 10 {
			b.server.dirs["add"] = append(b.server.dirs["add"], remote.Entry{Name: fmt.Sprintf("H.2026-01-02.%d.impc.zip", i+1), Size: int64(len(b.server.dirs["add"]))})
		}
	}
	b.listing()
	e := b.task()
	if e.Attributes["listed"] != fmt.Sprint(chunk+10) || e.Attributes["ignored_repeated"] != fmt.Sprint(chunk+10) {
		t.Errorf("counts are %v", e.Attributes)
	}
	if got := b.text("SELECT max(size) FROM control.hosting"); got != fmt.Sprint(chunk+9) {
		t.Errorf("the largest size is %s: not the first of each counts", got)
	}
}

// What the database refuses of an entry ends that entry by name, whatever it is
// and wherever it is refused; the others are recorded, and the poll ends.
func TestWhatTheDatabaseRefusesEndsByItself(t *testing.T) {
	many := func(b *bench) {
		for i := range 100 {
			b.server.show(fmt.Sprintf("H.2026-01-03.%d.impc.zip", i+1), 10)
		}
	}
	for _, tt := range []struct {
		name    string
		prepare func(b *bench)
		ended   string
		file    string // how the refused entry's file stands
	}{
		{"a year of 0", func(b *bench) {
			b.server.dirs["add"] = append(b.server.dirs["add"], remote.Entry{Name: good, Size: 10, ModTime: time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)})
		}, "complete ", "entry_refused"},
		{"a year beyond all", func(b *bench) {
			b.server.dirs["add"] = append(b.server.dirs["add"], remote.Entry{Name: good, Size: 10, ModTime: time.Date(290000, 1, 1, 0, 0, 0, 0, time.UTC)})
		}, "complete ", "entry_refused"},
		{"refused as it is listed", func(b *bench) {
			b.refuse("hosting", "size = 666")
			b.server.show(good, 666)
		}, "complete ", "entry_refused"},
		{"refused by its name", func(b *bench) {
			b.refuse("file", "name = '"+good+"'")
			b.server.show(good, 10)
		}, "broken_off entry_refused", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			b.once = true
			many(b)
			tt.prepare(b)
			b.listing()
			if got := b.ended(); got != tt.ended {
				t.Fatalf("the poll ended %s, want %s", got, tt.ended)
			}
			if got := b.text("SELECT exception FROM control.file WHERE name = $1", good); got != tt.file {
				t.Errorf("the file is %q, want %q", got, tt.file)
			}
			if got := b.text("SELECT count(*) FROM control.look WHERE class = 'announced'"); got != "100" {
				t.Errorf("%s of 100 others are announced", got)
			}
			if got := b.text("SELECT polls_ended_at IS NOT NULL FROM control.session"); got != "true" {
				t.Error("its session waits for it")
			}
			e := b.task()
			if e.Attributes["new"] != "101" && tt.file != "" || e.Attributes["new"] != "100" && tt.file == "" {
				t.Errorf("counts are %v", e.Attributes)
			}
			if tt.file == "" && !strings.Contains(e.Message, good) {
				t.Errorf("the event does not name the entry: %s", e.Message)
			}
			told := len(b.events())
			b.listing()
			if again := len(b.events()); tt.file != "" && again >= told {
				t.Errorf("the next poll tells it all again: %d events", again)
			}
		})
	}
}

// refuse makes the database refuse rows.
func (b *bench) refuse(table, condition string) {
	b.exec("ALTER TABLE control." + table + " ADD CONSTRAINT refused CHECK (NOT (" + condition + "))")
}

// What a server says of an entry may be invalid: then it ends so, is not fetched,
// and is told of once.
func TestAnInvalidEntryIsRejected(t *testing.T) {
	b := newBench(t)
	b.once = true
	invalid := remote.Entry{Name: good, Size: -1, Invalid: "listing_entry_invalid", Message: "its size is no number"}
	b.server.dirs["add"] = []remote.Entry{invalid, {Name: good2, Size: 1}, {Name: "x", Invalid: "listing_entry_invalid"}}
	b.listing()
	b.says("file "+good2+" zip_name done", "hosting "+good2+" look 1 present", "discovered "+good2+" look 1 new",
		"file "+good+" zip_name failed listing_entry_invalid", "hosting "+good+" look 1 gone listing_entry_invalid", "task done")
	b.listing()
	b.says("task done")
	// It is valid now, and then not again: plan is told that it can't be had.
	b.server.dirs["add"][0] = remote.Entry{Name: good, Size: 5}
	b.listing()
	b.says("file "+good+" zip_name done", "hosting "+good+" look 2 present", "discovered "+good+" look 2 new", "task done")
	b.server.dirs["add"][0] = invalid
	b.listing()
	b.says("discovered "+good+" look 3 gone", "hosting "+good+" look 3 gone listing_entry_invalid", "task done")
	if got := b.text("SELECT exception FROM control.file WHERE name = $1", good); got != "" {
		t.Errorf("what one server says is held against the file: %s", got)
	}
}

// The texts and names that a poll tells are bounded, so that its event always
// fits; what can't be told all the same does not keep the poll from ending.
func TestThePollsEventAlwaysFits(t *testing.T) {
	b := newBench(t)
	b.cfg.Attempts = 1
	long := noise(1 << 16)
	for i := range 2 * b.cfg.MaxIgnored {
		b.server.dirs["add"] = append(b.server.dirs["add"], remote.Entry{Name: fmt.Sprint(i) + long})
	}
	b.cfg.MaxListingBytes = 1 << 30
	b.server.fail = &remote.Error{Op: "list", Err: errors.New(noise(5<<20) + "\x00\xff\u202e\x1b[31m")}
	b.listing()
	rows := b.text("SELECT octet_length(message) <= 1000 FROM control.poll")
	if rows != "true" {
		t.Error("the text that is kept is not bounded")
	}
	for _, m := range b.events() {
		r, err := b.deps.Outbox.Codec.Encode(m)
		if err != nil || len(r.Value) > 16<<10 {
			t.Errorf("an event of a poll has %d bytes, %v", len(r.Value), err)
		}
	}
	b.server.fail = nil
	b.listing()
	if got := b.ended(); got != "complete " {
		t.Fatalf("the poll ended %s", got)
	}
	if got := b.text("SELECT count(*), max(octet_length(name)) <= 1024 FROM control.ignored"); got != "1000 true" {
		t.Errorf("what is ignored is kept as %s", got)
	}
	if got := b.text("SELECT ignored FROM control.source"); got != "2000" {
		t.Errorf("%s are counted", got)
	}
}

func TestAPollThatCantBeToldEndsAsFailed(t *testing.T) {
	b := newBench(t)
	b.once = true
	b.refuse("poll", "state = 'complete'")
	b.server.show(good, 10)
	b.listing()
	if got := b.ended(); got != "failed poll_unrecorded" {
		t.Errorf("the poll ended %s", got)
	}
}

func TestAPollTakenAgainAndAgainIsGivenUp(t *testing.T) {
	b := newBench(t)
	b.session()
	b.exec("UPDATE control.poll SET attempts = $1", b.cfg.Attempts+maxTaken)
	p, ok := b.take()
	if !ok {
		t.Fatal("no poll can be taken")
	}
	b.one(t.Context(), p)
	if got := b.ended(); got != "failed poll_unrecorded" {
		t.Errorf("the poll ended %s", got)
	}
}

// A base that is not there, or from which directories have gone that held files,
// concludes nothing, however often it is listed; what is there and empty does.
func TestWhatIsNotMountedIsNotGone(t *testing.T) {
	for _, tt := range []struct {
		name  string
		away  func(b *bench)
		ended string
		state string // of the files that add held
	}{
		{"the base is missing", func(b *bench) { b.server.dirs, b.server.bare = nil, true }, "failed base_missing", "present"},
		{"the base is missing as one connects", func(b *bench) { b.server.dial = remoteMissing() }, "failed base_missing", "present"},
		{"the base is empty", func(b *bench) { b.server.dirs = nil }, "broken_off base_emptied", "present"},
		{"one directory is missing", func(b *bench) { delete(b.server.dirs, "add") }, "broken_off directory_missing", "present"},
		{"one that held nothing is missing", func(b *bench) { delete(b.server.dirs, "delete") }, "complete ", "present"},
		{"a directory is empty", func(b *bench) { b.server.dirs["add"] = nil }, "complete ", "gone"},
		{"all are empty", func(b *bench) { b.server.dirs["add"], b.server.dirs["edit"] = nil, nil }, "complete ", "gone"},
		{"the base is empty, and may be", func(b *bench) { b.server.dirs = nil; b.mayBeEmpty() }, "complete ", "gone"},
		{"one directory is missing, and may be", func(b *bench) { delete(b.server.dirs, "add"); b.mayBeEmpty() }, "complete ", "gone"},
		{"the base is missing, though it may be empty", func(b *bench) { b.server.dirs, b.server.bare = nil, true; b.mayBeEmpty() }, "failed base_missing", "present"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			b.once = true
			b.server.dirs = map[string][]remote.Entry{"add": {{Name: good, Size: 1}}, "edit": {{Name: good2, Size: 1}}, "delete": nil}
			b.listing()
			tt.away(b)
			for range b.cfg.GoneAfter + 1 {
				b.listing()
				if got := b.ended(); got != tt.ended {
					t.Fatalf("the poll ended %s, want %s", got, tt.ended)
				}
			}
			if got := b.text("SELECT state FROM control.hosting WHERE action = 'add'"); got != tt.state {
				t.Errorf("the file is %s, want %s", got, tt.state)
			}
		})
	}
	t.Run("nothing was ever there", func(t *testing.T) {
		b := newBench(t)
		b.server.dirs = nil
		b.listing()
		if got := b.ended(); got != "complete " {
			t.Errorf("the poll ended %s", got)
		}
	})
}

func (b *bench) mayBeEmpty() {
	src := b.defined()
	src.MayBeEmpty = true
	b.define(src)
}

// remoteMissing is what a connector answers whose base is a local directory that
// is not there.
func remoteMissing() error {
	_, err := connectors.All().Dial(context.Background(), remote.Config{URL: "file:///nowhere/at/all"})
	return err
}

// Whoever holds the polls of one server holds half the slots, and never a
// connection that a lease needs.
func TestAServerHasItsShareOfTheSlots(t *testing.T) {
	s := newSlots(4)
	var ends []func()
	for range 2 {
		if !s.wait(t.Context()) {
			t.Fatal("no slot")
		}
		ends = append(ends, s.occupy("slow:22"))
	}
	if d := cmp.Diff([]string{"slow:22"}, s.full()); d != "" {
		t.Errorf("servers that are full (- want, + got):\n%s", d)
	}
	ends[0]()
	if got := s.full(); len(got) != 0 {
		t.Errorf("%v are full when one of the share is free", got)
	}
	if got := newSlots(1).full(); len(got) != 0 {
		t.Error("with one slot nothing is polled")
	}
}

// A server that never answers, with as many sources as there are slots, does not
// keep another's from being listed.
func TestASlowServerLeavesSlotsToOthers(t *testing.T) {
	b := newBench(t)
	b.once = true
	b.server.show(good, 10)
	b.define(config.Source{ID: "src", Centre: "H", URL: "sftp://u@good/x"})
	b.exec("UPDATE control.source SET server = 'good:22'")
	for i := range 8 {
		id := fmt.Sprintf("slow%d", i)
		b.exec(`INSERT INTO control.source (id, centre, server, protocol, url, max_sessions, poll_interval, state, revision) VALUES ($1, 'H', 'slow:22', 'sftp', '', 100, '1 hour', 'available', 1)`, id)
		b.define(config.Source{ID: id, Centre: "H", URL: "sftp://u@slow/" + id})
	}
	b.session()
	b.exec("UPDATE control.poll SET server = 'good:22'")
	b.exec(`INSERT INTO control.poll (id, session, source, server, centre, state, not_before) SELECT gen_random_uuid(), n.id, s.id, s.server, 'H', 'due', $1 FROM control.source s, control.session n WHERE s.id <> 'src'`, noon.Add(-time.Hour))
	slow := &server{dirs: map[string][]remote.Entry{"add": nil}, hang: true}
	b.deps.Dial = func(_ context.Context, c remote.Config) (remote.Session, error) {
		if strings.Contains(c.URL, "slow") {
			return slow, nil
		}
		return b.server, nil
	}
	b.runUntil("SELECT state FROM control.poll WHERE source = 'src'", "complete", func() {
		if got := b.text("SELECT count(*) FROM control.poll WHERE source <> 'src' AND state = 'running'"); got != "3" {
			t.Errorf("the slow server has %s polls running, of which there are %d at once", got, b.atOnce())
		}
	})
}

// runUntil runs the poller until a statement gives what is wanted.
func (b *bench) runUntil(sql, want string, then func()) {
	b.t.Helper()
	ctx, cancel := context.WithCancel(b.t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx) }()
	deadline, stop := context.WithTimeout(b.t.Context(), wait.Patience())
	defer stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for b.text(sql) != want {
		select {
		case <-deadline.Done():
			b.t.Fatalf("%s never gives %q, but %q", sql, want, b.text(sql))
		case <-tick.C:
		}
	}
	then()
	cancel()
	if err := <-ended; err != nil {
		b.t.Error(err)
	}
}

// More polls than connections would keep each other's leases from being renewed.
func TestPollsLeaveConnectionsForLeases(t *testing.T) {
	b := newBench(t)
	b.cfg.Parallelism = 100
	if got := b.atOnce(); got != 6 {
		t.Errorf("%d polls at once with 8 connections", got)
	}
	cfg := b.deps.Pool.Config()
	cfg.MaxConns = 1
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	b.deps.Pool = pool
	if got := b.atOnce(); got != 1 {
		t.Errorf("%d polls at once with one connection", got)
	}
}

// Recording that takes too long ends as broken off; what is recorded stays.
func TestRecordingTooLongIsBrokenOff(t *testing.T) {
	wait.Longer(t, time.Second, func(limit time.Duration) error { return recordingTooLong(t, limit) })
}

// recordingTooLong has somebody hold what a poll is to write for as long as it may take.
func recordingTooLong(t *testing.T, limit time.Duration) error {
	t.Helper()
	b := newBench(t)
	b.once = true
	b.server.show(good, 10)
	b.cfg.Timeout = config.Duration(limit)
	b.session()
	p, _ := b.take()
	// Someone holds what is to be written.
	tx, err := b.deps.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "LOCK TABLE control.file"); err != nil {
		t.Fatal(err)
	}
	b.one(t.Context(), p)
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := b.ended(); got != "broken_off poll_timed_out" {
		return fmt.Errorf("the poll ended %s", got)
	}
	return nil
}
