package unzip

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/archive"
	"tributary/internal/blob"
	"tributary/internal/document"
	"tributary/internal/profile"
	"tributary/internal/stage"
	"tributary/schemas"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const (
	specimen   = "H.2026-01-02.1.specimen.impc.xml"
	experiment = "H.2026-01-02.1.experiment.impc.xml"
)

// bench is the stage with what it emitted.
type bench struct {
	*Unzipper
	t        *testing.T
	out      []schemas.Message
	fail     func(n int) error // at the nth message
	progress int
}

func newBench(t *testing.T) *bench {
	t.Helper()
	store, err := blob.NewDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	p, err := profile.Builtin("impc")
	if err != nil {
		t.Fatal(err)
	}
	centres, err := profile.NewCentreSet(p.Centres...)
	if err != nil {
		t.Fatal(err)
	}
	return &bench{t: t, Unzipper: New(archive.DefaultLimits(), Deps{Blobs: store, Rules: Rules{Profile: p, Centres: centres}, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return noon }})}
}

// pack is an archive of the given entries: name, content, name, content, …
func pack(t *testing.T, entries ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := 0; i < len(entries); i += 2 {
		f, err := w.Create(entries[i])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(entries[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// fetched stores bytes and is the message that they were fetched.
func (b *bench) fetched(content []byte) schemas.Message {
	b.t.Helper()
	ref, err := blob.Put(b.t.Context(), b.deps.Blobs, bytes.NewReader(content))
	if err != nil {
		b.t.Fatal(err)
	}
	return schemas.Message{ID: "event-1", Topic: schemas.DownloadFinishedTopic, Traceparent: "trace", Body: &schemas.DownloadFinished{
		Scope:   schemas.Scope{Run: schemas.LiveRun, Session: "session-1", Centre: "H", Source: "src"},
		FileRef: schemas.FileRef{File: schemas.FileID("add", "a.zip"), FileName: "a.zip", Action: "add"}, Attempt: 2, Look: 3,
		Result: schemas.Fetched, Outcome: ref.SHA256, SHA256: ref.SHA256, Size: ref.Size}}
}

func (b *bench) work(m schemas.Message) error {
	b.t.Helper()
	b.out = nil
	return b.Work(b.t.Context(), stage.Input{Message: m, Progress: func() { b.progress++ }, Emit: func(_ context.Context, msgs ...schemas.Message) error {
		for _, m := range msgs {
			if b.fail != nil {
				if err := b.fail(len(b.out)); err != nil {
					return err
				}
			}
			b.out = append(b.out, m)
		}
		return nil
	}})
}

// said sums up what was emitted, in order.
func (b *bench) said() []string {
	var out []string
	for _, m := range b.out {
		switch e := m.Body.(type) {
		case *schemas.UnzipFinished:
			out = append(out, fmt.Sprintf("end %s %s of %d and %d", e.Result, e.Outcome, e.Documents, e.Ignored))
		case *schemas.DocumentExtracted:
			out = append(out, fmt.Sprintf("document %s %s%s", e.Entry, e.Kind, e.Exception))
		case *schemas.StatusChanged:
			out = append(out, fmt.Sprintf("%s %s %s%s", e.Entity, e.Phase, e.Status, e.Exception))
		}
	}
	return out
}

func TestAnArchiveYieldsItsDocuments(t *testing.T) {
	b := newBench(t)
	m := b.fetched(pack(t, specimen, "<a/>", "readme.txt", "hello", "sub/H.2026-01-02.2.specimen.impc.xml", "<b/>", experiment, "<c/>", "odd.xml", "<d/>"))
	sha := m.Body.(*schemas.DownloadFinished).SHA256
	if err := b.work(m); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"download unzip running",
		"document " + specimen + " specimen", "document xml_name done",
		"document " + experiment + " experiment", "document xml_name done",
		"document odd.xml document_name_pattern", "document xml_name faileddocument_name_pattern",
		"end done done of 3 and 2", "download unzip done",
	}
	if d := cmp.Diff(want, b.said()); d != "" {
		t.Fatalf("messages differ (- want, + got):\n%s", d)
	}
	for i, m := range b.out[1:] {
		v := b.deps.Rules.Profile.Versions().Unzip
		if st, ok := m.Body.(*schemas.StatusChanged); ok && st.VersionOf != v {
			t.Errorf("message %d says that version %q judged, not %q", i+1, st.VersionOf, v)
		}
		if d, ok := m.Body.(*schemas.DocumentExtracted); ok && d.UnzipVersion != v {
			t.Errorf("message %d says that version %q judged, not %q", i+1, d.UnzipVersion, v)
		}
	}
	doc := b.out[1].Body.(*schemas.DocumentExtracted)
	if doc.Document != schemas.DocumentID(doc.File, specimen) || b.out[1].Key != doc.Document || doc.Archive != sha || doc.Download != sha || doc.Unzip != "done" || doc.Attempt != 2 ||
		doc.Session != "session-1" || doc.SHA256 == "" || doc.MD5 == "" || doc.Size != 4 || doc.DocCentre != "H" || doc.DocDate != "2026-01-02" || doc.DocInc != 1 || b.out[1].Traceparent != "trace" {
		t.Errorf("document is %+v", doc)
	}
	if st := b.out[2].Body.(*schemas.StatusChanged); st.Outcome != sha+"/done" || b.out[2].Key != doc.File || st.Attempt != 2 {
		t.Errorf("status is %+v", st)
	}
	if st := b.out[6].Body.(*schemas.StatusChanged); st.ErrorsTotal != 1 || len(st.Errors) != 1 || st.Errors[0].Exception != "document_name_pattern" || st.Errors[0].Message == "" {
		t.Errorf("a bad name's status is %+v", st)
	}
	end := b.out[7].Body.(*schemas.UnzipFinished)
	if end.Download != sha || end.SHA256 != sha || end.Attempt != 2 || b.out[7].Key != end.File {
		t.Errorf("end is %+v", end)
	}
	if st := b.out[8].Body.(*schemas.StatusChanged); st.Rows != 3 || st.Outcome != sha+"/done" ||
		st.Attributes["ignored_entries"] != "2" || st.Attributes["ignored_names"] != `"readme.txt" "sub/H.2026-01-02.2.specimen.impc.xml"` {
		t.Errorf("status is %+v", st)
	}
	if b.progress == 0 {
		t.Error("the watchdog heard nothing")
	}
	// The reference opens the document.
	var text bytes.Buffer
	err := document.Read(t.Context(), b.deps.Blobs, doc.DocumentRef, nil, func(r io.Reader) error {
		_, err := text.ReadFrom(r)
		return err
	})
	if err != nil || text.String() != "<a/>" {
		t.Errorf("the document reads %q (%v)", text.String(), err)
	}
}

// One refused entry fails the whole zip: nothing is announced, though it be
// the last.
func TestOneRefusedEntryFailsTheWhole(t *testing.T) {
	good := pack(t, specimen, "<a/>", experiment, strings.Repeat("<c/>", 100))
	spoiled := bytes.Clone(good)
	at := bytes.Index(spoiled, []byte(experiment)) + len(experiment) + 3
	spoiled[at] ^= 0xff
	tests := []struct {
		name, exception string
		content         []byte
		prepare         func(b *bench)
	}{
		{"path slip", "zip_path_slip", pack(t, specimen, "<a/>", "../"+experiment, "<c/>"), nil},
		{"absolute path", "zip_path_absolute", pack(t, specimen, "<a/>", "/"+experiment, "<c/>"), nil},
		{"backslash", "zip_path_backslash", pack(t, specimen, "<a/>", `sub\`+experiment, "<c/>"), nil},
		{"duplicate", "zip_duplicate_entry", pack(t, specimen, "<a/>", specimen, "<a/>"), nil},
		{"nested", "zip_nested", pack(t, specimen, "<a/>", "more.zip", string(good)), nil},
		{"no document", "no_documents", pack(t, "readme.txt", "hello", "sub/"+specimen, "<a/>"), nil},
		{"empty", "no_documents", pack(t), nil},
		{"no archive", "zip_not_an_archive", []byte("<html>404 not found</html>"), nil},
		{"no bytes", "zip_not_an_archive", nil, nil},
		{"ratio", "zip_ratio", pack(t, specimen, strings.Repeat("a", 4<<20)), nil},
		{"too many entries", "zip_too_many_entries", good, func(b *bench) { b.limits.MaxEntries = 1 }},
		{"too large", "zip_too_large", good, func(b *bench) { b.limits.MaxTotal = 100 }},
		{"spoiled", "", spoiled, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			if tt.prepare != nil {
				tt.prepare(b)
			}
			m := b.fetched(tt.content)
			if err := b.work(m); err != nil {
				t.Fatal(err)
			}
			if len(b.out) != 3 {
				t.Fatalf("messages: %v", b.said())
			}
			end, ok := b.out[1].Body.(*schemas.UnzipFinished)
			if !ok || end.Result != schemas.FailedEnd || end.Documents != 0 || end.Message == "" || end.Exception != end.Outcome || end.Exception == "" || tt.exception != "" && end.Exception != tt.exception {
				t.Fatalf("end is %+v", b.out[1].Body)
			}
			st, ok := b.out[2].Body.(*schemas.StatusChanged)
			if !ok || st.Phase != "unzip" || st.Status != "failed" || st.Exception != end.Exception || st.Outcome != end.SHA256+"/"+end.Exception {
				t.Errorf("status is %+v", b.out[2].Body)
			}
		})
	}
}

func TestIdsAreTheSameAgain(t *testing.T) {
	b := newBench(t)
	m := b.fetched(pack(t, specimen, "<a/>", "odd.xml", "<b/>", "odd2.xml", "<b/>"))
	ids := func() (out []string) {
		for _, m := range b.out {
			out = append(out, m.ID)
		}
		return out
	}
	if err := b.work(m); err != nil {
		t.Fatal(err)
	}
	first := ids()
	seen := map[string]bool{}
	for _, id := range first {
		if seen[id] {
			t.Errorf("the id %s is given twice", id)
		}
		seen[id] = true
	}
	boom := errors.New("broker is away")
	b.fail = func(n int) error {
		if n == 3 {
			return boom
		}
		return nil
	}
	if err := b.work(m); !errors.Is(err, boom) {
		t.Fatalf("error is %v", err)
	}
	b.fail = nil
	if err := b.work(m); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(first, ids()); d != "" {
		t.Errorf("ids differ:\n%s", d)
	}
	m.ID = "event-2" // other bytes, or another attempt
	if err := b.work(m); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids() {
		if seen[id] {
			t.Errorf("another input has the id %s too", id)
		}
	}
}

func TestOnlyFetchedFilesAreUnzipped(t *testing.T) {
	b := newBench(t)
	for _, result := range []string{schemas.FailedEnd, schemas.NotTried, schemas.Quarantined} {
		if err := b.work(schemas.Message{Body: &schemas.DownloadFinished{Result: result, Outcome: "x"}}); err != nil || len(b.out) != 0 {
			t.Errorf("%s: %v, %v", result, err, b.said())
		}
	}
}

// A store that cannot be read is our trouble, not the archive's.
func TestAStoreThatIsAwayIsNoOutcome(t *testing.T) {
	b := newBench(t)
	m := b.fetched(pack(t, specimen, "<a/>"))
	if err := b.deps.Blobs.Remove(t.Context(), m.Body.(*schemas.DownloadFinished).SHA256); err != nil {
		t.Fatal(err)
	}
	if err := b.work(m); err == nil {
		t.Error("no error")
	}
	for _, m := range b.out {
		if _, ok := m.Body.(*schemas.UnzipFinished); ok {
			t.Errorf("messages: %v", b.said())
		}
	}
}

func TestFail(t *testing.T) {
	b := newBench(t)
	m := b.fetched(pack(t, specimen, "<a/>"))
	b.out = b.Fail(m, errors.New("panic: boom"))
	if d := cmp.Diff([]string{"end quarantined quarantined of 0 and 0", "download unzip failedquarantined"}, b.said()); d != "" {
		t.Errorf("messages differ:\n%s", d)
	}
}

// What a stranger chose to name an entry must not make an event too large.
func TestNamesInEventsAreBounded(t *testing.T) {
	b := newBench(t)
	entries := []string{specimen, "<a/>"}
	for i := range 50 {
		entries = append(entries, fmt.Sprintf("%03d%s", i, strings.Repeat("\u202e", 200)), "x")
	}
	if err := b.work(b.fetched(pack(t, entries...))); err != nil {
		t.Fatal(err)
	}
	st, ok := b.out[len(b.out)-1].Body.(*schemas.StatusChanged)
	if names := st.Attributes["ignored_names"]; !ok || len(names) > maxIgnored || strings.Contains(names, "\u202e") || st.Attributes["ignored_entries"] != "50" {
		t.Errorf("status is %+v", b.out[len(b.out)-1].Body)
	}
	if err := b.work(b.fetched(pack(t, specimen, "<a/>", "../"+strings.Repeat("\u202e", 300), "x"))); err != nil {
		t.Fatal(err)
	}
	if end, ok := b.out[1].Body.(*schemas.UnzipFinished); !ok || len(end.Message) > 1000 || end.Exception != archive.PathSlip {
		t.Errorf("end is %+v", b.out[1].Body)
	}
}

// Bytes that rotted in the store are no verdict on the archive: control is told,
// nobody else, and a healed blob is unzipped as if nothing had happened.
func TestDamagedBytesAreNoVerdict(t *testing.T) {
	content := pack(t, specimen, "<a/>", experiment, "<b/>")
	for name, damage := range map[string]func(path string) error{
		"shorter": func(path string) error { return os.Truncate(path, int64(len(content)/2)) },
		"empty":   func(path string) error { return os.Truncate(path, 0) },
		"longer":  func(path string) error { return os.WriteFile(path, append(bytes.Clone(content), 0), 0o600) },
		"changed": func(path string) error {
			b := bytes.Clone(content)
			b[bytes.Index(b, []byte(specimen))] ^= 1
			return os.WriteFile(path, b, 0o600)
		},
		"gone": os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			var told []string
			b.deps.Damaged = func(_ context.Context, sha256 string, _ error) (string, error) {
				told = append(told, sha256)
				return "", nil
			}
			m := b.fetched(content)
			sha := m.Body.(*schemas.DownloadFinished).SHA256
			path := filepath.Join(b.deps.Blobs.(*blob.Dir).Path(), sha[:2], sha)
			if err := errors.Join(os.Chmod(path, 0o600), damage(path)); err != nil {
				t.Fatal(err)
			}
			if err := b.work(m); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"download unzip running"}, b.said()); diff != "" {
				t.Errorf("said of damaged bytes (- want, + got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{sha}, told); diff != "" {
				t.Errorf("control is told of (- want, + got):\n%s", diff)
			}
			if err := b.work(b.fetched(content)); err != nil || len(b.out) < 5 {
				t.Errorf("once it is healed: %v, %v", err, b.said())
			}
		})
	}
}
