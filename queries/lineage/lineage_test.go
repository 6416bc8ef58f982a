package lineage_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/blob"
	"tributary/queries/lineage"
)

// states are place, state and why of claims.
func states(l *lineage.Lineage) []string {
	var out []string
	for _, c := range l.Claims {
		out = append(out, c.Place()+" "+c.State+": "+c.Why)
	}
	return out
}

func key(t *testing.T, r *lineage.Reader, table string, words ...string) *lineage.Lineage {
	t.Helper()
	l, err := r.Key(t.Context(), table, words)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// story loads what most tests ask about: mouse 77 is submitted, submitted again
// unchanged, edited, and was to be deleted by a file that was unloaded; mouse 78
// is deleted; mouse 79 was in a version that a later one replaced.
func story(t *testing.T) *bench {
	b := newBench(t)
	b.load(doc{position: 1, day: 1, xml: mice("77", "S1", "78", "S1")})
	b.load(doc{position: 2, day: 2, xml: mice("76", "S0", "77", "S1")})
	b.load(doc{position: 3, day: 3, action: "edit", xml: mice("77", "S2")})
	b.load(doc{position: 4, day: 4, action: "delete", xml: mice("77", "S2")})
	b.load(doc{position: 5, day: 4, action: "delete", rank: 1, entry: "x.xml", xml: mice("78", "S1"), after: "other"})
	b.load(doc{position: 6, day: 5, rank: 1, xml: mice("79", "S1")})
	b.load(doc{position: 7, day: 5, rank: 2, xml: mice("79", "S2")})
	b.load(doc{position: 8, day: 5, rank: 1, entry: "y.xml", xml: mice("80", "S1")})
	b.load(doc{position: 9, day: 6, failed: "xsd_invalid"})
	b.exec(`INSERT INTO warehouse.unload (position, file, archive) SELECT 20, file, archive FROM warehouse.document WHERE position = 4`)
	b.exec(`INSERT INTO warehouse.withdrawal (position, file, entry, what, rank, run_number, archive)
		SELECT 21, file, entry, 'loaded', rank, 0, archive FROM warehouse.document WHERE position = 7
		UNION ALL SELECT 21, file, '', 'lacks', rank, 0, archive FROM warehouse.document WHERE position = 7`)
	b.exec(`UPDATE warehouse.document SET withdrawn = true WHERE position IN (4, 6, 8)`)
	b.settle()
	return b
}

// One warehouse serves all: it takes longest.
func TestStory(t *testing.T) {
	b := story(t)
	for _, test := range []struct {
		name string
		run  func(*testing.T, *bench)
	}{
		{"claims of a key", testClaimsOfAKey}, {"claims are bounded", testClaimsAreBounded}, {"unknown keys", testUnknownKeys}, {"rows", testRows},
		{"file", testFile}, {"successors", testSuccessors}, {"documents", testDocuments}, {"text", testText}, {"retract", testRetract}, {"find", testFind}, {"verify", testVerify},
	} {
		t.Run(test.name, func(t *testing.T) {
			b.t = t
			test.run(t, b)
		})
	}
}

func testClaimsOfAKey(t *testing.T, b *bench) {
	r := b.reader(0)
	version := func(position int) (v string) {
		if err := b.pool.QueryRow(t.Context(), "SELECT left(archive, 12) FROM warehouse.document WHERE position = $1", position).Scan(&v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	for name, tc := range map[string]struct {
		words []string
		want  []string
	}{
		"edited": {[]string{"H", "77"}, []string{
			"4/2 withdrawn: this version of the file was unloaded, at position 20",
			"3/2 current: the greatest claim that is not withdrawn",
			"2/4 superseded: superseded by 3/2 (edit/H.2012-10-03.01.impc.zip), which is greater: its file's date 2012-10-03 comes after 2012-10-02",
			"1/2 superseded: superseded by 3/2 (edit/H.2012-10-03.01.impc.zip), which is greater: its file's date 2012-10-03 comes after 2012-10-01"}},
		"deleted, by names": {[]string{"specimen_id=78", "centre=H"}, []string{
			"5/2 tombstone: the greatest claim that is not withdrawn says that the key is gone, so nothing is current",
			"1/4 superseded: deleted by 5/2 (delete/H.2012-10-04.01.impc.zip), which is greater: its file's date 2012-10-04 comes after 2012-10-01"}},
		"replaced": {[]string{"H", "79"}, []string{
			"7/2 current: the greatest claim that is not withdrawn",
			"6/2 withdrawn: version " + version(7) + " of the file, complete at position 21, brought the document anew"}},
		"lacking": {[]string{"H", "80"}, []string{
			"8/2 withdrawn: version " + version(7) + " of the file, complete at position 21, has no such document any more"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := key(t, r, "specimen", tc.words...)
			if d := cmp.Diff(tc.want, states(l)); d != "" {
				t.Error(d)
			}
			if l.Key[0].Column != "centre" || *l.Key[0].Value != "H" || l.Key[1].Column != "specimen_id" {
				t.Errorf("key %v", l.Key)
			}
		})
	}
	c := key(t, r, "specimen", "H", "77").Claims[2]
	if c.ContentPosition != 1 || c.ContentOrdinal != 2 || c.Line != 4 || c.Document.Attempt != 2 || c.Document.Source != "harwell" || c.Document.Batch != 3 {
		t.Errorf("got %+v", c)
	}
}

func testClaimsAreBounded(t *testing.T, b *bench) {
	l := key(t, b.reader(1), "specimen", "H", "77")
	if len(l.Claims) != 1 || l.Left != 3 {
		t.Errorf("%d claims and %d left, want 1 and 3", len(l.Claims), l.Left)
	}
}

func testUnknownKeys(t *testing.T, b *bench) {
	r := b.reader(0)
	for _, tc := range []struct {
		table string
		words []string
		want  string
	}{
		{"specimen", []string{"H", "0"}, "no document that was loaded claims this key"},
		{"specimen", []string{"H"}, "a key of specimen is made of centre, specimen_id"},
		{"specimen", []string{"centre=H", "centre=J"}, "its keys are made of centre, specimen_id"},
		{"genotype", []string{"H"}, "is not a table of records"},
	} {
		if _, err := r.Key(t.Context(), tc.table, tc.words); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s %v: %v, want %q", tc.table, tc.words, err, tc.want)
		}
	}
	if _, err := r.Key(t.Context(), "specimen", []string{"H", "0"}); !errors.Is(err, lineage.ErrNotFound) {
		t.Errorf("an unknown key is %v", err)
	}
}

func testRows(t *testing.T, b *bench) {
	r := b.reader(0)
	for name, tc := range map[string]struct {
		table    string
		position int64
		ordinal  int32
		want     string
	}{
		"a record":                       {"specimen", 1, 2, "specimen 1/2 line 3 true 77"},
		"a row of it":                    {"related_specimen", 1, 3, "related_specimen 1/2 line 3 true R77"},
		"by its record's table":          {"specimen", 1, 3, "related_specimen 1/2 line 3 true R77"},
		"by no table":                    {"", 1, 5, "related_specimen 1/4 line 4 true R78"},
		"a record whose content is else": {"specimen", 2, 4, "specimen 2/4 line 4 true 77"},
		"a row whose content is else":    {"related_specimen", 2, 5, "related_specimen 2/4 line 4 false R77"},
		"under no record":                {"submission", 1, 1, "submission 1/0 line 2 true H"},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := r.Row(t.Context(), tc.table, tc.position, tc.ordinal)
			if err != nil {
				t.Fatal(err)
			}
			value := ""
			for _, v := range l.Row.Values {
				if v.Value != nil && (v.Column == "specimen_id" || l.Row.Table == "submission") {
					value = *v.Value
				}
			}
			if got := fmt.Sprintf("%s %d/%d line %d %v %s", l.Row.Table, l.Row.Position, l.Row.Record, l.Row.Line, l.Row.Exact, value); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			if under := l.Row.Table == "submission"; under != (len(l.Claims) == 0) || under != (l.Document != nil) {
				t.Errorf("%d claims, document %v", len(l.Claims), l.Document)
			}
		})
	}
	for _, tc := range []struct {
		table   string
		ordinal int32
		want    string
	}{{"specimen", 9, "nothing of the kind"}, {"genotype", 3, "is of the table related_specimen, not of genotype"}, {"nothing", 1, "no table"}} {
		if _, err := r.Row(t.Context(), tc.table, 1, tc.ordinal); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s %d: %v, want %q", tc.table, tc.ordinal, err, tc.want)
		}
	}
}

