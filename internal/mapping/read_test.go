package mapping

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

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

// lines gathers rows as "table: fields" without position, and records.
type lines struct {
	rows    []string
	records []Record
	open    map[int32]bool // records with rows that have not come
}

func (l *lines) Row(row *Row) error {
	fields := strings.Split(strings.TrimSuffix(string(row.Line), "\n"), "\t")
	columns := row.Table.ColumnNames()
	if len(columns) != len(fields) {
		return fmt.Errorf("%s: %d fields for %d columns", row.Table.Name, len(fields), len(columns))
	}
	for i, want := range map[string]any{"position": 7, "record": row.Record, "ordinal": row.Ordinal, "line": row.SourceLine} {
		for n, name := range columns {
			if name == i && fields[n] != fmt.Sprint(want) {
				return fmt.Errorf("%s: %s is %s in the line, %v in the row", row.Table.Name, name, fields[n], want)
			}
		}
	}
	if (row.Record > 0) != (row.Table.Record || row.Table.Under != nil) || row.Table.Record && row.Record != row.Ordinal {
		return fmt.Errorf("%s: ordinal %d in record %d", row.Table.Name, row.Ordinal, row.Record)
	}
	if row.Record > 0 {
		if l.open == nil {
			l.open = map[int32]bool{}
		}
		if done, seen := l.open[row.Record]; seen && !done {
			return fmt.Errorf("a row of record %d behind it", row.Record)
		}
		l.open[row.Record] = true
	}
	l.rows = append(l.rows, row.Table.Name+": "+strings.Join(fields[1:], " "))
	return nil
}

func (l *lines) Record(rec *Record) error {
	if !l.open[rec.Ordinal] {
		return fmt.Errorf("record %d comes without a row, or twice", rec.Ordinal)
	}
	l.open[rec.Ordinal] = false
	l.records = append(l.records, *rec)
	return nil
}

