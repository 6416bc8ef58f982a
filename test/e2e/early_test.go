package e2e

import (
	"fmt"
	"path/filepath"
	"testing"

	"tributary/internal/engine"
	"tributary/test/corpus"
	"tributary/test/rig"
)

// What has ended of a centre's batch is in the warehouse while its last file is still
// being fetched, once the profile releases early, and not before: the profile that the
// member with the role sequence has decides, also of a batch that is half done, and both
// ways. In the end everything is the oracle's.
func TestABatchIsLoadedWhileItIsFetched(t *testing.T) {
	t.Parallel()
	long(t, "TestABatchIsReleasedInParts", "TestPartsLoadWhatTheWholeLoads")
	const centre, source, zips, perZip = "H", "bench3", 24, 3
	s := setUp(t, corpus.Options{Seed: seed(t), Shape: corpus.Bench, Zips: zips}, rig.Options{Counted: true,
		Extra: "schedule: {interval: 24h, jitter: 0}\nplan: {job_files: 1}\ndownload: {idle_timeout: 1h, rate_grace: 1h, detach_after: 1h, stall: 1h}\n"})
	server := s.rig.Servers()[source]
	files, err := filepath.Glob(filepath.Join(s.sources(), source, "add", "*.zip"))
	if err != nil || len(files) != zips/4 {
		t.Fatalf("%s shows %d files: %v", source, len(files), err)
	}
	last := "add/" + filepath.Base(files[0])
	server.Stall(last)
	const begun = " EXISTS (SELECT FROM control.batch WHERE domain = '" + centre + "' AND number IS NOT NULL)"
	loaded := func(files int) string {
		return fmt.Sprintf("(SELECT count(*) = %d FROM warehouse.document WHERE state = 'loaded')", files*perZip)
	}
	s.releaseWhole()
	s.engines(func(engine.Endpoints) {
		members := s.members("schedule plan publish poll", "download unzip validate", "insert tracker history", "sequence")
		s.waits("the other centres' batches are not loaded, or all but one of this centre's files are not judged", "SELECT "+loaded(zips-len(files))+
			fmt.Sprintf(" AND (SELECT count(*) = %d FROM control.acquisition WHERE domain = '%s' AND state = 'ended' AND result = 'complete') AND NOT", len(files)-1, centre)+begun+" AS so", nil)
		again := func() {
			members[3].stop()
			members[3] = s.members("sequence")[0]
		}
		s.configure("impc", "")
		s.whole = false
		again()
		s.waits("what is judged is not loaded", "SELECT "+loaded(zips-1)+" AND"+begun+" AS so", nil)
		s.configure(filepath.Join(s.dir, "profile"), "")
		again()
		server.Heal(last)
		s.settled(members...)
		for _, m := range members {
			m.stop()
		}
	})
	s.once()
	s.expect(true)
}