func testFile(t *testing.T, b *bench) {
	list := func(limit int, name, action string) []string {
		var out []string
		if err := b.reader(limit).File(t.Context(), name, action, func(x *lineage.Brought) error {
			line := fmt.Sprintf("%d %s", x.Document.Position, x.Document.State)
			for _, c := range x.Records {
				line += fmt.Sprintf(" %s %d=%d+%d+%d+%d", c.Table, c.Records, c.Current, c.Superseded, c.Withdrawn, c.Deletions)
			}
			for _, k := range x.Keys {
				line += " " + *k.Key[1].Value + " " + k.State
			}
			out = append(out, fmt.Sprintf("%s left %d", line, x.KeysLeft))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return out
	}
	for _, tc := range []struct {
		limit        int
		name, action string
		want         []string
	}{
		{0, "H.2012-10-01.01.impc.zip", "", []string{"1 loaded specimen 2=0+2+0+0 77 superseded 78 superseded left 0"}},
		{1, "H.2012-10-02.01.impc.zip", "add", []string{"2 loaded specimen 2=1+1+0+0 76 current left 1"}},
		{0, "H.2012-10-04.01.impc.zip", "delete", []string{"5 loaded specimen 1=0+0+0+1 78 tombstone left 0", "4 loaded specimen 1=0+0+1+0 77 withdrawn left 0"}},
		{0, "H.2012-10-05.01.impc.zip", "", []string{"7 loaded specimen 1=1+0+0+0 79 current left 0", "6 loaded specimen 1=0+0+1+0 79 withdrawn left 0", "8 loaded specimen 1=0+0+1+0 80 withdrawn left 0"}},
		{0, "H.2012-10-06.01.impc.zip", "", []string{"9 failed left 0"}},
	} {
		if d := cmp.Diff(tc.want, list(tc.limit, tc.name, tc.action)); d != "" {
			t.Errorf("%s: %s", tc.name, d)
		}
	}
	if err := b.reader(0).File(t.Context(), "H.2012-10-01.01.impc.zip", "edit", nil); !errors.Is(err, lineage.ErrNotFound) {
		t.Errorf("an unknown file is %v", err)
	}
}

func testVerify(t *testing.T, b *bench) {
	r := b.reader(0)
	verify := func(t *testing.T) *lineage.Verification {
		t.Helper()
		for _, c := range key(t, r, "specimen", "H", "77").Claims {
			if c.Position == 2 {
				v, err := r.Verify(t.Context(), b.blobs, &c)
				if err != nil {
					t.Fatal(err)
				}
				return v
			}
		}
		t.Fatal("the claim is not there")
		return nil
	}
	v := verify(t)
	if !v.OK || !strings.HasPrefix(v.Excerpt, "<mouse DOB=") || !strings.HasSuffix(v.Excerpt, "</mouse>") || !strings.Contains(v.Excerpt, `specimenID="77"`) {
		t.Fatalf("got %+v", v)
	}
	// What is checked is checked: each damage is named, and undone again.
	for name, tc := range map[string]struct{ damage, undo, want string }{
		"hash":        {"UPDATE warehouse.document SET sha256 = 'beef' WHERE position = 2", "UPDATE warehouse.document SET sha256 = '" + v.DocumentSHA256 + "' WHERE position = 2", "but beef was loaded"},
		"fingerprint": {"UPDATE warehouse.claim SET fingerprint = 'aaaaaaaa-0000-0000-0000-000000000000' WHERE (position, ordinal) = (2, 4)", "UPDATE warehouse.claim SET fingerprint = (SELECT fingerprint FROM warehouse.claim WHERE (position, ordinal) = (1, 2)) WHERE (position, ordinal) = (2, 4)", "aaaaaaaa-0000-0000-0000-000000000000 was loaded"},
		"line":        {"UPDATE warehouse.claim SET line = 9 WHERE position = 2", "UPDATE warehouse.claim SET line = 4 WHERE position = 2", "but was loaded from line 9"},
		"bytes":       {"UPDATE warehouse.claim SET byte_to = byte_to + 9000 WHERE position = 2", "UPDATE warehouse.claim SET byte_to = byte_to - 9000 WHERE position = 2", "ends before byte"},
		"archive":     {"UPDATE warehouse.document SET crc32 = crc32 # 1 WHERE position = 2", "UPDATE warehouse.document SET crc32 = crc32 # 1 WHERE position = 2", "the stored archive is damaged"},
		"kind":        {"UPDATE warehouse.document SET kind = 'experiment' WHERE position = 2", "UPDATE warehouse.document SET kind = 'specimen' WHERE position = 2", "can't be read any more"},
	} {
		t.Run(name, func(t *testing.T) {
			b.exec(tc.damage)
			v := verify(t)
			if got := strings.Join(v.Differences, "; "); v.OK || !strings.Contains(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			b.exec(tc.undo)
			if v := verify(t); !v.OK {
				t.Errorf("undone, but %v", v.Differences)
			}
		})
	}
	t.Run("no blob", func(t *testing.T) {
		if err := b.blobs.List(t.Context(), func(name string, _ int64) error { return b.blobs.Remove(t.Context(), name) }); err != nil {
			t.Fatal(err)
		}
		if v := verify(t); v.OK || !strings.Contains(v.Differences[0], "is not in the blob store") {
			t.Errorf("got %+v", v)
		}
	})
}

// Bytes that changed on disk are found, whatever reads them.
func TestVerifyFindsChangedBytes(t *testing.T) {
	b := newBench(t)
	dir := t.TempDir()
	var err error
	if b.blobs, err = blob.NewDir(dir); err != nil {
		t.Fatal(err)
	}
	b.load(doc{position: 1, day: 1, xml: mice("77", "S1")})
	b.load(doc{position: 2, day: 2, xml: mice("\u00e9\U0001F42D", "S3", "79", "S3"), utf16: true})
	b.settle()
	// In whatever encoding it came, the element is found.
	u := key(t, b.reader(0), "specimen", "H", "79").Claims[0]
	if v, err := b.reader(0).Verify(t.Context(), b.blobs, &u); err != nil || !v.OK || !strings.HasPrefix(v.Excerpt, "<mouse ") || !strings.HasSuffix(v.Excerpt, "</mouse>") {
		t.Errorf("a document in UTF-16: %+v, %v", v, err)
	}
	if err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || len(d.Name()) < 32 {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return errors.Join(os.Chmod(path, 0o600), os.WriteFile(path, []byte(strings.Replace(string(text), "S1", "S2", 1)), 0o600))
	}); err != nil {
		t.Fatal(err)
	}
	c := key(t, b.reader(0), "specimen", "H", "77").Claims[0]
	v, err := b.reader(0).Verify(t.Context(), b.blobs, &c)
	if err != nil || v.OK || !strings.Contains(v.Differences[0], "damaged") {
		t.Errorf("got %+v, %v", v, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.reader(0).Verify(ctx, b.blobs, &c); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped, but %v", err)
	}
}

func testText(t *testing.T, b *bench) {
	l, err := b.reader(0).Row(t.Context(), "specimen", 2, 5)
	if err != nil {
		t.Fatal(err)
	}
	if l.Claims[1].Verification, err = b.reader(0).Verify(t.Context(), b.blobs, &l.Claims[1]); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := l.WriteText(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"specimen  centre=H  specimen_id=77", "row 2/5 of related_specimen, in the record at line 4", "4 claims, the greatest first", "CURRENT  3/2",
		"file         edit/H.2012-10-03.01.impc.zip", "attempt 2 from harwell", "equal to that of 1/2", "verified", "    | <mouse DOB="} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}
