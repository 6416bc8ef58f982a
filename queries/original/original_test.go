package original_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/blob"
	"tributary/queries/original"
	"tributary/queries/original/originaltest"
)

const (
	plain = "<a>\r\n  <b>1</b>\n  <c x=\"ä\">2</c>\n\n</a>\n"
	most  = 1 << 20
)

// wide is a document of UTF-16, whose lines and columns are those of its UTF-8 form.
func wide(text string) string {
	var b strings.Builder
	for _, u := range append([]uint16{0xFEFF}, utf16.Encode([]rune(text))...) {
		b.Write([]byte{byte(u), byte(u >> 8)})
	}
	return b.String()
}

// write is how tests write excerpts down: the line of the place begins with !, and what
// stands there is in [ ].
func write(lines []original.Line) (out []string) {
	for _, l := range lines {
		text := l.Before
		if l.At != "" {
			text += "[" + l.At + "]"
		}
		text += l.After
		if l.Begun {
			text = "…" + text
		}
		if l.Goes {
			text += "…"
		}
		hit := ""
		if l.Hit {
			hit = "!"
		}
		out = append(out, fmt.Sprintf("%s%d %s", hit, l.Number, text))
	}
	return out
}

func TestExcerpts(t *testing.T) {
	long := strings.Repeat("ä", 1000) // of two bytes each
	for name, x := range map[string]struct {
		text         string
		line, column int
		want         []string
	}{
		"tag":                 {plain, 3, 3, []string{"1 <a>", "2   <b>1</b>", "!3   [<c x=\"ä\">]2</c>", "4 ", "5 </a>"}},
		"word":                {plain, 3, 13, []string{"1 <a>", "2   <b>1</b>", "!3   <c x=\"ä\">[2]</c>", "4 ", "5 </a>"}},
		"first line":          {plain, 1, 1, []string{"!1 [<a>]", "2   <b>1</b>", "3   <c x=\"ä\">2</c>", "4 "}},
		"lines before":        {strings.Repeat("x\n", 8), 8, 1, []string{"5 x", "6 x", "7 x", "!8 [x]"}},
		"end of the document": {plain, 6, 1, []string{"3   <c x=\"ä\">2</c>", "4 ", "5 </a>", "!6 "}},
		"behind the line":     {"<a>\n<b>", 1, 70, []string{"!1 <a>", "2 <b>"}},
		"tag without end":     {"<a", 1, 1, []string{"!1 [<a]"}},
		"behind the document": {plain, 9, 1, nil},
		"no line":             {plain, 0, 0, nil},
		"no column":           {plain, 1, 0, []string{"!1 [<a>]", "2   <b>1</b>", "3   <c x=\"ä\">2</c>", "4 "}},
		"UTF-16":              {wide(plain), 3, 13, []string{"1 <a>", "2   <b>1</b>", "!3   <c x=\"ä\">[2]</c>", "4 ", "5 </a>"}},
		"no encoding":         {"\x4C\x6F\xA7\x94", 1, 1, nil},
		"not UTF-8":           {"<a>\xff</a>", 1, 4, []string{"!1 <a>[\uFFFD]</a>"}},
		"encoding lost":       {`<?xml version="1.0" encoding="US-ASCII"?>` + "\n<a>\n<b>ä</b>", 2, 1, []string{`1 <?xml version="1.0"                    ?>`, "!2 [<a>]", "3 <b>"}},
		"long line":           {"<a>" + long + "</a>", 1, 1, []string{"!1 [<a>]" + strings.Repeat("ä", 148) + "…"}},
		"far on a long line":  {"<a>" + long + "<b>2</b>" + long, 1, 2004, []string{"!1 …" + strings.Repeat("ä", 50) + "[<b>]2</b>" + strings.Repeat("ä", 96) + "…"}},
		"long lines around":   {long + "\n<a>\n" + long, 2, 1, []string{"1 " + strings.Repeat("ä", 150) + "…", "!2 [<a>]", "3 " + strings.Repeat("ä", 150) + "…"}},
		"over many pieces":    {strings.Repeat("y", 100_000) + "<b>\n<c>", 1, 100_001, []string{"!1 …" + strings.Repeat("y", 100) + "[<b>]", "2 <c>"}},
	} {
		t.Run(name, func(t *testing.T) {
			entry := originaltest.Entry{Name: "a.xml", Text: x.text}
			store, name := originaltest.Store(t, originaltest.Entry{Name: "other.xml", Text: "<other/>"}, entry)
			r := original.Reader{Blobs: store}
			got, err := r.Excerpts(t.Context(), original.Document{Archive: name, Ordinal: 1, SHA256: entry.SHA256()}, most, []original.Place{{Line: x.line, Column: x.column}})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(x.want, write(got[0])); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Places have their lines in the order in which they were asked for, whatever that is,
// and only so many have any.
func TestExcerptsOfManyPlaces(t *testing.T) {
	entry := originaltest.Entry{Name: "a.xml", Text: strings.Repeat("<x/>\n", 1000)}
	store, name := originaltest.Store(t, entry)
	var places []original.Place
	for i := range 500 {
		places = append(places, original.Place{Line: 1000 - i, Column: 1})
	}
	got, err := (&original.Reader{Blobs: store}).Excerpts(t.Context(), original.Document{Archive: name, SHA256: entry.SHA256()}, most, places)
	if err != nil || len(got) != 200 {
		t.Fatalf("%d of them, %v", len(got), err)
	}
	for i, lines := range got {
		if len(lines) < 4 || lines[3].Number != 1000-i || !lines[3].Hit {
			t.Fatalf("place %d has %v", i, write(lines))
		}
	}
}

// Only the right bytes are shown, and else people are told why none are.
func TestUnusable(t *testing.T) {
	entry := originaltest.Entry{Name: "a.xml", Text: plain}
	store, name := originaltest.Store(t, originaltest.Entry{Name: "notes.txt", Text: "no document"}, entry)
	good := original.Document{Archive: name, Ordinal: 1, SHA256: entry.SHA256()}
	at := func(change func(d *original.Document)) original.Document { d := good; change(&d); return d }
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, x := range map[string]struct {
		ctx  context.Context
		d    original.Document
		most int64
		want string
	}{
		"gone":           {t.Context(), at(func(d *original.Document) { d.Archive = strings.Repeat("0", 64) }), most, "not in the blob store any more"},
		"no name":        {t.Context(), at(func(d *original.Document) { d.Archive = "../../etc/passwd" }), most, "not in the blob store any more"},
		"other bytes":    {t.Context(), at(func(d *original.Document) { d.SHA256 = strings.Repeat("0", 64) }), most, "not those that were received"},
		"no such entry":  {t.Context(), at(func(d *original.Document) { d.Ordinal = 2 }), most, "not those that were received"},
		"before all":     {t.Context(), at(func(d *original.Document) { d.Ordinal = -1 }), most, "not those that were received"},
		"not a document": {t.Context(), at(func(d *original.Document) { d.Ordinal = 0 }), most, "not those that were received"},
		"too large":      {t.Context(), good, int64(len(plain)) - 1, "too large"},
		"too late":       {ended, good, most, "took too long"},
	} {
		lines, err := (&original.Reader{Blobs: store}).Excerpts(x.ctx, x.d, x.most, []original.Place{{Line: 1, Column: 1}})
		if err == nil || lines != nil || !strings.Contains(original.Words(err), x.want) {
			t.Errorf("%s: %v, %v, said as %q", name, lines, err, original.Words(err))
		}
	}
}

// damage changes a byte of a stored blob.
func damage(t *testing.T, store *blob.Dir, name string, at int) {
	t.Helper()
	path := filepath.Join(store.Path(), name[:2], name)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	content[at] ^= 1
	if err := errors.Join(os.Chmod(path, 0o600), os.WriteFile(path, content, 0o600)); err != nil {
		t.Fatal(err)
	}
}

func TestCopy(t *testing.T) {
	entry := originaltest.Entry{Name: "a.xml", Text: plain}
	store, name := originaltest.Store(t, entry)
	r, d := original.Reader{Blobs: store}, original.Document{Archive: name, SHA256: entry.SHA256()}
	var b bytes.Buffer
	var size int64
	to := func(n int64) (io.Writer, error) { b.Reset(); size = n; return &b, nil }
	if err := r.Copy(t.Context(), d, to); err != nil || b.String() != plain || size != int64(len(plain)) {
		t.Errorf("%q of %d bytes, %v", b.String(), size, err)
	}
	packed := originaltest.Packed(t, entry)
	if err := r.CopyFile(t.Context(), name, to); err != nil || !bytes.Equal(b.Bytes(), packed) || size != int64(len(packed)) {
		t.Errorf("%d bytes of %d, %v", b.Len(), size, err)
	}
	full := errors.New("full")
	none := func(int64) (io.Writer, error) { return nil, full }
	if err := errors.Join(r.Copy(t.Context(), d, none), r.CopyFile(t.Context(), name, none)); !errors.Is(err, full) {
		t.Errorf("an error of who wants the bytes is lost: %v", err)
	}
	damage(t, store, name, bytes.Index(packed, []byte("a.xml"))+8)
	for what, err := range map[string]error{"document": r.Copy(t.Context(), d, to), "file": r.CopyFile(t.Context(), name, to)} {
		if !errors.Is(err, blob.ErrDamaged) || !strings.Contains(original.Words(err), "not those that were received") {
			t.Errorf("%s of damaged bytes: %v", what, err)
		}
	}
	_, err := r.Excerpts(t.Context(), d, most, []original.Place{{Line: 1, Column: 1}})
	if !errors.Is(err, blob.ErrDamaged) {
		t.Errorf("lines of damaged bytes: %v", err)
	}
}
