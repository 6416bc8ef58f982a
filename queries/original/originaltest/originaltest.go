// Package originaltest has stored archives for tests of what shows them.
package originaltest

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"tributary/internal/blob"
)

// Entry is a document to be packed.
type Entry struct{ Name, Text string }

// SHA256 is that of the document.
func (e Entry) SHA256() string {
	sum := sha256.Sum256([]byte(e.Text))
	return hex.EncodeToString(sum[:])
}

// Packed is an archive of some documents.
func Packed(t *testing.T, entries ...Entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range entries {
		f, err := w.Create(e.Name)
		if err == nil {
			_, err = f.Write([]byte(e.Text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Store is a blob store with an archive of some documents, and the archive's name there.
func Store(t *testing.T, entries ...Entry) (*blob.Dir, string) {
	t.Helper()
	store, err := blob.NewDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	ref, err := blob.Put(t.Context(), store, bytes.NewReader(Packed(t, entries...)))
	if err != nil {
		t.Fatal(err)
	}
	return store, ref.SHA256
}
