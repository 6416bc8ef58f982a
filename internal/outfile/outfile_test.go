package outfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func saying(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

// A file takes the place of the one before it at once: who reads the old one still
// has it whole. What can't be put there leaves nothing behind.
func TestFilesAreWholeOrNotThere(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.csv")
	if err := Write(path, false, saying("the first")); err != nil {
		t.Fatal(err)
	}
	reader, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if err := Write(path, true, saying("the second")); err != nil {
		t.Fatal(err)
	}
	if first, err := io.ReadAll(reader); err != nil || string(first) != "the first" {
		t.Errorf("who read the first file has %q, %v", first, err)
	}
	never := func(io.Writer) error { t.Error("written although it is refused"); return nil }
	if err := Write(path, false, never); !errors.Is(err, ErrExists) {
		t.Errorf("a file that is there: %v", err)
	}
	late := filepath.Join(dir, "late.csv")
	if err := Write(late, false, func(io.Writer) error { return os.WriteFile(late, []byte("another's"), 0o600) }); !errors.Is(err, ErrExists) {
		t.Errorf("a file that somebody else made meanwhile: %v", err)
	}
	torn := errors.New("the connection is lost")
	if err := Write(filepath.Join(dir, "half.csv"), false, func(w io.Writer) error { return errors.Join(saying("half")(w), torn) }); !errors.Is(err, torn) {
		t.Errorf("a writer that fails: %v", err)
	}
	folder := filepath.Join(dir, "folder")
	if err := os.MkdirAll(filepath.Join(folder, "c"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Write(folder, true, never); err == nil {
		t.Error("a folder was replaced")
	}
	got := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, _ := os.ReadFile(filepath.Join(dir, e.Name()))
		got[e.Name()] = string(text)
	}
	if d := cmp.Diff(map[string]string{"a.csv": "the second", "late.csv": "another's", "folder": ""}, got); d != "" {
		t.Error(d)
	}
}