func read(m *Mapping, kind, text string) (*lines, error) {
	l := &lines{}
	return l, m.Read(strings.NewReader(text), Document{Kind: kind, Centre: "H", Position: 7}, l)
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
z" ignored="1"><s:genotype geneSymbol="g"/><s:chromosomalAlteration><s:chromosomeRemoved start="1" end="2"/></s:chromosomalAlteration><s:statusCode date="2020-02-03-05:30">dead <![CDATA[<really>]]></s:statusCode></s:mouse>
  <s:embryo specimenID="" stage="9.5" stageUnit='DPC' isBaseline="false"/>
</s:centre></s:centreSpecimenSet>`, []string{
			`genotype: 2 3 4 g \N \N \N \N`,
			`chromosome: 2 5 4 4 removed 1 2 \N`,
			`chromosomal_alteration: 2 4 4`,
			`specimen: 2 1 3 mouse H a&b \N \N t no data \N x\ty z \N \N \N \N 2020-01-02 Z \N \N dead <really> 2020-02-03 -05:30`,
			`specimen: 6 1 5 embryo H  \N \N f \N \N \N \N \N \N \N \N \N 9.5 DPC \N \N \N`,
			`submission: 1 2 H \N \N`,
		}},
		{"runs", "experiment", `<centreProcedureSet><centre centreID="H" pipeline="P" project="X">
<housing fromLIMS="true" lastUpdated="2020-05-06"><procedure procedureID="HOU"><procedureMetadata parameterID="h"><parameterStatus>NO</parameterStatus><value>v</value></procedureMetadata></procedure></housing>
<line colonyID="C" sequenceID="s"><procedure procedureID="LIN"><ontologyParameter parameterID="o" sequenceID="+01"><term>MP:1</term><term>MP:2</term><parameterStatus>why</parameterStatus></ontologyParameter></procedure></line>
<experiment experimentID="E" dateOfExperiment="2020-01-01"><specimenID>m"1</specimenID><specimenID>m\2</specimenID><procedure procedureID="EXP"><simpleParameter parameterID="p" unit="g"><value>1.50</value></simpleParameter><seriesParameter parameterID="q" unit="s"><value incrementValue="0">a</value><value incrementValue="1" incrementStatus="lost"></value><parameterStatus>st</parameterStatus></seriesParameter><seriesMediaParameter parameterID="m"><value incrementValue="1" URI="u"><parameterAssociation parameterID="x"><dim id="d" origin="o">+01.50</dim></parameterAssociation></value></seriesMediaParameter></procedure><statusCode date="2020-01-09">one</statusCode><statusCode>two</statusCode></experiment>
</centre></centreProcedureSet>`, []string{
			`measurement: 2 3 2 metadata h \N \N v NO`,
			`procedure_run: 2 1 2 housing H P X \N \N \N \N \N t 2020-05-06 \N HOU \N`,
			`ontology_term: 4 6 5 3 MP:1`,
			`ontology_term: 4 7 5 3 MP:2`,
			`measurement: 4 5 3 ontology o 1 \N \N why`,
			`procedure_run: 4 1 3 line H P X \N s \N \N C \N \N \N LIN \N`,
			`run_specimen: 8 9 4 m"1`,
			`run_specimen: 8 10 4 m\\2`,
			`measurement: 8 11 4 simple p \N g 1.50 \N`,
			`series_value: 8 13 12 4 0 \N a`,
			`series_value: 8 14 12 4 1 lost `,
			`measurement: 8 12 4 series q \N s \N st`,
			`dimension: 8 18 17 4 d o \N 1.50`,
			`parameter_association: 8 17 16 4 x \N \N`,
			`media: 8 16 15 4 series m \N \N 1 u \N \N`,
			`media_parameter: 8 15 4 series m \N`,
			`run_status: 8 19 4 one 2020-01-09 \N`,
			`run_status: 8 20 4 two \N \N`,
			`procedure_run: 8 1 4 experiment H P X E \N 2020-01-01 \N \N \N \N \N EXP {"m\\"1","m\\\\2"}`,
			`submission: 1 1 H P X`,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := read(m, tt.kind, tt.text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got.rows); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
		})
	}
}

// Where a record's element is: the bytes of the UTF-8 form, whatever the
// encoding and however the reader cuts it.
func TestByteRanges(t *testing.T) {
	m := load(t)
	mouse := `<mouse specimenID="é1"><genotype geneSymbol="&lt;"/></mouse>`
	embryo := `<embryo   specimenID='2' />`
	text := "\ufeff<?xml version='1.0'?>\n<centreSpecimenSet><centre centreID='H'>\n" + strings.Repeat(" ", 70_000) + mouse + "<!-- c -->" + embryo + "</centre></centreSpecimenSet>"
	got, err := read(m, "specimen", text)
	if err != nil {
		t.Fatal(err)
	}
	text = strings.TrimPrefix(text, "\ufeff")
	for i, want := range []string{mouse, embryo} {
		rec := got.records[i]
		if from := text[rec.ByteFrom:rec.ByteTo]; from != want {
			t.Errorf("record %d is %q, want %q", i, from, want)
		}
		if rec.Line != 3 || rec.Column != strings.Index(strings.Split(text, "\n")[2], want)+1 {
			t.Errorf("record %d is at line %d, column %d", i, rec.Line, rec.Column)
		}
	}
	if s := got.records[0]; s.Table.Name != "specimen" || s.Ordinal != 2 || s.Subject != "" || *s.Key[0] != "H" || *s.Key[1] != "é1" {
		t.Errorf("record %+v", s)
	}
}

func runs(t *testing.T, m *Mapping, list string) []Record {
	t.Helper()
	got, err := read(m, "experiment", `<centreProcedureSet><centre centreID="H" pipeline="P">`+list+`</centre></centreProcedureSet>`)
	if err != nil {
		t.Fatal(err)
	}
	return got.records
}

