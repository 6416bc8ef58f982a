package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tributary/internal/blob"
	"tributary/internal/engine"
	"tributary/test/corpus"
	"tributary/test/rig"
	"tributary/test/wait"
)

// damageRow is what is read of a row of tributary blobs damaged.
type damageRow struct {
	SHA256, State, Problem, Message string
	Times                           int
}

// blobs are the paths of all stored blobs, in the order of their names.
func (s *system) blobs() []string {
	s.t.Helper()
	all, err := filepath.Glob(filepath.Join(s.data(), "blobs", "??", "*"))
	if err != nil || len(all) == 0 {
		s.t.Fatalf("there are no blobs: %v", err)
	}
	return all
}

// rot damages stored blobs, one after another in another way.
func (s *system) rot(paths []string) {
	s.t.Helper()
	for i, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			s.t.Fatal(err)
		}
		switch i % 4 {
		case 0:
			b[len(b)/2] ^= 0x40
		case 1:
			b = b[:len(b)/3]
		case 2:
			b = append([]byte("longer"), b...)
		}
		if err := os.Chmod(path, 0o600); err != nil {
			s.t.Fatal(err)
		}
		if i%4 == 3 {
			err = os.Remove(path)
		} else {
			err = os.WriteFile(path, b, 0o600)
		}
		if err != nil {
			s.t.Fatal(err)
		}
	}
}

// versions is how many documents of how many versions have a position.
func (s *system) versions() string {
	s.t.Helper()
	type row struct{ Documents, Versions int64 }
	return fmt.Sprint(sql[row](s, "warehouse", "SELECT count(*) AS documents, count(DISTINCT (file, attempt)) AS versions FROM warehouse.document"))
}

// healed waits until nothing is known to be damaged any more.
func (s *system) healed() {
	s.t.Helper()
	eventually(s.t, wait.Patience(), func() string {
		if left := list[damageRow](s, "blobs", "damaged"); len(left) > 0 {
			return fmt.Sprintf("%d blobs are damaged; one is %+v", len(left), left[0])
		}
		return ""
	})
}

// Stored bytes rot between any two stages, all of them: they are fetched again,
// nobody is blamed, and the warehouse is that of an undisturbed run. What rots
// when all is inserted is found by a walk, and mended without a new version or
// position.
func TestDamagedBlobsHeal(t *testing.T) {
	t.Parallel()
	long(t, "TestWhateverHappenedToABlobItIsFoundAndMended", "TestHealingMakesNoVersion")
	s := setUp(t, corpus.Options{Seed: seed(t), Shape: corpus.Small}, rig.Options{Local: true, Extra: lively})
	s.once()
	var undisturbed, wanted string
	s.engines(func(engine.Endpoints) { undisturbed, wanted = s.hash(), s.versions() })
	s.forget()

	s.engines(func(engine.Endpoints) {
		fetching := s.start("run", "schedule", "poll", "plan", "publish", "download")
		eventually(t, wait.Patience(), func() string {
			if !fetching.said(`"msg":"running"`) {
				return "the roles are still starting"
			}
			if n := s.records()["tributary.download.finished.v1"]; n < int64(len(s.corpus.Oracle.Files)/2) {
				return fmt.Sprintf("%d files are fetched", n)
			}
			return ""
		})
		s.rot(s.blobs())
		rest := s.start("run", "unzip", "validate", "sequence", "insert", "tracker", "history")
		eventually(t, wait.Patience(), func() string {
			if s.begun() && len(list[damageRow](s, "blobs", "damaged", "--all")) > 0 {
				return ""
			}
			return "nothing is found damaged"
		})
		s.settled(fetching, rest)
		s.rot(s.blobs())
		walk := s.start("blobs", "verify", "--repair", "--rate", "1GiB")
		if code := walk.code(wait.Patience()); code != 1 || !strings.Contains(walk.tail(), "damaged or gone") {
			t.Errorf("a walk over damaged blobs ends with %d:\n%s", code, walk.tail())
		}
		// Who heals is killed while it does.
		if fetching.kill(true) {
			fetching = s.start("run", "schedule", "poll", "plan", "publish", "download")
		}
		s.healed()
		s.ask("blobs", "verify")
		if got := s.hash(); got != undisturbed {
			t.Errorf("warehouse hash %s after healing, %s undisturbed", got, undisturbed)
		}
		if got := s.versions(); got != wanted {
			t.Errorf("documents and versions in the order are %s, undisturbed %s", got, wanted)
		}
		for _, l := range list[letterRow](s, "dlq", "list", "--all", "--limit", "0") {
			t.Errorf("a dead letter: %+v", l)
		}
		rest.stop()
		fetching.stop()
	})
	s.once()
	s.expect(false)
}

// Bytes that no source shows any more are lost by name, and nothing waits for
// them. A directory that is not the store is told from a store without blobs.
func TestLostBlobsEndByName(t *testing.T) {
	t.Parallel()
	long(t, "TestWhatWaitsForLostBytesEnds")
	s := setUp(t, corpus.Options{Seed: seed(t), Shape: corpus.Small}, rig.Options{Local: true, Extra: lively})
	s.once()
	if err := os.Rename(s.sources(), s.sources()+".away"); err != nil {
		t.Fatal(err)
	}
	s.engines(func(engine.Endpoints) {
		hash, versions := s.hash(), s.versions()
		all := s.start("run", "all")
		s.rot(s.blobs()[:1])
		if code := s.start("blobs", "verify", "--repair").code(wait.Patience()); code != 1 {
			t.Errorf("a walk over a damaged blob ends with %d", code)
		}
		eventually(t, wait.Patience(), func() string {
			left := list[damageRow](s, "blobs", "damaged")
			if len(left) != 1 || left[0].State != "lost" || !strings.Contains(left[0].Message, "no source shows them any more") {
				return fmt.Sprintf("what is damaged: %+v", left)
			}
			return ""
		})
		if now := s.hash(); hash != now || versions != s.versions() {
			t.Errorf("what is lost has changed the warehouse from %s to %s, or its versions", hash, now)
		}
		all.stop()
		// A disk that is not mounted.
		store := filepath.Join(s.data(), "blobs")
		if err := os.Rename(store, store+".away"); err != nil {
			t.Fatal(err)
		}
		wrong := s.start("run", "all")
		if code := wrong.code(wait.Patience()); code != 1 || !strings.Contains(wrong.tail(), "tributary blobs begin") {
			t.Errorf("members without their store end with %d:\n%s", code, wrong.tail())
		}
		s.ask("blobs", "begin")
		if _, err := os.Stat(filepath.Join(store, blob.Mark)); err != nil {
			t.Error(err)
		}
		if err := os.Rename(s.sources()+".away", s.sources()); err != nil {
			t.Fatal(err)
		}
		anew := s.start("run", "all")
		if code := s.start("blobs", "verify", "--repair").code(wait.Patience()); code != 1 {
			t.Errorf("a walk over an empty store ends with %d", code)
		}
		s.healed()
		s.ask("blobs", "verify")
		anew.stop()
	})
}
