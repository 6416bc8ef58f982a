package e2e

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/mapping"
	"tributary/queries/export"
	"tributary/test/corpus"
)

// writtenBack writes every loaded document back from the rows, whether or not
// anything of it holds, and compares it with what was sent: the same elements,
// attributes and values.
func (l *loader) writtenBack(t *testing.T, pool *pgxpool.Pool, m *mapping.Mapping) {
	t.Helper()
	rows, err := pool.Query(t.Context(), "SELECT position, archive, entry FROM warehouse.document WHERE state = 'loaded'")
	if err != nil {
		t.Fatal(err)
	}
	type document struct {
		Position       int64
		Archive, Entry string
	}
	documents, err := pgx.CollectRows(rows, pgx.RowToStructByPos[document])
	if err != nil {
		t.Fatal(err)
	}
	if len(documents) < 100 {
		t.Errorf("only %d documents are loaded", len(documents))
	}
	for _, d := range documents {
		i := slices.IndexFunc(l.uploads, func(u corpus.Upload) bool { return u.SHA256 == d.Archive })
		sent, err := l.uploads[i].Text(d.Entry)
		if err != nil {
			t.Fatal(err)
		}
		var back bytes.Buffer
		if err := export.Document(t.Context(), pool, m, d.Position, &back); err != nil {
			t.Errorf("write back %s of %s: %v", d.Entry, l.uploads[i].File, err)
			continue
		}
		if diff := firstDifference(tokens(t, sent), tokens(t, back.Bytes())); diff != "" {
			t.Errorf("%s of %s is not what was sent: %s", d.Entry, l.uploads[i].File, diff)
		}
	}
}

// tokens are the elements, attributes and texts of a document in its order.
// White space between elements, prefixes and the order of attributes say
// nothing.
func tokens(t testing.TB, b []byte) []string {
	t.Helper()
	var out []string
	text, leaf := "", false
	d := xml.NewDecoder(bytes.NewReader(b))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatalf("%v in\n%.2000s", err, b)
		}
		switch x := token.(type) {
		case xml.StartElement:
			attrs := slices.DeleteFunc(x.Attr, func(a xml.Attr) bool { return a.Name.Space == "xmlns" || a.Name.Local == "xmlns" })
			slices.SortFunc(attrs, func(a, b xml.Attr) int { return cmp.Compare(a.Name.Local, b.Name.Local) })
			words := []string{x.Name.Space + " " + x.Name.Local}
			for _, a := range attrs {
				words = append(words, fmt.Sprintf("%s=%q", a.Name.Local, plainNumber(a)))
			}
			out = append(out, strings.Join(words, " "))
			text, leaf = "", true
		case xml.CharData:
			text += string(x)
		case xml.EndElement:
			// The text of an element without others counts as it is, unless it is
			// only where its end tag was put on a line of its own.
			if leaf && text != "" && (strings.TrimSpace(text) != "" || text[0] != '\n') {
				out = append(out, fmt.Sprintf("%q", text))
			}
			out = append(out, "/"+x.Name.Local)
			text, leaf = "", false
		}
	}
}

// plainNumber is an attribute's value; one of type xs:double in its shortest
// form.
func plainNumber(a xml.Attr) string {
	if f, err := strconv.ParseFloat(a.Value, 64); err == nil && a.Name.Local == "percentage" {
		return fmt.Sprint(f)
	}
	return a.Value
}

func firstDifference(want, got []string) string {
	for i := range max(len(want), len(got)) {
		a, b := "nothing", "nothing"
		if i < len(want) {
			a = want[i]
		}
		if i < len(got) {
			b = got[i]
		}
		if a != b {
			return fmt.Sprintf("%s was sent, %s is written back", a, b)
		}
	}
	return ""
}
