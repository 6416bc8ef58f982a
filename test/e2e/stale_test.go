package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tributary/internal/engine"
	"tributary/test/corpus"
	"tributary/test/rig"
)

// ranRow is a file of which a replay has told something of a document.
type ranRow struct{ Action, File string }

// After a change of the profile, replay --stale means exactly the files that it
// affects, and when that has run nothing is stale any more: a mapping, a schema, a
// check.
func TestStale(t *testing.T) {
	t.Parallel()
	shape := replayShape(t, false)
	s := setUp(t, corpus.Options{Seed: seed(t), Shape: shape}, rig.Options{Local: true, Extra: lively})
	s.once()
	profile := ""
	s.engines(func(engine.Endpoints) {
		s.expectStale("nothing is stale")
		profile = s.ownProfile()
		s.expectStale("nothing is stale") // it is the same
	})
	const was, is = `stage: "@stage"`, `stage: "@specimenID"`
	s.edit(filepath.Join(profile, "profile.yaml"), was, is)
	s.replayStale("upload", func(d documentRow) bool {
		return strings.Contains(d.Document, ".specimen.") && slices.Contains(loadedPhases(), d.Phase)
	})
	s.engines(func(engine.Endpoints) {
		s.expectStale("nothing is stale")
		type stages struct{ Embryos, Otherwise int64 }
		for _, got := range sql[stages](s, "warehouse", `SELECT count(*) AS embryos, count(*) FILTER (WHERE stage <> specimen_id) AS otherwise FROM warehouse.current_specimen WHERE kind = 'embryo'`) {
			if got.Embryos == 0 || got.Otherwise > 0 {
				t.Errorf("%d of %d embryos have the stage that they had", got.Otherwise, got.Embryos)
			}
		}
	})
	s.edit(filepath.Join(profile, "xsd", "specimen.xsd"), looseZygosity, tightZygosity)
	s.replayStale("xsd", func(d documentRow) bool { return strings.Contains(d.Document, ".specimen.") && d.Phase != "xml_name" })
	s.edit(filepath.Join(profile, "sql", "checks", "media_empty.sql"), "has neither files", "has no files")
	s.engines(func(engine.Endpoints) {
		s.expectStale("nothing is stale in xsd", "--from", "xsd")
		s.expectStale("stale in data: ")
		s.replay("--stale")
	})
	s.once()
	s.engines(func(engine.Endpoints) {
		s.expectStale("nothing is stale")
		s.invariants()
	})
}

// loadedPhases are those in which a document is that was loaded or refused to be.
func loadedPhases() []string { return []string{"upload", "data", "context", "overview"} }

// expectStale asks what is stale.
func (s *system) expectStale(want string, args ...string) {
	s.t.Helper()
	if got := s.ask(append([]string{"replay", "--stale", "--dry-run"}, args...)...); !strings.Contains(got, want) {
		s.t.Errorf("stale is:\n%s\nwant %q", got, want)
	}
}

// replayStale replays what is stale, and checks that this begins with the phase
// and takes the files that have a document of the given sort, and no others.
func (s *system) replayStale(phase string, affected func(documentRow) bool) {
	s.t.Helper()
	var want []ranRow
	documents := 0
	s.engines(func(engine.Endpoints) {
		for _, d := range list[documentRow](s, "documents") {
			if affected(d) {
				documents++
				want = append(want, ranRow{d.Action, d.File})
			}
		}
		want = slices.Compact(sorted(want))
		if all := list[fileRow](s, "files"); len(want) == 0 || len(want) == len(all) {
			s.t.Fatalf("%d of %d files are affected: the test shows nothing", len(want), len(all))
		}
		s.expectStale(fmt.Sprintf("stale in %s: %d files\n  specimen: %d documents of %d files, judged by version ", phase, len(want), documents, len(want)))
		s.replay("--stale")
	})
	s.once()
	s.engines(func(engine.Endpoints) {
		all := s.replays()
		last := all[len(all)-1]
		if last.From != phase || last.State != "done" || last.Items != len(want) || last.Reason != "stale in "+phase {
			s.t.Errorf("the replay is %+v, want it to have begun with %s of %d files", last, phase, len(want))
		}
		differ(s.t, "files replayed", want, sql[ranRow](s, "history", "SELECT DISTINCT action, file_name AS file FROM log WHERE entity = 'document' AND run = toUUID('"+last.Run+"')"))
	})
}