func TestClaims(t *testing.T) {
	m := load(t)
	got := runs(t, m, `<experiment experimentID="E"><specimenID>1</specimenID><procedure procedureID="p"/></experiment>
		<experiment experimentID="E" dateOfExperiment="2020-01-01"><specimenID>1</specimenID><procedure procedureID="p"/></experiment>`)
	if got[0].Claim != got[1].Claim {
		t.Error("the date is no part of an experiment's key")
	}
	if got[0].Subject != "p" {
		t.Errorf("subject %q", got[0].Subject)
	}
	different := runs(t, m, `<experiment experimentID="E"><specimenID>1</specimenID><procedure procedureID="p"/></experiment>
		<experiment experimentID="E" sequenceID=""><specimenID>1</specimenID><procedure procedureID="p"/></experiment>
		<experiment experimentID="E"><specimenID>1</specimenID></experiment>
		<experiment experimentID="E"><specimenID>1</specimenID><specimenID>2</specimenID><procedure procedureID="p"/></experiment>
		<experiment experimentID="E"><specimenID>12</specimenID><procedure procedureID="p"/></experiment>
		<line colonyID="E"><procedure procedureID="p"/></line>
		<line colonyID="E"><procedure procedureID="q"/></line>
		<housing fromLIMS="true" lastUpdated="2020-01-01"><procedure procedureID="p"/></housing>`)
	seen := map[ID]int{}
	for i, r := range different {
		if j, twice := seen[r.Claim]; twice {
			t.Errorf("runs %d and %d have the same key", i, j)
		}
		seen[r.Claim] = i
		// What a reader found can be asked for by its key.
		id, err := m.Claim("procedure_run", r.Key)
		if err != nil || id != r.Claim {
			t.Errorf("run %d: the claim of its key is %x, %v", i, id, err)
		}
	}
}

// Keys are asked for as people write them.
func TestClaim(t *testing.T) {
	m := load(t)
	key := func(list ...string) (out []*string) {
		for _, s := range list {
			if s == "-" {
				out = append(out, nil)
				continue
			}
			out = append(out, &s)
		}
		return out
	}
	housing := runs(t, m, `<housing fromLIMS="1" lastUpdated="2020-01-01"><procedure procedureID="p"/></housing>`)[0]
	experiment := runs(t, m, `<experiment experimentID="E"><specimenID>a</specimenID><specimenID>b</specimenID><procedure procedureID="p"/></experiment>`)[0]
	tests := []struct {
		table string
		key   []*string
		want  ID
		error string
	}{
		{"procedure_run", key("H", "housing", "true", "2020-01-01", "P", "p"), housing.Claim, ""},
		{"procedure_run", key("H", "experiment", "E", "-", "p", "{a,b}"), experiment.Claim, ""},
		{"procedure_run", key("H", "experiment", "E", "-", "p", `{"a","b"}`), experiment.Claim, ""},
		{"procedure_run", key("H", "housing", "maybe", "2020-01-01", "P", "p"), ID{}, "true or false"},
		{"procedure_run", key("H", "E"), ID{}, "kind (experiment)"},
		{"measurement", key("H"), ID{}, "specimen, procedure_run"},
	}
	for _, tt := range tests {
		id, err := m.Claim(tt.table, tt.key)
		if tt.error == "" && (err != nil || id != tt.want) || tt.error != "" && (err == nil || !strings.Contains(err.Error(), tt.error)) {
			t.Errorf("%s: %x, %v; want %x %s", tt.table, id, err, tt.want, tt.error)
		}
	}
}

