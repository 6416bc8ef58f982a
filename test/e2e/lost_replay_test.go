package e2e

import (
	"strings"
	"testing"

	"tributary/internal/engine"
	"tributary/test/corpus"
	"tributary/test/rig"
)

// Control is lost, with kill -9 of everything, while a replay is under way and
// another is done: both come back. What is known of the first is finished, no
// number is given again, and the warehouse is as before.
func TestReplaysAreRestored(t *testing.T) {
	t.Parallel()
	campaignOfLoss(t)
	s := setUp(t, corpus.Options{Seed: seed(t), Shape: corpus.Demo}, rig.Options{Local: true, Extra: shortLeases})
	s.once()
	var before outcome
	s.engines(func(engine.Endpoints) {
		before = s.outcome()
		s.replay("--from", "xsd", "--where", "version IS NOT NULL", "--reason", "the first")
	})
	s.once()
	var done replayRow
	s.engines(func(engine.Endpoints) {
		done = s.replays()[0]
		s.replay("--from", "unzip", "--where", "version IS NOT NULL", "--reason", "the second", "--rate", "5")
	})
	p := s.start("up", "--once")
	if !s.reached(p, `SELECT count(*) FILTER (WHERE a.state = 'ended') > 3 AND count(*) FILTER (WHERE a.state <> 'ended') > 0
		FROM control.acquisition a JOIN control.replay r ON r.id = a.run WHERE r.number = 2`) {
		t.Fatalf("the round ended before the replay was half done\n%s", p.tail())
	}
	p.kill(true)
	s.engines(func(at engine.Endpoints) {
		s.dropSchema(at, "control")
		out := s.ask("control", "restore")
		t.Log(out)
		if !strings.Contains(out, "replay 2 ") || !strings.Contains(out, "2 replays") {
			t.Errorf("restore says nothing of the replays:\n%s", out)
		}
		s.ask("replay", "resume", "2")
	})
	s.once()
	s.engines(func(engine.Endpoints) {
		all := s.replays()
		if len(all) != 2 || all[1].State != "done" || all[1].Waiting > 0 || all[1].Complete == 0 || all[1].Reason != "the second" {
			t.Fatalf("the replays are %+v", all)
		}
		// What was refused is told nowhere.
		done.Items, done.Refused, done.Documents, all[0].Documents = done.Items-done.Refused, 0, 0, 0
		differ(t, "the replay that was done", []replayRow{done}, all[:1])
		s.unchanged("replays of which control was lost", before)
		s.compare(s.see(), false)
		s.invariants()
		s.proven()
		s.replay("--from", "upload", "--where", "version IS NOT NULL")
		if all := s.replays(); len(all) != 3 || all[2].Replay != 3 {
			t.Errorf("the replays are %+v, want a third", all)
		}
	})
	s.once()
	s.engines(func(engine.Endpoints) {
		s.unchanged("a replay that was asked for afterwards", before)
	})
	s.insertedOnce()
}
