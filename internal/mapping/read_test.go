package mapping

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"tributary/schemas/impc"
)

func load(t testing.TB) *Mapping {
	t.Helper()
	m, err := Load(impc.FS)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// lines reads a document and returns its rows as "table: fields" without
// position and claim.
func lines(m *Mapping, kind, text string) ([]string, error) {
	out := []string{}
	err := m.Read(strings.NewReader(text), Document{Kind: kind, Centre: "H", Position: 7}, func(row *Row) error {
		fields := strings.Split(strings.TrimSuffix(string(row.Line), "\n"), "\t")
		if n := len(row.Table.ColumnNames()); n != len(fields) {
			return fmt.Errorf("%s: %d fields for %d columns", row.Table.Name, len(fields), n)
		}
		if fields[0] != "7" {
			return fmt.Errorf("position %s", fields[0])
		}
		if row.Table.Claims {
			fields[5] = "*"
		}
		out = append(out, row.Table.Name+": "+strings.Join(fields[1:], " "))
		return nil
	})
	return out, err
}

func TestRows(t *testing.T) {
	m := load(t)
	tests := []struct {
		name, kind, text string
		want             []string
	}{
		{"specimens", "specimen", `<?xml version="1.0"?>
<s:centreSpecimenSet xmlns:s="urn:x"><s:centre centreID="H">
  <s:mouse specimenID="a&amp;b" DOB="2020-01-02Z" isBaseline=" 1 " gender="no data" litterId="x&#9;y
z" ignored="1"><s:genotype geneSymbol="g"/><s:statusCode date="2020-02-03">dead <![CDATA[<really>]]></s:statusCode></s:mouse>
  <s:embryo specimenID="" stage="9.5" stageUnit='DPC' isBaseline="false"/>
</s:centre></s:centreSpecimenSet>`, []string{
			`specimen: 2 1 3 3 * f t mouse H a&b \N \N t no data \N x\ty z \N \N \N \N 2020-01-02 \N \N dead <really> 2020-02-03`,
			`specimen: 3 1 5 3 * f t embryo H  \N \N f \N \N \N \N \N \N \N \N 9.5 DPC \N \N`,
			`submission: 1 H \N \N`,
		}},
		{"runs", "experiment", `<centreProcedureSet><centre centreID="H" pipeline="P" project="X">
<housing fromLIMS="true" lastUpdated="2020-05-06"><procedure procedureID="HOU"><procedureMetadata parameterID="h"><parameterStatus>NO</parameterStatus><value>v</value></procedureMetadata></procedure></housing>
<line colonyID="C" sequenceID="s"><procedure procedureID="LIN"><ontologyParameter parameterID="o" sequenceID="+01"><term>MP:1</term><term>MP:2</term><parameterStatus>why</parameterStatus></ontologyParameter></procedure></line>
<experiment experimentID="E" dateOfExperiment="2020-01-01"><specimenID>m"1</specimenID><specimenID>m\2</specimenID><procedure procedureID="EXP"><simpleParameter parameterID="p" unit="g"><value>1.50</value></simpleParameter><seriesParameter parameterID="q" unit="s"><value incrementValue="0">a</value><value incrementValue="1" incrementStatus="lost"></value><parameterStatus>st</parameterStatus></seriesParameter><seriesParameter parameterID="r"><parameterStatus>none</parameterStatus></seriesParameter><mediaParameter parameterID="m" URI="u"><procedureMetadata parameterID="not mapped"/></mediaParameter></procedure><statusCode date="2020-01-09">one</statusCode><statusCode>two</statusCode></experiment>
</centre></centreProcedureSet>`, []string{
			`measurement: 3 2 metadata h \N \N \N \N v NO`,
			`procedure_run: 2 1 2 1 * f t housing H P X \N \N \N \N t 2020-05-06 HOU \N`,
			`measurement: 6 4 ontology o 1 \N \N \N MP:1 why`,
			`measurement: 7 4 ontology o 1 \N \N \N MP:2 why`,
			`procedure_run: 4 1 3 1 * f t line H P X \N s \N C \N \N LIN \N`,
			`run_specimen: 9 8 m"1`,
			`run_specimen: 10 8 m\\2`,
			`measurement: 11 8 simple p \N \N \N g 1.50 \N`,
			`measurement: 13 8 series q \N 0 \N s a st`,
			`measurement: 14 8 series q \N 1 lost s  st`,
			`measurement: 15 8 series r \N \N \N \N \N none`,
			`run_status: 16 8 one 2020-01-09`,
			`run_status: 17 8 two \N`,
			`procedure_run: 8 1 4 1 * f t experiment H P X E \N 2020-01-01 \N \N \N EXP {"m\\"1","m\\\\2"}`,
			`submission: 1 H P X`,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := lines(m, tt.kind, tt.text)
			if err != nil {
				t.Fatal(err)
			}
			// The ordinals of elements without a row are skipped, and don't matter.
			if diff := cmp.Diff(strip(tt.want), strip(got)); diff != "" {
				t.Errorf("rows (-want +got):\n%s\ngot: %s", diff, strings.Join(got, "\n"))
			}
			checkOrdinals(t, got)
		})
	}
}

// strip takes ordinals and parents away.
func strip(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		p := strings.SplitN(s, " ", 4)
		if p[0] == "submission:" {
			p = strings.SplitN(s, " ", 3)
		}
		out[i] = p[0] + " " + p[len(p)-1]
	}
	return out
}