// A fingerprint is that of the content, wherever in a document it stands; the
// layout tells whether its rows lie alike.
func TestFingerprint(t *testing.T) {
	m := load(t)
	const a = `<experiment experimentID="E"><specimenID>1</specimenID><procedure procedureID="p"><simpleParameter parameterID="q"><value>5</value></simpleParameter></procedure></experiment>`
	same := runs(t, m, a+`<line colonyID="c"/>
		<experiment experimentID='E'><!-- c --><specimenID>1</specimenID>
		<procedure procedureID="p"><simpleParameter parameterID="q"><value><![CDATA[5]]></value></simpleParameter></procedure></experiment>`)
	if same[0].Fingerprint != same[2].Fingerprint {
		t.Error("equal content has two fingerprints")
	}
	if same[0].Layout == same[2].Layout {
		t.Error("rows on other lines have one layout")
	}
	below := runs(t, m, `<line colonyID="c"/>`+"\n\n"+a)
	if below[1].Fingerprint != same[0].Fingerprint || below[1].Layout != same[0].Layout {
		t.Error("the same lines further down have another layout")
	}
	seen := map[ID]string{same[0].Fingerprint: "the first"}
	for _, change := range [][2]string{
		{"<value>5</value>", "<value>6</value>"},
		{"<value>5</value>", "<value></value>"},
		{"<value>5</value>", ""},
		{"<value>5</value>", "<parameterStatus>5</parameterStatus>"},
		{"simpleParameter", "procedureMetadata"},
		{"<specimenID>1</specimenID>", "<specimenID>1</specimenID><specimenID>1</specimenID>"},
		{`<procedure procedureID="p">`, `<procedure procedureID="p"><simpleParameter parameterID="q"/>`},
		{`<simpleParameter`, `<simpleParameter sequenceID="1"`},
		{`<experiment`, `<experiment dateOfExperiment="2020-01-01"`},
		{`<experiment`, `<experiment dateOfExperiment="2020-01-01Z"`},
		{`procedureID="p"`, `procedureID="p&#9;q"`},
		{`procedureID="p"`, `procedureID="p\tq"`},
	} {
		id := runs(t, m, strings.ReplaceAll(a, change[0], change[1]))[0].Fingerprint
		if other, twice := seen[id]; twice {
			t.Errorf("%s has the fingerprint of %s", change[1], other)
		}
		seen[id] = change[1]
	}
	// Where a value lies counts: below which of two rows.
	nested := `<line colonyID="c"><procedure procedureID="p"><seriesParameter parameterID="a">%s</seriesParameter><seriesParameter parameterID="a">%s</seriesParameter></procedure></line>`
	const value = `<value incrementValue="1">v</value>`
	two := runs(t, m, fmt.Sprintf(nested, value+value, value)+fmt.Sprintf(nested, value, value+value))
	if two[0].Fingerprint == two[1].Fingerprint {
		t.Error("values of another series make no difference")
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
		{"long identifier", "specimen", "<centreSpecimenSet><centre centreID='H'><mouse specimenID='" + strings.Repeat("m", maxShort+1) + "'/></centre></centreSpecimenSet>", ValueRange, "specimen_id is \"mmm"},
		{"long identifier in a list", "experiment", "<centreProcedureSet><centre centreID='H'><experiment experimentID='e'><specimenID>" + strings.Repeat("m", maxShort+1) + "</specimenID></experiment></centre></centreProcedureSet>", ValueRange, "a text of at most 500 bytes"},
		{"long subject", "experiment", "<centreProcedureSet><centre centreID='H'><line colonyID='c'><procedure procedureID='" + strings.Repeat("m", maxShort+1) + "'/></line></centre></centreProcedureSet>", ValueRange, "procedure_id is"},
		{"comment without an end", "specimen", "\n <!-- " + strings.Repeat("c", 200_000), Unreadable, "ends inside a comment"},
		{"number", "experiment", "<centreProcedureSet><centre centreID='H'><line colonyID='c'><procedure procedureID='p'><simpleParameter parameterID='q' sequenceID='99999999999999999999'/></procedure></line></centre></centreProcedureSet>", ValueRange, "sequence_id"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := read(m, tt.kind, tt.text)
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

// What carries no data may be as long as it likes, and what carries some nearly
// so.
func TestLong(t *testing.T) {
	m := load(t)
	text := `<centreProcedureSet><centre centreID="H"><line colonyID="` + strings.Repeat("c", maxShort) + `"><!--` + strings.Repeat("-\n", maxTag) + `--><?p ` + strings.Repeat("?", 2*maxTag) +
		`?><procedure procedureID="p"><simpleParameter parameterID="q"><value>` + strings.Repeat("v", maxValue) + `</value></simpleParameter></procedure></line></centre></centreProcedureSet>`
	got, err := read(m, "experiment", text)
	if err != nil || len(got.records) != 1 {
		t.Fatal(err)
	}
	if r := got.records[0]; text[r.ByteFrom:r.ByteFrom+5] != "<line" || text[r.ByteTo-7:r.ByteTo] != "</line>" {
		t.Errorf("the record is at %d to %d", r.ByteFrom, r.ByteTo)
	}
	if !strings.HasPrefix(got.rows[0], fmt.Sprintf("measurement: 2 3 %d ", maxTag+1)) {
		t.Errorf("%.80s", got.rows[0])
	}
	_, err = read(m, "experiment", strings.Replace(text, "<value>", "<value>v", 1))
	if bad := (*DocumentError)(nil); !errors.As(err, &bad) || bad.Exception != TooLarge {
		t.Errorf("error %.200v", err)
	}
}

// A failing reader is not the document's fault, nor is a failing sink.
func TestReaderErrors(t *testing.T) {
	m := load(t)
	broken := errors.New("disk on fire")
	r := io.MultiReader(strings.NewReader("<centreSpecimenSet><centre centreID='H'>"), failing{broken})
	err := m.Read(r, Document{Kind: "specimen", Centre: "H"}, &counter{})
	if bad := (*DocumentError)(nil); !errors.Is(err, broken) || errors.As(err, &bad) {
		t.Errorf("error %v", err)
	}
	text := `<centreSpecimenSet><centre centreID="H"><mouse specimenID="1"/></centre></centreSpecimenSet>`
	for _, sink := range []Sink{full{row: broken}, full{record: broken}} {
		if err := m.Read(strings.NewReader(text), Document{Kind: "specimen", Centre: "H"}, sink); !errors.Is(err, broken) {
			t.Errorf("error %v", err)
		}
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

type full struct{ row, record error }

func (f full) Row(*Row) error       { return f.row }
func (f full) Record(*Record) error { return f.record }

// waits is a small mapping with rows that wait for a later part of an element
// around theirs.
const waits = `
profile: waits
version: "1"
tables:
  - name: item
    comment: an item
    record: true
    columns: [{name: id, comment: its name}]
  - name: part
    comment: a part of an item
    parent: [item]
    columns: [{name: size, comment: of the part}, {name: remark, comment: of the item}]
kinds:
  - name: items
    root: items
    schema: x.xsd
    rows:
      - {table: item, at: [items/item], key: [id], values: {id: "@id"}}
      - {table: part, at: [items/item/part], values: {size: "@size", remark: ../remark}}
`

func TestRowsWait(t *testing.T) {
	m := parse(t, waits)
	got, err := read(m, "items", `<items><item id="1"><part size="a"/><part size="b"/><remark>r</remark></item><item id="2"><part size="c"/></item></items>`)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`item: 1 1 1`, `part: 1 2 1 a r`, `part: 1 3 1 b r`, `item: 4 1 2`, `part: 4 5 1 c \N`}
	if diff := cmp.Diff(want, got.rows); diff != "" {
		t.Error(diff)
	}
}

// What can't be written before an element ends is bounded.
func TestElementTooLarge(t *testing.T) {
	m := parse(t, waits)
	r := io.MultiReader(strings.NewReader(`<items><item id="1">`), &repeat{text: `<part size="1"/>`, n: maxPending + 2})
	err := m.Read(r, Document{Kind: "items"}, &counter{})
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
