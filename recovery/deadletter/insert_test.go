//go:build !race

package deadletter

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/engine/enginetest"
	"tributary/internal/pg"
	"tributary/schemas"
	"tributary/sql/warehouse"
)

// Documents that insert gave up are letters; those that failed otherwise, or
// died before, are not.
func TestQuarantined(t *testing.T) {
	pool, err := pg.Open(t.Context(), enginetest.Filled(t, "warehouse", warehouse.Migrate), "test", 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	file := schemas.FileID("add", "a.zip")
	for i, ended := range [][3]string{{"loaded", "upload", ""}, {"failed", "upload", "quarantined"}, {"failed", "xsd", "quarantined"}, {"failed", "upload", "bad_value"}, {"failed", "upload", "quarantined"}} {
		name := []string{"a.zip", "a.zip", "a.zip", "a.zip", "b.zip"}[i]
		if _, err := pool.Exec(t.Context(), `INSERT INTO warehouse.document (position, event, run, run_number, session, source, batch, centre, number, late,
			file, file_name, action, file_date, file_inc, document, entry, entry_ordinal, kind, doc_centre, doc_date, doc_inc,
			archive, archive_offset, packed, method, crc32, size, sha256, md5, rank, version_key, attempt, download, unzip, profile, state, phase, exception, rows)
			VALUES ($1, '', $2, 0, '', 'h-sftp', '', 'H', 1, false, $3, $4, 'add', '', 0, $5, 'x.xml', 0, '', '', '', 0, 'sha', 0, 0, 0, 0, 0, '', '', '', '', 2, 'sha', 'done', '', $6, $7, $8, 0)`,
			i+1, schemas.LiveRun, file, name, schemas.DocumentID(file, "x.xml"), ended[0], ended[1], ended[2]); err != nil {
			t.Fatal(err)
		}
	}
	ids := func(f Filter) (out []string) {
		if err := Quarantined(t.Context(), pool, "test", &f, func(l *Letter) error { out = append(out, l.ID); return nil }); err != nil {
			t.Fatal(err)
		}
		return out
	}
	for _, tt := range []struct {
		f    Filter
		want []string
	}{
		{Filter{}, []string{"insert:0:2", "insert:0:5"}}, {Filter{Stage: "insert"}, []string{"insert:0:2", "insert:0:5"}}, {Filter{Stage: "test.insert", File: "b.zip"}, []string{"insert:0:5"}},
		{Filter{Stage: "validate"}, nil}, {Filter{Topic: "document.extracted"}, nil}, {Filter{Topic: "document.ordered"}, []string{"insert:0:2", "insert:0:5"}}, {Filter{Since: noon}, nil}, {Filter{Until: noon}, nil},
	} {
		if diff := cmp.Diff(tt.want, ids(tt.f)); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", tt.f, diff)
		}
	}
	l, err := GetQuarantined(t.Context(), pool, 2)
	if err != nil || l.File != file || l.Document != schemas.DocumentID(file, "x.xml") || l.Attempt != 2 || l.Download != "sha" || l.Unzip != "done" || l.Archive != "sha" || l.Run != schemas.LiveRun {
		t.Errorf("letter is %+v, %v", l, err)
	}
	if _, err := GetQuarantined(t.Context(), pool, 3); err == nil {
		t.Error("a document that validate gave up is taken for insert's")
	}
}
