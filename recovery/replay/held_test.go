//go:build !race

package replay

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"tributary/internal/profile"
	"tributary/schemas"
	"tributary/sql/control"
)

// A member that judges by another profile than a shadow did leaves its promotion
// to others, and says so, not always; nobody waits for it with --once. Replays
// that promote nothing are taken up whatever the profile is.
func TestAPromotionWaitsForItsProfile(t *testing.T) {
	m := newBench(t)
	var log strings.Builder
	m.runner.Log = slog.New(slog.NewTextHandler(&log, nil))
	d := m.inserted("f.zip", 1, "an archive")
	shadow := m.shadowed(schemas.FromUnzip, "try", version("f.zip", d.SHA256))
	m.finish(m.turns())
	compared := profile.Versions{Unzip: "u", XSD: map[string]string{"specimen": "x"}, Upload: map[string]string{"specimen": "m"}, Data: "d"}
	text, err := json.Marshal(compared)
	if err != nil {
		t.Fatal(err)
	}
	r := &control.ReplayRun{ID: uuid.NewString(), Phase: schemas.FromUnzip, Promotes: shadow.ID, By: "another", Reason: "agreed", Versions: text}
	items := []control.ReplayItem{version("f.zip", d.SHA256)}
	if _, err := m.manager.Request(t.Context(), r, func() (i control.ReplayItem, ok bool, err error) {
		if len(items) > 0 {
			i, items, ok = items[0], nil, true
		}
		return i, ok, nil
	}); err != nil {
		t.Fatal(err)
	}
	m.Drain()
	others := map[string]profile.Versions{"u": compared, "x": compared, "d": compared}
	for part, v := range others {
		switch part {
		case "u":
			v.Unzip = "of before"
		case "x":
			v.XSD = map[string]string{"specimen": "of before"}
		default:
			v.Data = "of before"
		}
		m.runner.Versions = &v
		if out := m.turns(); len(out) > 0 {
			t.Fatalf("a member with another %s publishes %d events of it", part, len(out))
		}
	}
	if n := strings.Count(log.String(), "waits"); n != 1 {
		t.Errorf("it is logged %d times, want once a minute:\n%s", n, log.String())
	}
	held, err := control.ReadReplayRun(t.Context(), m.Pool, r.ID)
	if err != nil || held.State != control.ReplayRunning || !strings.Contains(held.Held, "another profile") {
		t.Errorf("it is %s, held by %q (%v)", held.State, held.Held, err)
	}
	left, err := control.Pending(t.Context(), m.Pool)
	if err != nil || left.Replays != 0 {
		t.Errorf("%d of its files are waited for (%v)", left.Replays, err)
	}
	m.Clock = m.Clock.Add(2 * time.Minute)
	if m.turns(); strings.Count(log.String(), "waits") != 2 {
		t.Errorf("it is not logged again:\n%s", log.String())
	}

	// One with the shadow's profile does it.
	m.runner.Versions = &compared
	out := m.turns()
	if again := bodies[schemas.DownloadFinished](out); len(again) != 1 || again[0].Run != r.ID {
		t.Fatalf("published: %+v", again)
	}
	m.finish(out)
	if done, err := control.ReadReplayRun(t.Context(), m.Pool, r.ID); err != nil || done.State != control.ReplayDone || done.Held != "" {
		t.Errorf("it is %s, held by %q (%v)", done.State, done.Held, err)
	}
	m.runner.Versions = &profile.Versions{}
	m.ask(schemas.FromUnzip, 0, version("f.zip", d.SHA256))
	if again := bodies[schemas.DownloadFinished](m.turns()); len(again) != 1 {
		t.Errorf("a replay that promotes nothing publishes %d files", len(again))
	}
}
