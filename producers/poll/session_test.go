package poll

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/test/wait"
)

// ends are how sessions stand whose events are in the outbox.
func (b *bench) ends() (out []string) {
	b.t.Helper()
	for _, m := range b.events() {
		if e, is := m.Body.(*schemas.StatusChanged); is && e.Entity == schemas.EntitySession {
			out = append(out, fmt.Sprintf("session %d %s of %s to %s, key %t", e.Number, e.Status, e.StartedAt.Format(time.TimeOnly), e.FinishedAt.Format(time.TimeOnly), m.Key == e.Session))
		}
	}
	return out
}

// A session of which nothing comes into the order closes with its last poll, and has no
// position there, if one was given within the heartbeat. One that found something, or whose
// poll failed, ends in the order; so does one round that a person waits for, behind all
// that was ordered before.
func TestASessionThatFoundNothingClosesWithItsLastPoll(t *testing.T) {
	for _, tc := range []struct {
		name   string
		before func(*bench)
		given  time.Duration // when the last position was given, from when the poll ends
		closes bool
	}{
		{name: "shortly before the heartbeat is over", given: time.Millisecond - control.Heartbeat, closes: true},
		{name: "when it is over", given: -control.Heartbeat},
		{name: "by a clock that is ahead", given: time.Millisecond},
		{name: "an empty source", closes: true},
		{name: "as it was", before: func(b *bench) {
			b.server.show(good, 10)
			b.listing()
			b.exec("UPDATE control.look SET class = 'taken'")
		}, closes: true},
		{name: "a name that is none", before: func(b *bench) { b.server.show("H-1.zip", 10); b.listing() }, closes: true},
		{name: "a new file", before: func(b *bench) { b.server.show(good, 10) }},
		{name: "one that still grows", before: func(b *bench) { b.cfg.Settle = 60e9; b.server.show(good, 10) }},
		{name: "one round", before: func(b *bench) { b.once = true }},
		{name: "a poll that fails", before: func(b *bench) { b.cfg.Attempts = 1; b.server.fail = errors.New("the line broke") }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t)
			b.cfg.Settle = 0
			if tc.before != nil {
				tc.before(b)
			}
			b.now = b.now.Add(time.Minute)
			b.exec("UPDATE control.position SET given_at = $1", b.now.Add(tc.given))
			b.listing()
			var want []string
			if tc.closes {
				want = []string{fmt.Sprintf("session %d done of 12:01:00 to 12:01:00, key true", b.number)}
			}
			if got := b.ends(); !slices.Equal(got, want) {
				t.Errorf("told of sessions: %q, want %q", got, want)
			}
			if got := b.text("SELECT polls_ended_at IS NOT NULL, closed_at IS NOT NULL, end_position IS NULL FROM control.session WHERE number = $1", b.number); got != fmt.Sprint("true ", tc.closes, " true") {
				t.Errorf("polled, closed, without a position: %s", got)
			}
		})
	}
}

// What one of a session's polls found keeps it open, whichever ends last, and so does a
// batch of it that is out; a poll that is not the last closes nothing.
func TestASessionIsNotEmptyByItsLastPoll(t *testing.T) {
	b := newBench(t)
	b.exec("UPDATE control.position SET given_at = $1", b.now)
	b.exec("INSERT INTO control.source (id, centre, server, protocol, url, accesskey, max_sessions, poll_interval, state, revision, declared_state, definition) SELECT 'two', centre, server, protocol, url, accesskey, max_sessions, poll_interval, state, revision, declared_state, definition FROM control.source")
	closed := func() string {
		t.Helper()
		return b.text("SELECT polls_ended_at IS NOT NULL, closed_at IS NOT NULL FROM control.session WHERE number = $1", b.number)
	}
	ended := func(p control.Poll) {
		t.Helper()
		err := pg.InTx(t.Context(), b.deps.Pool, func(tx pgx.Tx) error {
			if err := control.EndPoll(t.Context(), tx, p, "complete", "", "", b.now); err != nil {
				return err
			}
			_, err := control.CloseEmpty(t.Context(), tx, p, b.now)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, found := range []string{
		"",
		"INSERT INTO control.look (source, file, look, session, domain, centre, size, listed_at, class) SELECT 'src', f.id, 1, s.id, 'H', 'H', 1, now(), 'announced' FROM control.file f, control.session s WHERE s.number = $1",
		"INSERT INTO control.batch (id, session, domain, opened_at, number, released_at, last_position, run) SELECT gen_random_uuid(), s.id, 'H', now(), 1, now(), 1, '" + schemas.LiveRun + "' FROM control.session s WHERE s.number = $1",
	} {
		b.exec("DELETE FROM control.look")
		b.exec("INSERT INTO control.file (id, name, action, centre, exception, message) VALUES ($1, $2, 'add', 'H', '', '') ON CONFLICT DO NOTHING", schemas.FileID("add", good), good)
		id := b.session()
		b.exec("INSERT INTO control.poll (id, session, source, server, centre, state) VALUES ($1, $2, 'two', 'host:22', 'H', 'due')", schemas.ID("poll", id, "two"), id)
		first, _ := b.take()
		second, ok := b.take()
		if !ok {
			t.Fatal("the second poll can't be taken")
		}
		if found != "" {
			b.exec(found, b.number)
		}
		ended(first)
		if got := closed(); got != "false false" {
			t.Errorf("%.40s: after its first poll the session is polled, closed: %s", found, got)
		}
		ended(second)
		if got := closed(); got != fmt.Sprint("true ", found == "") {
			t.Errorf("%.40s: after its last poll the session is polled, closed: %s", found, got)
		}
	}
}

// A poller that rests looks for polls when it hears that a session was opened.
func TestAPollerHearsOfOpenedSessions(t *testing.T) {
	b := newBench(t)
	opened := make(chan struct{})
	b.deps.Opened = opened
	ctx, cancel := context.WithTimeout(t.Context(), wait.Patience())
	done := make(chan error, 1)
	go func() { done <- b.Run(ctx) }()
	for range 2 { // the second is heard behind the look of the first
		select {
		case opened <- struct{}{}:
		case <-ctx.Done():
			t.Error("nobody hears")
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
