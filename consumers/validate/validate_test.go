package validate

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/archive"
	"tributary/internal/blob"
	"tributary/internal/config"
	"tributary/internal/document"
	"tributary/internal/profile"
	"tributary/internal/stage"
	"tributary/schemas"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// bench is the stage with what it emitted.
type bench struct {
	*Validator
	t        *testing.T
	store    blob.Store
	out      []schemas.Message
	progress int
}

func newBench(t *testing.T, cfg config.Validate) *bench {
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
	v, err := New(cfg, Deps{Profile: p, Blobs: store, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return noon }})
	if err != nil {
		t.Fatal(err)
	}
	return &bench{t: t, Validator: v, store: store}
}

// sample is a complete, valid document.
func sample(t *testing.T, kind string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "internal", "xsdcheck", "testdata", "complete."+kind+".xml"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// extracted stores a document in an archive and is the message that announces
// it.
func (b *bench) extracted(kind, content string) schemas.Message {
	b.t.Helper()
	var packed bytes.Buffer
	w := zip.NewWriter(&packed)
	entry := "H.2026-01-02.1." + kind + ".impc.xml"
	f, err := w.Create(entry)
	if err == nil {
		_, err = f.Write([]byte(content))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		b.t.Fatal(err)
	}
	ref, err := blob.Put(b.t.Context(), b.store, bytes.NewReader(packed.Bytes()))
	if err != nil {
		b.t.Fatal(err)
	}
	a, err := archive.Open(bytes.NewReader(packed.Bytes()), int64(packed.Len()), archive.DefaultLimits())
	if err != nil {
		b.t.Fatal(err)
	}
	if err := a.Verify(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
	file := schemas.FileID("add", "a.zip")
	return schemas.Message{ID: "event-1", Topic: schemas.DocumentExtractedTopic, Traceparent: "trace", Body: &schemas.DocumentExtracted{
		Scope:   schemas.Scope{Run: schemas.LiveRun, Session: "session-1", Centre: "H", Source: "src"},
		FileRef: schemas.FileRef{File: file, FileName: "a.zip", Action: "add"}, DocumentRef: document.Ref(file, ref.SHA256, a.Members()[0]),
		DocumentName: schemas.DocumentName{Kind: kind, DocCentre: "H", DocDate: "2026-01-02", DocInc: 1}, Attempt: 2, Download: ref.SHA256, Unzip: "done"}}
}

func (b *bench) work(m schemas.Message) error {
	b.t.Helper()
	b.out = nil
	return b.Work(b.t.Context(), stage.Input{Message: m, Progress: func() { b.progress++ }, Emit: func(_ context.Context, msgs ...schemas.Message) error {
		b.out = append(b.out, msgs...)
		return nil
	}})
}

// judged works on a document and returns its verdict and status.
func (b *bench) judged(m schemas.Message) (*schemas.DocumentValidated, *schemas.StatusChanged) {
	b.t.Helper()
	if err := b.work(m); err != nil {
		b.t.Fatal(err)
	}
	return b.both()
}

func (b *bench) both() (*schemas.DocumentValidated, *schemas.StatusChanged) {
	b.t.Helper()
	if len(b.out) != 2 {
		b.t.Fatalf("%d messages", len(b.out))
	}
	v, ok := b.out[0].Body.(*schemas.DocumentValidated)
	st, ok2 := b.out[1].Body.(*schemas.StatusChanged)
	if !ok || !ok2 || b.out[0].Key != v.Document || b.out[1].Key != v.File || st.Document != v.Document || st.Attempt != v.Attempt || st.Outcome != v.Download+"/"+v.Unzip {
		b.t.Fatalf("messages are %+v", b.out)
	}
	return v, st
}

func TestAValidDocument(t *testing.T) {
	for _, kind := range []string{"specimen", "experiment"} {
		b := newBench(t, config.Default().Validate)
		m := b.extracted(kind, sample(t, kind))
		d := m.Body.(*schemas.DocumentExtracted)
		d.UnzipVersion = "names"
		v, st := b.judged(m)
		want := &schemas.DocumentValidated{Scope: d.Scope, FileRef: d.FileRef, DocumentRef: d.DocumentRef, DocumentName: d.DocumentName, Attempt: 2, Download: d.Download, Unzip: "done",
			Result: schemas.Valid, Outcome: "valid", Phase: "xsd", Profile: "impc@1", UnzipVersion: "names", XSDVersion: b.live.version.XSD[kind]}
		if diff := cmp.Diff(want, v); diff != "" {
			t.Errorf("verdict differs (- want, + got):\n%s", diff)
		}
		if st.Phase != "xsd" || st.Status != "done" || st.Exception != "" || len(st.Errors) != 0 || len(st.VersionOf) != 12 || st.VersionOf != v.XSDVersion {
			t.Errorf("status is %+v", st)
		}
		if b.progress == 0 {
			t.Error("the watchdog heard nothing")
		}
	}
}

func TestAnInvalidDocumentHasItsErrorsWithTheirPlaces(t *testing.T) {
	good := sample(t, "specimen")
	lines := strings.Split(good, "\n")
	at := -1
	for i, l := range lines {
		if strings.Contains(l, `gender="`) {
			at = i
			break
		}
	}
	if at < 0 {
		t.Fatal("the sample has no line with a gender")
	}
	lines[at] = strings.Replace(lines[at], `gender="`, `gender="un`, 1)
	b := newBench(t, config.Default().Validate)
	v, st := b.judged(b.extracted("specimen", strings.Join(lines, "\n")))
	if v.Result != schemas.FailedEnd || v.Phase != "xsd" || v.Exception == "" || v.Outcome != v.Exception || v.ErrorsTotal < 1 {
		t.Errorf("verdict is %+v", v)
	}
	if st.Status != "failed" || len(st.Errors) == 0 || st.Errors[0].Column < 1 || st.Errors[0].Message == "" || st.Errors[0].Exception != v.Exception || st.Message != st.Errors[0].Message {
		t.Fatalf("status is %+v", st)
	}
	// An attribute's error is at its element, which may begin further up.
	if line := int(st.Errors[0].Line); line < 1 || line > at+1 {
		t.Errorf("the error is at line %d, the mistake at %d", line, at+1)
	}
	for _, broken := range []string{"", "no xml", good[:len(good)/2], `<!DOCTYPE x [<!ENTITY e "x">]>` + "\n<x/>", "<other/>"} {
		v, st := b.judged(b.extracted("specimen", broken))
		if v.Result != schemas.FailedEnd || v.Exception == "" || st.Status != "failed" || len(st.Errors) == 0 {
			t.Errorf("%.20q: verdict %+v with %d errors", broken, v, len(st.Errors))
		}
	}
}

func TestErrorsAreCapped(t *testing.T) {
	var many strings.Builder
	many.WriteString(`<centreSpecimenSet xmlns="http://www.mousephenotype.org/dcc/exportlibrary/datastructure/core/specimen"><centre centreID="H">`)
	for i := range 50 {
		fmt.Fprintf(&many, "\n<mouse specimenID=\"m%d\"/>", i)
	}
	many.WriteString("</centre></centreSpecimenSet>")
	cfg := config.Default().Validate
	cfg.MaxErrors = 7
	b := newBench(t, cfg)
	v, st := b.judged(b.extracted("specimen", many.String()))
	if len(st.Errors) != 8 || st.ErrorsTotal <= 7 || v.ErrorsTotal != st.ErrorsTotal {
		t.Fatalf("%d errors of %d and %d", len(st.Errors), st.ErrorsTotal, v.ErrorsTotal)
	}
	if last := st.Errors[7]; !strings.Contains(last.Message, "more errors") || !strings.Contains(last.Message, "first 7") || last.Line != st.Errors[6].Line || last.Exception == "" {
		t.Errorf("the last error is %+v", last)
	}
	if strings.Contains(st.Errors[6].Message, "more errors") {
		t.Errorf("the error before it is %+v", st.Errors[6])
	}
}

func TestMessagesDoNotTurnText(t *testing.T) {
	b := newBench(t, config.Default().Validate)
	_, st := b.judged(b.extracted("specimen", strings.Replace(sample(t, "specimen"), `gender="`, "gender=\"\u202egpj", 1)))
	if len(st.Errors) == 0 || strings.Contains(st.Errors[0].Message, "\u202e") || !strings.Contains(st.Errors[0].Message, "gender") {
		t.Errorf("errors are %+v", st.Errors)
	}
}

// A name that was refused passes as failed, so that its file's end comes; its
// status was told by unzip.
func TestARefusedNamePassesThrough(t *testing.T) {
	b := newBench(t, config.Default().Validate)
	m := b.extracted("specimen", "irrelevant")
	d := m.Body.(*schemas.DocumentExtracted)
	d.DocumentName, d.Exception, d.Message = schemas.DocumentName{}, "document_name_pattern", "odd"
	if err := b.work(m); err != nil {
		t.Fatal(err)
	}
	if len(b.out) != 1 {
		t.Fatalf("%d messages", len(b.out))
	}
	v, ok := b.out[0].Body.(*schemas.DocumentValidated)
	if !ok || v.Result != schemas.FailedEnd || v.Phase != "xml_name" || v.Exception != "document_name_pattern" || v.ErrorsTotal != 1 {
		t.Errorf("verdict is %+v", b.out[0].Body)
	}
}

// A kind that this member's profile lacks is the member's fault.
func TestAnUnknownKindIsNoVerdict(t *testing.T) {
	b := newBench(t, config.Default().Validate)
	if err := b.work(b.extracted("line", "<x/>")); err == nil || len(b.out) != 0 {
		t.Errorf("error %v, %d messages", err, len(b.out))
	}
}

func TestTroubleOfTheStoreIsNoVerdict(t *testing.T) {
	b := newBench(t, config.Default().Validate)
	m := b.extracted("specimen", sample(t, "specimen"))
	d := m.Body.(*schemas.DocumentExtracted)
	other := b.extracted("specimen", sample(t, "specimen")+"\n").Body.(*schemas.DocumentExtracted)
	right := d.Archive
	d.Archive = other.Archive
	if err := b.work(m); !errors.Is(err, archive.ErrDamaged) || len(b.out) != 0 {
		t.Errorf("other bytes: %v, %d messages", err, len(b.out))
	}
	d.Archive = right
	if err := b.store.Remove(t.Context(), right); err != nil {
		t.Fatal(err)
	}
	if err := b.work(m); err == nil || len(b.out) != 0 {
		t.Errorf("no bytes: %v, %d messages", err, len(b.out))
	}
}

// Sequence is told of each verdict, and takes the first; the log is told once,
// whatever a record that is read again is held for.
func TestIdsFollowFromTheVerdict(t *testing.T) {
	b := newBench(t, config.Default().Validate)
	m := b.extracted("specimen", sample(t, "specimen"))
	ids := func() [2]string { return [2]string{b.out[0].ID, b.out[1].ID} }
	b.judged(m)
	first := ids()
	b.judged(m)
	if ids() != first {
		t.Error("the same verdict has other ids")
	}
	b.out = b.Fail(m, errors.New("panic: boom"))
	if got := ids(); got[0] == first[0] || got[1] != first[1] {
		t.Errorf("another verdict has the ids %v, the first had %v: want another, and the same", got, first)
	}
	v, st := b.both()
	if v.Result != schemas.Quarantined || v.Exception != schemas.Quarantined || v.Phase != "xsd" || st.Status != "failed" || st.Message != "panic: boom" {
		t.Errorf("quarantined: %+v, %+v", v, st)
	}
}

// Bytes that rotted in the store are no verdict on a document, whether what is
// left of it would be valid, invalid, or can't be read: control is told, nobody
// else, and nothing is tried for ever.
func TestDamagedBytesAreNoVerdict(t *testing.T) {
	content := sample(t, "specimen")
	for name, damage := range map[string]func(b []byte, ref schemas.DocumentRef) []byte{
		"shorter than the reference": func(b []byte, ref schemas.DocumentRef) []byte { return b[:ref.Offset+ref.Packed/2] },
		"empty":                      func([]byte, schemas.DocumentRef) []byte { return nil },
		"changed":                    func(b []byte, ref schemas.DocumentRef) []byte { b[ref.Offset+ref.Packed/2] ^= 0x40; return b },
		"changed at its beginning":   func(b []byte, ref schemas.DocumentRef) []byte { b[ref.Offset+2] ^= 0x40; return b },
		"gone":                       nil,
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, config.Default().Validate)
			var told []string
			b.deps.Damaged = func(_ context.Context, sha256 string, _ error) (string, error) {
				told = append(told, sha256)
				return "", nil
			}
			m := b.extracted("specimen", content)
			ref := m.Body.(*schemas.DocumentExtracted).DocumentRef
			path := filepath.Join(b.store.(*blob.Dir).Path(), ref.Archive[:2], ref.Archive)
			bytes, err := os.ReadFile(path)
			if err == nil && damage == nil {
				err = os.Remove(path)
			} else if err == nil {
				err = errors.Join(os.Chmod(path, 0o600), os.WriteFile(path, damage(bytes, ref), 0o600))
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := b.work(m); err != nil || len(b.out) != 0 {
				t.Errorf("of damaged bytes it said %v, %v", b.out, err)
			}
			if diff := cmp.Diff([]string{ref.Archive}, told); diff != "" {
				t.Errorf("control is told of (- want, + got):\n%s", diff)
			}
		})
	}
}
