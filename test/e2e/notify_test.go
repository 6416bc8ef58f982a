package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"tributary/test/corpus"
	"tributary/test/receiver"
	"tributary/test/rig"
)

// A webhook of a run that was killed while it was told, and of the one that went on, was
// told each document that was loaded at least once, and those of each file first in the
// order in which they were loaded.
func TestAKilledRunTellsEverything(t *testing.T) {
	t.Parallel()
	h := receiver.NewHook(t)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(receiver.Secret), 0o600); err != nil {
		t.Fatal(err)
	}
	s := setUp(t, corpus.Options{Seed: seed(t), Shape: corpus.Small}, rig.Options{Local: true, Extra: shortLeases + `notify:
  targets:
    - {id: ops, webhook: "` + h.URL + `", secret: "file:` + secret + `"}
  rules:
    - {when: phase_reached, phase: upload, to: [ops]}
`})
	p := s.start("up", "--once")
	eventually(t, onceWithin, func() string {
		if len(h.Told()) < 3 {
			return "little was told"
		}
		return ""
	})
	t.Logf("killed with %d notices told: %t", len(h.Told()), p.kill(true))
	s.once()

	type loaded struct {
		Event, Subject string
		Position       int64
	}
	want := map[string]loaded{}
	for _, e := range sql[loaded](s, "history", "SELECT toString(event_id) AS event, action || '/' || file_name AS subject, position FROM once WHERE entity = 'document' AND phase = 'upload' AND status = 'done'") {
		want[e.Event] = e
	}
	if len(want) == 0 {
		t.Fatal("nothing was loaded")
	}
	seen, last := map[string]bool{}, map[string]int64{}
	for _, told := range h.Told() {
		event, _ := told.Data["event"].(string)
		e, ok := want[event]
		switch {
		case !ok:
			t.Errorf("%s was told, which did not happen: %s", event, told.Raw)
		case !seen[event] && e.Position < last[e.Subject]:
			t.Errorf("%s: position %d was told after %d", e.Subject, e.Position, last[e.Subject])
		}
		seen[event] = true
		last[e.Subject] = max(last[e.Subject], e.Position)
	}
	if len(seen) != len(want) {
		t.Errorf("of %d documents that were loaded %d were told", len(want), len(seen))
	}
}
