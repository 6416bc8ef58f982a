package notify

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"tributary/internal/config"
	"tributary/internal/stage/member"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/sql/control/controltest"
	"tributary/sql/outbox"
	"tributary/test/members"
	"tributary/test/receiver"
)

// withControl is the role, which does not run, on a database of control.
func (b *bench) withControl(t *testing.T, c config.Notify) (*Notify, *pgxpool.Pool) {
	t.Helper()
	pool := controltest.Open(t, 2)
	registry := prometheus.NewRegistry()
	n, err := New(c, Deps{Connect: b.Factory(), Codec: b.Codec, Prefix: members.Prefix, Log: members.Logger(t), Now: b.now, Registry: registry, Metrics: member.NewMetrics(registry),
		Control: pool, Outbox: outbox.Outbox{Schema: control.Schema, Codec: b.Codec}})
	if err != nil {
		t.Fatal(err)
	}
	return n, pool
}

// A dead letter that somebody has retried is told again, and it is known how that ended:
// told, refused, nobody to tell, or away for too long. Until then it waits.
func TestDeadLettersAreToldAgain(t *testing.T) {
	b, h := newBench(t, 1), receiver.NewHook(t)
	status := http.StatusUnprocessableEntity
	h.Answer(func(receiver.Told) int { return status })
	c := configured(hook(t, "ops", h))
	stop := b.start(t, c)
	b.fail(3, 1)
	members.Eventually(t, "all are set aside", func() bool { return b.End(b.letters, 0) == 3 })
	stop()
	n, pool := b.withControl(t, c)
	order := func(place string) string {
		t.Helper()
		id := schemas.ID("letter", place)
		if err := control.OrderNotice(t.Context(), pool, control.DeadLetter{ID: id, Place: place, Stage: Name, Lineage: id, Retry: control.Decision{By: "me", Reason: "try", At: b.now()}}); err != nil {
			t.Fatal(err)
		}
		return id
	}
	again := func(id, want string) {
		t.Helper()
		if err := n.again(t.Context()); err != nil {
			t.Fatal(err)
		}
		all, err := control.DeadLetters(t.Context(), pool, []string{id})
		if err != nil {
			t.Fatal(err)
		}
		if got := all[id].State + ": " + all[id].Failed; got != want {
			t.Errorf("%s is %q, want %q", all[id].Place, got, want)
		}
	}
	status = http.StatusServiceUnavailable
	first := order("notify:0:0")
	again(first, "under_way: ")
	status = http.StatusOK
	again(first, "completed: ")
	again(first, "completed: ")
	if n := len(h.Told()); n != 1 {
		t.Errorf("%d notices were told, want 1", n)
	}
	status = http.StatusUnprocessableEntity
	again(order("notify:0:1"), "failed: the webhook answers with HTTP status 422")
	status = http.StatusServiceUnavailable
	third := order("notify:0:2")
	again(third, "under_way: ")
	b.turn(24 * time.Hour)
	again(third, "failed: the webhook answers with HTTP status 503")
	again(order("notify:0:3"), "failed: the letter is not in its topic any more")
	n.senders["ops"].rules = nil
	again(order("notify:0:1"), "failed: no rule of the configuration tells it to ops any more")
	n.senders = nil
	again(order("notify:0:1"), `failed: the configuration has no target "ops" that is told at once`)
}

// That a source is late is told as an event, once for each time that it is.
func TestALateSourceIsToldOnce(t *testing.T) {
	b := newBench(t, 1)
	n, pool := b.withControl(t, config.Notify{})
	if _, err := pool.Exec(t.Context(), `INSERT INTO control.source (id, centre, server, protocol, url, max_sessions, poll_interval, state, revision) VALUES ('harwell', 'H', 's', 'sftp', '', 1, '1 hour', 'available', 1)`); err != nil {
		t.Fatal(err)
	}
	last := time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC)
	n.deps.Late = func(context.Context) ([]Overdue, error) {
		return []Overdue{{"harwell", last, "nothing new since Friday"}, {"removed", last, ""}}, nil
	}
	told := func(want int) {
		t.Helper()
		if err := n.late(t.Context()); err != nil {
			t.Fatal(err)
		}
		var got int
		if err := pool.QueryRow(t.Context(), "SELECT count(*) FROM control.outbox").Scan(&got); err != nil || got != want {
			t.Errorf("%d events were told, want %d: %v", got, want, err)
		}
	}
	told(1)
	told(1)
	last = last.Add(24 * time.Hour)
	told(2)
}

// A centre is sent the summary of each week once; one that can't be sent comes again, and
// keeps no other centre's from being sent.
func TestWeeksAreSentOnce(t *testing.T) {
	b, mail := newBench(t, 1), receiver.NewMailbox(t, false)
	path := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(path, []byte(mail.Password), 0o600); err != nil {
		t.Fatal(err)
	}
	n, _ := b.withControl(t, config.Notify{SMTP: config.SMTP{Server: mail.Addr, TLS: config.TLSStart, From: "tributary@example.org", Username: mail.Username, Password: config.Secret("file:" + path), CAFile: mail.CA}})
	week := Week{Centre: "H", Email: "h@example.org", Name: "2026-W47", Title: "3 files", Text: "3 files came.\n"}
	n.deps.Weeks = func(context.Context) ([]Week, error) {
		return []Week{{Centre: "J", Email: "no address", Name: "2026-W47"}, week}, nil
	}
	sent := func(want ...string) {
		t.Helper()
		if err := n.weekly(t.Context()); err == nil {
			t.Error("nobody hears that the address of J is none")
		}
		var got []string
		for _, l := range mail.Letters() {
			got = append(got, l.Subject+"|"+l.Text)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
	const end = "\n-- \nTo get no more of these, write so to tributary@example.org.\n"
	first := "H, 2026-W47: 3 files|3 files came.\n" + end
	sent(first)
	sent(first)
	week.Name = "2026-W48"
	sent(first, "H, 2026-W48: 3 files|3 files came.\n"+end)
}
