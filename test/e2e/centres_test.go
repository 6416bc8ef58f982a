package e2e

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"tributary/internal/engine"
	"tributary/test/corpus"
	"tributary/test/rig"
	"tributary/test/wait"
)

// Members run that know nothing of a centre, and refuse a file of it. It is added, and
// no member restarts: the file is taken at the next poll, its document's name is
// accepted, a source of the centre is added, and the centre can't be removed any more.
// All of that is told.
func TestCentresAreData(t *testing.T) {
	t.Parallel()
	long(t, "TestCentresAreDefinedByPeople", "TestNamesAreJudgedAgainWhenCentresChange")
	s := setUp(t, corpus.Options{Seed: seed(t), Shape: corpus.Small}, rig.Options{Local: true, Extra: "poll:\n  settle: 0s\nsequence:\n  late_limit: 1s\n"})
	dir := filepath.Join(s.dir, "new")
	const name = "New.2026-01-02.1.impc.zip"
	zipped(t, filepath.Join(dir, "add", name), "New.2026-01-02.1.specimen.impc.xml")
	s.engines(func(engine.Endpoints) {
		members := s.members("schedule plan publish", "poll", "poll", "download", "unzip validate", "unzip", "sequence insert", "tracker history")
		s.settled(members...)
		stands := func(want string) {
			t.Helper()
			type row struct{ Is string }
			eventually(t, wait.Patience(), func() string {
				var is string
				for _, r := range sql[row](s, "tracker", `SELECT concat_ws(' ', f.exception, d.document, d.exception) AS is FROM file f LEFT JOIN document d USING (file, action) WHERE f.file = '`+name+`'`) {
					is += r.Is
				}
				return gocmp.Diff(want, is)
			})
		}
		s.ask("sources", "add", "mirror", "centre=H", "hosts=all", "url=file://"+dir)
		stands("zip_name_centre")
		s.ask("centres", "add", "New", "full_name=A new one", "--reason", "it begins")
		s.ask("sources", "poll", "mirror")
		stands("xml_not_well_formed New.2026-01-02.1.specimen.impc.xml xml_not_well_formed")
		s.ask("sources", "add", "own", "centre=new", "url=file://"+dir)
		s.ask("centres", "edit", "new", "email=data@example.org", "--reason", "asked")
		if code := s.start("centres", "remove", "New").code(wait.Patience()); code != 2 {
			t.Errorf("a centre with files and a source is removed: exit code %d", code)
		}
		type told struct{ Message, Changed string }
		eventually(t, wait.Patience(), func() string {
			got := sql[told](s, "history", "SELECT message, attributes['changed'] AS changed FROM event WHERE entity = 'centre' AND centre = 'New' ORDER BY revision")
			for i := range got {
				got[i].Message = words(got[i].Message)
			}
			return gocmp.Diff([]told{{"added it begins", ""}, {"changed asked", "email: default → data@example.org"}}, got)
		})
		for _, m := range members {
			m.stop()
		}
	})
}

// words are the first and the last part of what an order says of itself.
func words(message string) string {
	first, _, _ := bytes.Cut([]byte(message), []byte(" "))
	_, reason, _ := bytes.Cut([]byte(message), []byte(": "))
	return string(first) + " " + string(reason)
}

// zipped writes a zip with one document that is none.
func zipped(t *testing.T, path, entry string) {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	f, err := w.Create(entry)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("no XML")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
