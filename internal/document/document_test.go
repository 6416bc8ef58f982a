package document

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"tributary/internal/archive"
	"tributary/internal/blob"
	"tributary/schemas"
)

// stored puts an archive of two documents into a store and returns their
// references.
func stored(t *testing.T, first, second string) (blob.Store, []schemas.DocumentRef) {
	t.Helper()
	store, err := blob.NewDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range []struct {
		name, content string
		method        uint16
	}{{"a.xml", first, zip.Deflate}, {"b.xml", second, zip.Store}} {
		f, err := w.CreateHeader(&zip.FileHeader{Name: e.name, Method: e.method})
		if err == nil {
			_, err = f.Write([]byte(e.content))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	ref, err := blob.Put(t.Context(), store, bytes.NewReader(b.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	a, err := archive.Open(bytes.NewReader(b.Bytes()), int64(b.Len()), archive.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Verify(t.Context()); err != nil {
		t.Fatal(err)
	}
	var refs []schemas.DocumentRef
	for _, m := range a.Members() {
		refs = append(refs, Ref("file-1", ref.SHA256, m))
	}
	return store, refs
}

// text is a document's content.
func text(t *testing.T, store blob.Store, r schemas.DocumentRef) (string, error) {
	t.Helper()
	var got []byte
	err := Read(t.Context(), store, r, nil, func(in io.Reader) (err error) {
		got, err = io.ReadAll(in)
		return err
	})
	return string(got), err
}

func TestReferencesOpenTheirDocuments(t *testing.T) {
	store, refs := stored(t, "<a>first</a>", "<b>second</b>")
	for i, want := range []string{"<a>first</a>", "<b>second</b>"} {
		if refs[i].Document != schemas.DocumentID("file-1", refs[i].Entry) || refs[i].Size != int64(len(want)) || refs[i].SHA256 == "" || refs[i].MD5 == "" {
			t.Errorf("reference is %+v", refs[i])
		}
		got, err := text(t, store, refs[i])
		if err != nil || got != want {
			t.Errorf("document %d reads %q (%v)", i, got, err)
		}
	}
}

func TestAReferenceThatDoesNotFitIsDamage(t *testing.T) {
	store, refs := stored(t, "<a>first</a>", "<b>second</b>")
	for name, spoil := range map[string]func(r *schemas.DocumentRef){
		"checksum": func(r *schemas.DocumentRef) { r.CRC32++ },
		"size":     func(r *schemas.DocumentRef) { r.Size++ },
		"beyond":   func(r *schemas.DocumentRef) { r.Packed += 1 << 20 },
		"hash":     func(r *schemas.DocumentRef) { r.SHA256 = r.Archive },
		"offset":   func(r *schemas.DocumentRef) { r.Offset++ },
	} {
		ref := refs[0]
		spoil(&ref)
		if _, err := text(t, store, ref); !errors.Is(err, archive.ErrDamaged) || blob.Unusable(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAMissingArchive(t *testing.T) {
	store, refs := stored(t, "<a/>", "<b/>")
	if err := store.Remove(t.Context(), refs[0].Archive); err != nil {
		t.Fatal(err)
	}
	if _, err := text(t, store, refs[0]); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error is %v", err)
	}
}

// What is said of a document counts only if all its bytes are the right ones,
// those too that nobody has read.
func TestNobodyIsBelievedOnADamagedDocument(t *testing.T) {
	verdict := errors.New("the document is not valid")
	for name, damage := range map[string]func(b []byte) []byte{
		"changed behind what was read": func(b []byte) []byte { b[bytes.Index(b, []byte("second"))] ^= 1; return b },
		"shorter than the reference":   func(b []byte) []byte { return b[:bytes.Index(b, []byte("second"))] },
		"empty":                        func([]byte) []byte { return nil },
	} {
		store, refs := stored(t, "<a>first</a>", "<b>second</b>")
		if err := Read(t.Context(), store, refs[1], nil, func(io.Reader) error { return verdict }); !errors.Is(err, verdict) {
			t.Errorf("%s: before, a verdict is %v", name, err)
		}
		path := filepath.Join(store.(*blob.Dir).Path(), refs[1].Archive[:2], refs[1].Archive)
		b, err := os.ReadFile(path)
		if err == nil {
			err = errors.Join(os.Chmod(path, 0o600), os.WriteFile(path, damage(b), 0o600))
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := Read(t.Context(), store, refs[1], nil, func(io.Reader) error { return verdict }); !errors.Is(err, blob.ErrDamaged) || errors.Is(err, verdict) {
			t.Errorf("%s: a verdict is %v", name, err)
		}
	}
}