// checkOrdinals: every ordinal is there once, and every parent exists.
func checkOrdinals(t *testing.T, list []string) {
	t.Helper()
	tables := map[string]string{}
	for _, s := range list {
		p := strings.Fields(s)
		if other, twice := tables[p[1]]; twice {
			t.Errorf("ordinal %s is in %s and %s", p[1], other, p[0])
		}
		tables[p[1]] = p[0]
	}
	for _, s := range list {
		p := strings.Fields(s)
		want := map[string]string{"specimen:": "submission:", "procedure_run:": "submission:", "submission:": ""}
		parent, special := want[p[0]]
		if !special {
			parent = "procedure_run:"
		}
		if parent != "" && tables[p[2]] != parent {
			t.Errorf("%q: its parent is a row of %q", s, tables[p[2]])
		}
	}
}

func TestClaims(t *testing.T) {
	m := load(t)
	claims := func(kind, text string) (out []Claim) {
		t.Helper()
		err := m.Read(strings.NewReader(text), Document{Kind: kind, Centre: "H", Tombstone: true}, func(row *Row) error {
			if row.Table.Claims {
				out = append(out, row.Claim)
				if !strings.Contains(string(row.Line), "\tt\tf\t") {
					t.Errorf("a tombstone is not marked: %s", row.Line)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	runs := func(list string) []Claim {
		return claims("experiment", `<centreProcedureSet><centre centreID="H" pipeline="P">`+list+`</centre></centreProcedureSet>`)
	}
	got := runs(`<experiment experimentID="E"><specimenID>1</specimenID><procedure procedureID="p"/></experiment>
		<experiment experimentID="E" dateOfExperiment="2020-01-01"><specimenID>1</specimenID><procedure procedureID="p"/></experiment>`)
	if got[0] != got[1] {
		t.Error("the date is no part of an experiment's key")
	}
	different := runs(`<experiment experimentID="E"><specimenID>1</specimenID><procedure procedureID="p"/></experiment>
		<experiment experimentID="E" sequenceID=""><specimenID>1</specimenID><procedure procedureID="p"/></experiment>
		<experiment experimentID="E"><specimenID>1</specimenID></experiment>
		<experiment experimentID="E"><specimenID>1</specimenID><specimenID>2</specimenID><procedure procedureID="p"/></experiment>
		<experiment experimentID="E"><specimenID>12</specimenID><procedure procedureID="p"/></experiment>
		<line colonyID="E"><procedure procedureID="p"/></line>
		<line colonyID="E"><procedure procedureID="q"/></line>`)
	seen := map[Claim]int{}
	for i, c := range different {
		if j, twice := seen[c]; twice {
			t.Errorf("runs %d and %d have the same key", i, j)
		}
		seen[c] = i
	}
}

func TestDocumentErrors(t *testing.T) {
	m := load(t)
	tests := []struct{ name, kind, text, exception, message string }{
		{"another centre", "specimen", "<centreSpecimenSet>\n<centre centreID='J'/></centreSpecimenSet>", CentreMismatch, `names centre "J"`},
		{"no centre", "specimen", "<centreSpecimenSet><centre/></centreSpecimenSet>", CentreMismatch, "names no centre"},
		{"another root", "specimen", "<centreProcedureSet/>", Unreadable, "root element"},
		{"cut off", "specimen", "<centreSpecimenSet><centre centreID='H'>", Unreadable, "ends before"},
		{"cut off in a tag", "specimen", "<centreSpecimenSet><cen", Unreadable, "ends inside a tag"},
		{"crossed", "specimen", "<centreSpecimenSet><centre centreID='H'></centreSpecimenSet></centre>", Unreadable, "ends as"},
		{"doctype", "specimen", "<!DOCTYPE x [<!ENTITY a 'b'>]><centreSpecimenSet/>", Unreadable, "document type"},
		{"entity", "specimen", "<centreSpecimenSet><centre centreID='&a;'/></centreSpecimenSet>", Unreadable, "&a;"},
		{"empty", "specimen", "", Unreadable, "no element"},
		{"two roots", "specimen", "<centreSpecimenSet/><centreSpecimenSet/>", Unreadable, "second root"},
		{"encoding", "specimen", `<?xml version="1.0" encoding="EBCDIC-US"?><centreSpecimenSet/>`, Unreadable, "EBCDIC"},
		{"bytes", "specimen", "<centreSpecimenSet><centre centreID='H\xff'/></centreSpecimenSet>", Unreadable, "UTF-8"},
		{"kind", "nothing", "<a/>", Unreadable, "not mapped"},
		{"date", "specimen", "<centreSpecimenSet><centre centreID='H'><mouse specimenID='m' DOB='12020-01-01'/></centre></centreSpecimenSet>", ValueRange, "dob"},
		{"number", "experiment", "<centreProcedureSet><centre centreID='H'><line colonyID='c'><procedure procedureID='p'><simpleParameter parameterID='q' sequenceID='99999999999999999999'/></procedure></line></centre></centreProcedureSet>", ValueRange, "sequence_id"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := lines(m, tt.kind, tt.text)
			var bad *DocumentError
			if !errors.As(err, &bad) {
				t.Fatalf("error %v", err)
			}
			if bad.Exception != tt.exception || !strings.Contains(bad.Message, tt.message) {
				t.Errorf("got %v, want %s: …%s…", bad, tt.exception, tt.message)
			}
		})
	}
}

// A failing reader is not the document's fault.
func TestReaderErrors(t *testing.T) {
	m := load(t)
	broken := errors.New("disk on fire")
	r := io.MultiReader(strings.NewReader("<centreSpecimenSet><centre centreID='H'>"), failing{broken})
	err := m.Read(r, Document{Kind: "specimen", Centre: "H"}, func(*Row) error { return nil })
	if bad := (*DocumentError)(nil); !errors.Is(err, broken) || errors.As(err, &bad) {
		t.Errorf("error %v", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// What can't be written before an element ends is bounded.
func TestElementTooLarge(t *testing.T) {
	m := load(t)
	head := `<centreProcedureSet><centre centreID="H"><line colonyID="c"><procedure procedureID="p"><seriesParameter parameterID="s">`
	r := io.MultiReader(strings.NewReader(head), &repeat{text: `<value incrementValue="1">v</value>`, n: maxPending + 2})
	err := m.Read(r, Document{Kind: "experiment", Centre: "H"}, func(*Row) error { return nil })
	if bad := (*DocumentError)(nil); !errors.As(err, &bad) || bad.Exception != TooLarge {
		t.Errorf("error %v", err)
	}
}

type repeat struct {
	text string
	n    int
	rest string
}

func (r *repeat) Read(p []byte) (int, error) {
	if r.rest == "" {
		if r.n == 0 {
			return 0, io.EOF
		}
		r.n--
		r.rest = r.text
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// TestSamples reads the valid samples of the profile's first users.
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
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		kind := "specimen"
		if strings.Contains(string(text), "centreProcedureSet") {
			kind = "experiment"
		}
		_, rest, _ := strings.Cut(string(text), `centreID="`)
		centre, _, _ := strings.Cut(rest, `"`)
		if strings.Count(string(text), `centreID="`) != strings.Count(string(text), `centreID="`+centre+`"`) {
			continue // of several centres: a file has one
		}
		counts := map[string]int{}
		err = m.Read(strings.NewReader(string(text)), Document{Kind: kind, Centre: centre}, func(row *Row) error {
			counts[row.Table.Name]++
			return nil
		})
		if err != nil {
			t.Errorf("%s: %v", filepath.Base(name), err)
		}
		for _, c := range []struct{ element, table string }{{"<mouse ", "specimen"}, {"<experiment ", "procedure_run"}, {"<specimenID>", "run_specimen"}} {
			if n := strings.Count(string(text), c.element); kind == "specimen" == (c.table == "specimen") && n > counts[c.table] {
				t.Errorf("%s: %d rows of %s for %d elements %s", filepath.Base(name), counts[c.table], c.table, n, c.element)
			}
		}
	}
}

func TestLoadErrors(t *testing.T) {
	good := "mapping: x\nversion: '1'\ntables: [{name: a, columns: [b]}]\ndocuments: [{kind: k, centre: r/@c, rows: [{table: a, at: [r/e], values: {b: '@b'}}]}]\n"
	tests := []struct{ name, old, new, want string }{
		{"good", "", "", ""},
		{"table", "table: a", "table: z", "not declared"},
		{"column", "values: {b:", "values: {z:", "does not have"},
		{"type", "columns: [b]", "columns: [b float]", `"float"`},
		{"leaves", "'@b'", "../../../@b", "leaves the document"},
		{"key", "values:", "key: [b], values:", "key must be"},
		{"name", "name: a,", "name: 'a;b',", "lower-case"},
		{"unknown key", "kind: k", "kind: k, kin: k", "kin"},
		{"roots", "at: [r/e]", "at: [q/e]", "root"},
		{"centre", "r/@c", "r/c", "attribute"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Load(fstest.MapFS{File: {Data: []byte(strings.Replace(good, tt.old, tt.new, 1))}})
			if tt.want == "" && err == nil {
				return
			}
			if tt.want == "" || err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want …%s…", err, tt.want)
			}
		})
	}
}

// FuzzRead: whatever a document holds, reading it ends with rows that fit their
// tables or with an error of the document's, and never crashes.
func FuzzRead(f *testing.F) {
	f.Add("experiment", `<centreProcedureSet><centre centreID="H"><experiment experimentID="E"><specimenID>1</specimenID><procedure procedureID="p"><seriesParameter parameterID="q"><value incrementValue="0">a</value></seriesParameter></procedure></experiment></centre></centreProcedureSet>`)
	f.Add("specimen", `<centreSpecimenSet><centre centreID="H"><mouse specimenID="m" DOB="2020-01-01"/></centre></centreSpecimenSet>`)
	m := load(f)
	f.Fuzz(func(t *testing.T, kind, text string) {
		_, err := lines(m, kind, text)
		if bad := (*DocumentError)(nil); err != nil && (!errors.As(err, &bad) || bad.Message == "") {
			t.Errorf("%q: %v", text, err)
		}
	})
}
