package mapping

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/xsdtree"
)

// memory is a warehouse of one document.
type memory struct {
	rows    []*Stored
	records []Record
	forget  bool // the parents of records, as claims to content elsewhere do
}

func (s *memory) Row(row *Row) error {
	fields := strings.Split(strings.TrimSuffix(string(row.Line), "\n"), "\t")
	names := row.Table.ColumnNames()
	st := &Stored{Table: row.Table, Ordinal: row.Ordinal}
	for i, f := range fields {
		switch {
		case names[i] == "parent" && i < len(names)-len(row.Table.Columns):
			n, err := strconv.Atoi(f)
			if err != nil {
				return err
			}
			st.Parent = int32(n)
		case i < len(names)-len(row.Table.Columns):
		case f == `\N`:
			st.Values = append(st.Values, nil)
		default:
			f = unescape(f)
			st.Values = append(st.Values, &f)
		}
	}
	if row.Table.Under != nil && !row.Table.HasParentColumn {
		st.Parent = row.Record
	}
	if s.forget && row.Table.Record {
		st.Parent = 0
	}
	s.rows = append(s.rows, st)
	return nil
}

func unescape(s string) string {
	return strings.NewReplacer(`\t`, "\t", `\n`, "\n", `\r`, "\r", `\\`, `\`).Replace(s)
}

func (s *memory) Record(r *Record) error {
	s.records = append(s.records, *r)
	return nil
}

// Next implements Source, of rows sorted before.
func (s *memory) Next() (*Stored, error) {
	if len(s.rows) == 0 {
		return nil, nil
	}
	row := s.rows[0]
	s.rows = s.rows[1:]
	return row, nil
}

func remember(m *Mapping, kind, centre, text string, forget bool) (*memory, error) {
	s := &memory{forget: forget}
	err := m.Read(strings.NewReader(text), Document{Kind: kind, Centre: centre, Position: 1}, s)
	slices.SortFunc(s.rows, func(a, b *Stored) int { return int(a.Ordinal - b.Ordinal) })
	return s, err
}

// again reads a document and writes it back.
func again(m *Mapping, kind, centre, text string, forget bool) (string, []Record, error) {
	s, err := remember(m, kind, centre, text, forget)
	if err != nil {
		return "", nil, err
	}
	var b strings.Builder
	err = m.Write(&b, kind, s)
	return b.String(), s.records, err
}

// canonical is a document's form in which equivalent ones are equal: names with
// namespaces, sorted attributes, values normalised by their types in the schema.
func canonical(text string, schema *xsdtree.Schema) (string, error) {
	type open struct {
		element *xsdtree.Element
		text    strings.Builder
	}
	var out strings.Builder
	var stack []*open
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return out.String(), nil
		}
		if err != nil {
			return "", err
		}
		switch tok := tok.(type) {
		case xml.StartElement:
			var e *xsdtree.Element
			if len(stack) == 0 {
				e = schema.Root(tok.Name.Local)
			} else {
				e = stack[len(stack)-1].element.Child(tok.Name.Local)
			}
			if e == nil || e.Namespace != tok.Name.Space {
				return "", fmt.Errorf("the schema has no element %v there", tok.Name)
			}
			var attrs []string
			for _, a := range tok.Attr {
				if a.Name.Space == "xmlns" || a.Name.Local == "xmlns" || a.Name.Space == "http://www.w3.org/2001/XMLSchema-instance" {
					continue
				}
				attr := e.Attr(a.Name.Local)
				if attr == nil {
					return "", fmt.Errorf("the schema has no attribute %v there", a.Name)
				}
				attrs = append(attrs, fmt.Sprintf("@%s=%q", a.Name.Local, normal(a.Value, attr.Type.Base)))
			}
			slices.Sort(attrs)
			fmt.Fprintf(&out, "%s{%s}%s %s\n", strings.Repeat(" ", len(stack)), tok.Name.Space, tok.Name.Local, strings.Join(attrs, " "))
			stack = append(stack, &open{element: e})
		case xml.CharData:
			if len(stack) > 0 {
				stack[len(stack)-1].text.Write(tok)
			}
		case xml.EndElement:
			o := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if o.element.Text != nil {
				fmt.Fprintf(&out, "%s %q\n", strings.Repeat(" ", len(stack)), normal(o.text.String(), o.element.Text.Base))
			}
			fmt.Fprintf(&out, "%s/\n", strings.Repeat(" ", len(stack)))
		}
	}
}

func normal(text, base string) string {
	trimmed := strings.TrimSpace(text)
	switch base {
	case "boolean":
		return strconv.FormatBool(trimmed == "1" || trimmed == "true")
	case "integer", "int", "long":
		n, ok := new(big.Int).SetString(strings.TrimPrefix(trimmed, "+"), 10)
		if ok {
			return n.String()
		}
	case "decimal":
		n, ok := new(big.Rat).SetString(trimmed)
		if ok {
			return n.RatString()
		}
	case "double", "float":
		n, err := strconv.ParseFloat(strings.Replace(trimmed, "INF", "Inf", 1), 64)
		if err == nil {
			return strconv.FormatFloat(n, 'e', -1, 64)
		}
	case "date":
		return trimmed
	}
	return text
}

func schemas(t testing.TB, m *Mapping, kind string) *xsdtree.Schema {
	t.Helper()
	s, err := xsdtree.Load(os.DirFS(filepath.Join("..", "..", "schemas", "impc", "xsd")), kind+".xsd")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// equivalent checks that a document is written back as an equivalent one.
func equivalent(t *testing.T, m *Mapping, kind, centre, text string, schema *xsdtree.Schema) {
	t.Helper()
	for _, forget := range []bool{false, true} {
		back, records, err := again(m, kind, centre, text, forget)
		if err != nil {
			t.Fatal(err)
		}
		want, err := canonical(text, schema)
		if err != nil {
			t.Fatalf("the document itself: %v", err)
		}
		got, err := canonical(back, schema)
		if err != nil {
			t.Fatalf("%v\n%.2000s", err, back)
		}
		if want != got {
			t.Fatalf("(-read +written)\n%s", cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")))
		}
		s, err := remember(m, kind, centre, back, forget)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(prints(records), prints(s.records)); diff != "" {
			t.Fatalf("fingerprints (-read +read again)\n%s", diff)
		}
	}
}

func prints(records []Record) (out []string) {
	for _, r := range records {
		out = append(out, fmt.Sprintf("%s %d %x %x", r.Table.Name, r.Ordinal, r.Claim, r.Fingerprint))
	}
	return out
}

// TestSamples writes the valid samples of the profile's first users back.
func TestSamples(t *testing.T) {
	dir := os.Getenv("TRIBUTARY_IMPC")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "impc")
	}
	names, err := filepath.Glob(filepath.Join(dir, "samples", "valid", "*.xml"))
	if err != nil || len(names) == 0 {
		t.Skip("the samples are not there: set TRIBUTARY_IMPC to their folder")
	}
	m := load(t)
	done := 0
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		kind := "specimen"
		if strings.Contains(string(text), "centreProcedureSet") {
			kind = "experiment"
		}
		for centre, text := range byCentre(string(text)) {
			done++
			t.Run(filepath.Base(name)+" "+centre, func(t *testing.T) {
				equivalent(t, m, kind, centre, text, schemas(t, m, kind))
			})
		}
	}
	if done < len(names) {
		t.Errorf("%d documents out of %d samples", done, len(names))
	}
}

// byCentre makes one document for each centre, since a file is of one.
func byCentre(text string) map[string]string {
	out := map[string]string{}
	centres := map[string]bool{}
	for _, part := range strings.Split(text, `centreID="`)[1:] {
		centre, _, _ := strings.Cut(part, `"`)
		centres[centre] = true
	}
	for centre := range centres {
		parts := strings.Split(text, "</centre>")
		if len(centres) == 1 {
			out[centre] = text
			continue
		}
		var b strings.Builder
		for i, part := range parts {
			at := strings.Index(part, "<centre ")
			if at < 0 || strings.Contains(part, `centreID="`+centre+`"`) {
				b.WriteString(part)
				if i < len(parts)-1 {
					b.WriteString("</centre>")
				}
				continue
			}
			b.WriteString(part[:at])
		}
		out[centre] = b.String()
	}
	return out
}
