package e2e

import (
	"testing"

	"tributary/internal/engine"
	"tributary/test/corpus"
	"tributary/test/rig"
)

// Files that come after the only poll of a long while are announced by hand, and are
// ingested to their end without another poll.
func TestFilesAreAnnouncedByHand(t *testing.T) {
	t.Parallel()
	s := setUp(t, corpus.Options{Seed: seed(t), Shape: corpus.Small}, rig.Options{Local: true, Extra: "schedule:\n  interval: 24h\n  jitter: 0\nsequence:\n  late_limit: 1s\npoll:\n  settle: 0s\n"})
	s.engines(func(engine.Endpoints) {
		members := s.members("schedule plan publish poll", "download unzip validate", "sequence insert tracker history")
		s.settled(members...)
		known := map[string]bool{}
		for _, f := range s.corpus.Oracle.Files {
			known[f.Action+"/"+f.File] = true
		}
		s.add(4)
		for _, source := range s.corpus.Sources {
			words := []string{"files", "announce", source.ID}
			for _, f := range s.corpus.Oracle.Files {
				for _, id := range f.Sources {
					if path := f.Action + "/" + f.File; id == source.ID && !known[path] {
						words = append(words, path)
					}
				}
			}
			if len(words) > 3 {
				s.ask(words...)
				s.ask(words...) // said again it changes nothing
			}
		}
		s.settled(members...)
		for _, m := range members {
			m.stop()
		}
	})
	s.once()
	s.expect(false)
}
