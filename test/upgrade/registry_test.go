package upgrade

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// state counts a source that stands as it should.
func state(id, is string) string {
	return fmt.Sprintf("SELECT count(*) FROM control.source WHERE id = '%s' AND state = '%s'", id, is)
}

// A program of before there was a registry of sources takes what its configuration
// lists for all there is: where it starts with the role schedule, what people have
// defined is removed, and what is declared stays. The program of today leaves it so
// until a person adds it again.
func TestAProgramBeforeTheRegistryRemovesPeoplesSources(t *testing.T) {
	t.Parallel()
	s := setUp(t, programs[len(programs)-1], 4, 2)
	up := s.start(s.old, "up")
	done := s.show()
	s.must("the first files", s.counts(done*perZip, loaded))
	stop(up)

	partner := filepath.Join(s.dir, "partner")
	if err := os.MkdirAll(filepath.Join(partner, "add"), 0o755); err != nil {
		t.Fatal(err)
	}
	add := []string{"sources", "add", "partner", "centre=H", "url=file://" + partner, "--reason", "a new partner", "--config", s.rig.Config}
	const declared = "SELECT count(*) FROM control.source WHERE id <> 'partner' AND state = 'available'"

	engines := s.engines(s.new)
	newer := func() *member {
		return s.start(s.new, "run", "schedule", "poll", "plan", "publish", "download", "unzip", "validate", "sequence", "insert", "tracker", "history")
	}
	all := newer()
	s.must("the newer member runs", all.says(`"msg":"running"`))
	sources, err := s.number("SELECT count(*) FROM control.source WHERE state = 'available'")
	if err != nil || sources == 0 {
		t.Fatalf("there are %d sources: %v", sources, err)
	}
	s.run(s.dir, s.new, add...)
	s.must("a person's source", s.counts(1, state("partner", "available")))
	stop(all)

	older := s.start(s.old, "run", "schedule")
	s.must("the older program removes a person's source", s.counts(1, state("partner", "removed")))
	s.must("the declared ones stay", s.counts(int(sources), declared))
	stop(older)

	all = newer()
	done += s.show()
	s.must("the declared sources' files", s.counts(done*perZip, loaded))
	s.must("it stays removed", s.counts(1, state("partner", "removed")))
	s.run(s.dir, s.new, add...)
	s.must("a person adds it again", s.counts(1, state("partner", "available")))
	s.must("the declared ones are as before", s.counts(int(sources), declared))
	stop(all, engines)
}
