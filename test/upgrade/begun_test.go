package upgrade

import (
	"path/filepath"
	"testing"

	"tributary/test/rig"
)

// A member of the program before, which knows nothing of parts, releases no batch that
// has begun: it is refused by name, however it came to release, and a newer member goes
// on with the batch. What the batch holds has its position once, in one chain.
func TestAProgramBeforeReleasesNoBatchThatHasBegun(t *testing.T) {
	t.Parallel()
	const zips, centre, source = 8, "H", "bench3"
	s := setUpServed(t, programs[len(programs)-1], zips, 1, rig.Options{Counted: true, Extra: settings + "plan: {job_files: 1}\ndownload: {idle_timeout: 1h, rate_grace: 1h, stall: 1h}\n"})
	server := s.rig.Servers()[source]
	done := s.show()
	files, err := filepath.Glob(filepath.Join(s.dir, "sources", source, "add", "*.zip"))
	if err != nil || len(files) != zips/4 {
		t.Fatalf("%s shows %d files: %v", source, len(files), err)
	}
	last := "add/" + filepath.Base(files[0])
	server.Stall(last)

	engines := s.engines(s.new)
	others := s.start(s.new, "run", "schedule", "poll", "plan", "publish", "download", "unzip", "validate", "insert", "tracker", "history")
	newer := s.start(s.new, "run", "sequence")
	s.must("a part of the batch", s.counts((done-1)*perZip, loaded))
	const begun = "SELECT count(*) FROM control.batch WHERE released_at IS NULL AND number IS NOT NULL"
	s.must("it has begun", s.counts(1, begun))
	stop(newer)

	older := s.start(s.old, "run", "sequence")
	s.must("an older member runs", older.says(`"msg":"running"`))
	server.Heal(last)
	s.must("an older member is refused", older.says("batch_has_begun"))
	s.must("the batch is as it was", s.counts(1, begun))

	newer = s.start(s.new, "run", "sequence")
	s.must("the last file", s.counts(done*perZip, loaded))
	s.must("nothing twice", s.counts(done*perZip, distinct))
	s.must("all batches are out", s.counts(0, open))
	stop(older)
	s.judged(1)
	s.run(s.dir, s.new, "warehouse", "verify", "--config", s.rig.Config)
	stop(newer, others, engines)
}
