package poll

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tributary/internal/config"
	"tributary/internal/remote/connectors"
	"tributary/sql/control"
	"tributary/test/wait"
)

// A local directory in which something changes is due at once, an hour before its
// interval is over; another is not, and whatever else is there stays as it is.
func TestAChangeWakesALocalSource(t *testing.T) {
	t.Parallel()
	b := newLocalBench(t)
	if got := b.listing(); got != "complete" {
		t.Fatal(got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- b.Wake(ctx) }()
	t.Cleanup(func() { cancel(); <-done })

	known := func() string {
		return b.text("SELECT coalesce(string_agg(name || ' ' || state, ',' ORDER BY name), '') FROM control.hosting")
	}
	b.put(good)
	b.wakes()
	if got := known(); got != "" {
		t.Fatalf("a hint alone makes known %s", got)
	}
	if got := b.listing(); got != "complete" || known() != good+" present" {
		t.Fatalf("the poll that is woken ends %s and knows %s", got, known())
	}

	// Removed and made anew: nothing is concluded, and what comes there is seen.
	for range 3 {
		b.rests()
		if err := os.RemoveAll(b.root); err != nil {
			t.Fatal(err)
		}
		b.wakes()
		if got := b.listing(); got != "failed" {
			t.Fatalf("without a directory the poll ends %s", got)
		}
		b.rests()
		b.put(good2)
		b.wakes()
	}
	if got := known(); got != good+" present" {
		t.Errorf("as directories came and went hints alone make known %s", got)
	}
}

type localBench struct {
	*bench
	root string
}

func newLocalBench(t *testing.T) localBench {
	t.Helper()
	b := localBench{newBench(t), filepath.Join(t.TempDir(), "base")}
	b.once = true
	b.deps.Dial = connectors.All().Dial
	b.cfg.Attempts, b.cfg.Settle = 1, 0
	if err := os.MkdirAll(filepath.Join(b.root, "add"), 0o755); err != nil {
		t.Fatal(err)
	}
	b.define(config.Source{ID: "src", Centre: "H", URL: "file://" + b.root})
	b.exec("UPDATE control.source SET protocol = 'file', url = $1", "file://"+b.root)
	b.rests()
	return b
}

func (b localBench) put(name string) {
	b.t.Helper()
	if err := os.MkdirAll(filepath.Join(b.root, "add"), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.root, "add", name), []byte("bytes"), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// rests has the source due in an hour.
func (b localBench) rests() {
	b.t.Helper()
	b.exec("UPDATE control.source SET next_due = $1", b.now.Add(time.Hour))
}

// wakes waits until it is due.
func (b localBench) wakes() {
	b.t.Helper()
	over := time.NewTimer(wait.Patience())
	defer over.Stop()
	for b.text("SELECT next_due <= $1 FROM control.source", b.now) != "true" {
		select {
		case <-over.C:
			b.t.Fatal("the source is not due")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// What may be woken, and what keeps to what was ordered for it.
func TestWhatWakes(t *testing.T) {
	t.Parallel()
	b := newLocalBench(t)
	for _, tt := range []struct {
		name, set    string
		woken, early bool
	}{
		{"by its interval", "state = 'available'", true, true},
		{"due before that", "next_due = '-infinity'", true, true},
		{"with a cron expression", `definition = definition || '{"cron": "0 3 * * *"}'`, true, false},
		{"polled once, and at rest", `next_due = 'infinity', definition = definition || '{"cron": "@once"}'`, true, false},
		{"suspended", "state = 'suspended'", true, false},
		{"in maintenance", "state = 'maintenance'", true, false},
		{"removed", "state = 'removed'", true, false},
		{"of another protocol", "protocol = 'sftp'", true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := b
			b.t = t
			b.define(config.Source{ID: "src", Centre: "H", URL: "file://" + b.root})
			b.exec("UPDATE control.source SET state = 'available', protocol = 'file'")
			b.rests()
			b.exec("UPDATE control.source SET " + tt.set)
			woken, err := control.Wake(t.Context(), b.deps.Pool, "src", b.now)
			if early := b.text("SELECT next_due <= $1 FROM control.source", b.now); err != nil || woken != tt.woken || early != fmt.Sprint(tt.early) {
				t.Errorf("woken %v, early %s, %v", woken, early, err)
			}
		})
	}
}

// One that is being polled is woken later: that it is due meanwhile would be an overrun.
func TestWhatIsPolledWakesLater(t *testing.T) {
	t.Parallel()
	b := newLocalBench(t)
	b.session()
	for _, state := range []string{"due", "running"} {
		b.exec("UPDATE control.poll SET state = $1", state)
		if woken, err := control.Wake(t.Context(), b.deps.Pool, "src", b.now); err != nil || woken {
			t.Errorf("while its poll is %s it is woken: %v %v", state, woken, err)
		}
	}
	b.exec("UPDATE control.poll SET state = 'complete'")
	if woken, err := control.Wake(t.Context(), b.deps.Pool, "src", b.now); err != nil || !woken {
		t.Errorf("once it is polled it is not woken: %v %v", woken, err)
	}
}
