package hostile

import (
	"archive/zip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tributary/test/rig"
)

// mice is a specimen document of a centre, with mice by these names.
func mice(centre string, ids ...string) string {
	out := fmt.Sprintf("<centreSpecimenSet xmlns=\"http://www.mousephenotype.org/dcc/exportlibrary/datastructure/core/specimen\">\n<centre centreID=%q>\n", centre)
	for _, id := range ids {
		out += fmt.Sprintf(`<mouse DOB="2012-01-01" specimenID=%q strainID="S1" isBaseline="true" gender="male" zygosity="homozygous" litterId="L" pipeline="IMPC_001" project="MGP" phenotypingCentre=%[2]q productionCentre=%[2]q/>`+"\n", id, centre)
	}
	return out + "</centre>\n</centreSpecimenSet>\n"
}

// shows puts a zip with one document into a source, which appears whole.
func (w *world) shows(source, action, name, document string) {
	w.t.Helper()
	stem, _, _ := strings.Cut(name, ".impc.zip")
	stem = strings.Replace(stem, ".01", ".1", 1)
	dir := filepath.Join(w.dir, "sources", source, action)
	err := os.MkdirAll(dir, 0o755)
	var f *os.File
	if err == nil {
		f, err = os.Create(filepath.Join(dir, "."+name))
	}
	if err != nil {
		w.t.Fatal(err)
	}
	z := zip.NewWriter(f)
	entry, err := z.Create(stem + ".specimen.impc.xml")
	if err == nil {
		_, err = entry.Write([]byte(document))
	}
	if err = errors.Join(err, z.Close(), f.Close()); err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, name))
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// once takes up what there is, and leaves the stores open for look.
func (w *world) once(look func()) {
	w.t.Helper()
	if once := w.start("up", "--once"); !once.endsWell() {
		w.t.Fatalf("up --once\n%s", once.tail())
	}
	engines := w.start("engines")
	w.must(func() string {
		if engines.ended() {
			w.t.Fatal(engines.tail())
		}
		_, err := w.rows("SELECT 1")
		return said(err)
	})
	look()
	if wrong := engines.stop(); wrong != "" {
		w.t.Error(wrong)
	}
}

// sees expects the rows of a query.
func (w *world) sees(what, sql string, want ...string) {
	w.t.Helper()
	got, err := w.rows(sql)
	if err != nil || strings.Join(got, "\n") != strings.Join(want, "\n") {
		w.t.Errorf("%s: %v\n%s\nwant\n%s", what, err, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

const (
	filesQuery = `SELECT action, file, phase, status, coalesce(exception, '') FROM tracker.file ORDER BY 1, 2`
)

// A6: whoever controls the server of one centre changes nothing of another's: not
// by a deletion, not by an edit, not by a file of the same name. What is refused
// is named, with the line that allows it; that allows just this, and what was
// accepted under it stays when it is taken back.
func TestAnotherCentresFiles(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	w := &world{t: t, binary: program(t), dir: dir, rig: &rig.Rig{Dir: dir, Config: filepath.Join(dir, "tributary.yaml")}}
	configure := func(hosts string) {
		text := "data_dir: ./data\n" + settings() + fmt.Sprintf("sources:\n  - {id: jax, centre: J, url: 'file://%[1]s/jax'}\n  - {id: harwell, centre: H, url: 'file://%[1]s/harwell'%[2]s}\n", filepath.Join(dir, "sources"), hosts)
		if err := os.WriteFile(w.rig.Config, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const (
		genuine, deletion, edit = "J.2024-01-01.01.impc.zip", "J.2024-09-09.01.impc.zip", "J.2024-09-10.01.impc.zip"
		refused                 = " zip_name failed centre_not_hosted_here"
	)
	w.shows("jax", "add", genuine, mice("J", "M1", "M2", "M3"))
	w.shows("harwell", "add", "H.2024-01-01.01.impc.zip", mice("H", "X1"))
	w.shows("harwell", "add", genuine, mice("J", "M666"))
	w.shows("harwell", "delete", deletion, mice("J", "M1", "M2"))
	w.shows("harwell", "edit", edit, strings.ReplaceAll(mice("J", "M3"), `gender="male"`, `gender="female"`))

	configure("")
	whole := []string{"add H.2024-01-01.01.impc.zip overview done ", "add " + genuine + " overview done "}
	w.once(func() {
		w.sees("the mice of J", "SELECT count(*) FROM warehouse.claim WHERE centre = 'J' AND is_current AND NOT tombstone", "3")
		w.sees("the files", filesQuery, whole[0], whole[1], "delete "+deletion+refused, "edit "+edit+refused)
		w.sees("why", "SELECT DISTINCT right(message, 10) FROM tracker.file WHERE exception = 'centre_not_hosted_here'", "hosts: [J]")
		w.sees("the genuine file's hostings", `SELECT s.short_name, h.state, coalesce(h.note, ''), right(coalesce(h.message, ''), 10) FROM tracker.file f JOIN tracker.file_source_has_zip h ON h.za_id = f.id
			JOIN tracker.file_source s ON s.id = h.file_source_id WHERE f.file = '`+genuine+`' ORDER BY 1`, "harwell gone centre_not_hosted_here hosts: [J]", "jax present  ")
		if text, err := w.ask("centres", "report", "J"); err != nil || !strings.Contains(text, "harwell (run by H): shows 0 of your files; the bytes of 0 were fetched from it; 3 that it shows were refused (centre_not_hosted_here)") {
			t.Errorf("the centre's report says nothing of it: %v\n%s", err, text)
		}
		if text, err := w.ask("tracker", "verify"); err != nil {
			t.Errorf("tracker verify: %v\n%s", err, text)
		}
	})

	configure(", hosts: [{centre: J, actions: [delete]}]")
	w.once(func() {
		w.sees("the mice of J", "SELECT count(*) FROM warehouse.claim WHERE centre = 'J' AND is_current AND NOT tombstone", "1")
		w.sees("the files", filesQuery, whole[0], whole[1], "delete "+deletion+" overview done ", "edit "+edit+refused)
	})

	configure("")
	w.shows("harwell", "delete", "J.2024-09-11.01.impc.zip", mice("J", "M3"))
	w.once(func() {
		w.sees("the mice of J", "SELECT count(*) FROM warehouse.claim WHERE centre = 'J' AND is_current AND NOT tombstone", "1")
		w.sees("the files", filesQuery, whole[0], whole[1], "delete "+deletion+" overview done ", "delete J.2024-09-11.01.impc.zip"+refused, "edit "+edit+refused)
		if text, err := w.ask("tracker", "verify"); err != nil {
			t.Errorf("tracker verify: %v\n%s", err, text)
		}
	})
}
