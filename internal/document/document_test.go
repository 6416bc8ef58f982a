package document

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"io/fs"
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
	var refs []schemas.DocumentRef
	if err := a.Verify(t.Context(), func(m archive.Member) error { refs = append(refs, Ref("file-1", ref.SHA256, m)); return nil }); err != nil {
		t.Fatal(err)
	}
	return store, refs
}

func TestReferencesOpenTheirDocuments(t *testing.T) {
	store, refs := stored(t, "<a>first</a>", "<b>second</b>")
	for i, want := range []string{"<a>first</a>", "<b>second</b>"} {
		if refs[i].Document != schemas.DocumentID("file-1", refs[i].Entry) || refs[i].Size != int64(len(want)) || refs[i].SHA256 == "" || refs[i].MD5 == "" {
			t.Errorf("reference is %+v", refs[i])
		}
		r, err := Open(t.Context(), store, refs[i])
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if err != nil || string(got) != want {
			t.Errorf("document %d reads %q (%v)", i, got, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestAReferenceThatDoesNotFitIsDamage(t *testing.T) {
	store, refs := stored(t, "<a>first</a>", "<b>second</b>")
	for name, spoil := range map[string]func(r *schemas.DocumentRef){
		"checksum": func(r *schemas.DocumentRef) { r.CRC32++ },
		"size":     func(r *schemas.DocumentRef) { r.Size++ },
		"offset":   func(r *schemas.DocumentRef) { r.Offset++ },
	} {
		ref := refs[0]
		spoil(&ref)
		r, err := Open(t.Context(), store, ref)
		if err == nil {
			_, err = io.ReadAll(r)
			_ = r.Close()
		}
		if !errors.Is(err, archive.ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAMissingArchive(t *testing.T) {
	store, refs := stored(t, "<a/>", "<b/>")
	if err := store.Remove(t.Context(), refs[0].Archive); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), store, refs[0]); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error is %v", err)
	}
}
