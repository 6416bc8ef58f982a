package profile

import (
	"encoding/json"
	"io/fs"
	"maps"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// two is a profile of two kinds, one of whose schemas includes another file,
// with tables of their own and one check.
func two() fstest.MapFS {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	text := strings.Replace(tiny, "    schema: readings.xsd\n", `    schema: xsd/readings.xsd
    rows:
      - table: reading
        at: [readings/reading]
        values: {day: "@day"}
  - name: stations
    root: stations
    schema: xsd/stations.xsd
    rows:
      - table: station
        at: [stations/station]
        values: {name: "@name"}
`, 1) + `tables:
  - name: reading
    comment: readings
    columns:
      - {name: day, type: date, comment: when}
  - name: station
    comment: stations
    columns:
      - {name: name, comment: what it is called}
`
	return fstest.MapFS{
		File:                      file(text),
		"sql/views.sql":           file("CREATE VIEW v AS SELECT 1 AS a"),
		"sql/overview/10_all.sql": file("INSERT INTO o SELECT 1 AS a"),
		"xsd/readings.xsd": file(`<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">
  <xs:include schemaLocation="sub/common.xsd"/>
  <xs:element name="readings" type="rs"/></xs:schema>`),
		"xsd/sub/common.xsd": file(`<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:complexType name="rs"/></xs:schema>`),
		"xsd/stations.xsd":   file(`<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="stations"/></xs:schema>`),
		"sql/checks/cold.sql": file("-- level: error\n-- on: reading\n-- needs: stations,\n--   seas\n-- describes: Too cold.\n-- example: -300\n" +
			"SELECT 'a  --b' FROM candidate_reading\n-- again\nSELECT 1"),
	}
}

func versionsOf(t *testing.T, fsys fs.FS) Versions {
	t.Helper()
	p, err := Load(fsys)
	if err != nil {
		t.Fatal(err)
	}
	return p.Versions()
}

func TestVersionsChangeWithWhatAPhaseUses(t *testing.T) {
	for name, test := range map[string]struct {
		file, from, to string
		want           string // the phases and kinds whose versions change
	}{
		"nothing":                        {File, "", "", ""},
		"comment in the profile":         {File, "kinds:", "# which there are\nkinds:", ""},
		"comment of a table":             {File, "comment: readings", "comment: what was read", ""},
		"comment of a column":            {File, "comment: when", "comment: the day", ""},
		"order of keys":                  {File, "{name: day, type: date, comment: when}", "{type: date, name: day, comment: when}", ""},
		"title":                          {File, "version: \"3\"", "version: \"4\"\ntitle: Weather", ""},
		"centre":                         {File, "centres:", "centres:\n  - short_name: Bergen", ""},
		"type of a column":               {File, "type: date", "type: text", "upload readings"},
		"rule of a mapping":              {File, `"@name"`, `"@title"`, "upload stations"},
		"documents' names":               {File, "_(?P<kind>[a-z]+)", "_(?P<kind>[a-z]{1,9})", "unzip"},
		"files' names":                   {File, `(?P<year>[0-9]{4})\.zip`, `(?P<year>[0-9]+)\.zip`, ""},
		"comment in a schema":            {"xsd/sub/common.xsd", "<xs:complexType", "<!-- all -->\n <xs:complexType", ""},
		"annotation in a schema":         {"xsd/stations.xsd", `<xs:element name="stations"/>`, `<xs:element name="stations"><xs:annotation><xs:documentation>all</xs:documentation></xs:annotation></xs:element>`, ""},
		"included schema":                {"xsd/sub/common.xsd", `name="rs"/>`, `name="rs"><xs:attribute name="a"/></xs:complexType>`, "xsd readings"},
		"schema":                         {"xsd/stations.xsd", `"stations"/>`, `"stations" type="xs:string"/>`, "xsd stations"},
		"text of a check":                {"sql/checks/cold.sql", "Too cold.", "Far too cold.", ""},
		"white space of a check":         {"sql/checks/cold.sql", "SELECT 'a  --b' FROM", "SELECT 'a  --b'  -- says\n  FROM", ""},
		"white space in a check's text":  {"sql/checks/cold.sql", "'a  --b'", "'a --b'", "data"},
		"a view":                         {"sql/views.sql", "AS a", "AS b", "data"},
		"overview":                       {"sql/overview/10_all.sql", "AS a", "AS b", ""},
		"query of a check":               {"sql/checks/cold.sql", "SELECT 1", "SELECT 2", "data"},
		"level of a check":               {"sql/checks/cold.sql", "level: error", "level: warn", "data"},
		"needs of a check, second line":  {"sql/checks/cold.sql", "--   seas", "--   lakes", "data"},
		"second query becomes a comment": {"sql/checks/cold.sql", "-- again\n", "-- once more\n", "data"},
	} {
		t.Run(name, func(t *testing.T) {
			before, fsys := versionsOf(t, two()), two()
			if !strings.Contains(string(fsys[test.file].Data), test.from) {
				t.Fatalf("%s does not contain %q", test.file, test.from)
			}
			fsys[test.file].Data = []byte(strings.Replace(string(fsys[test.file].Data), test.from, test.to, 1))
			after := versionsOf(t, fsys)
			if got := changed(before, after); got != test.want {
				t.Errorf("changed %q, want %q", got, test.want)
			}
			if before.Equal(after) != (test.want == "") {
				t.Errorf("equal: %v", before.Equal(after))
			}
		})
	}
}

// changed names the phases, with kinds, whose versions differ.
func changed(a, b Versions) string {
	var out []string
	for _, phase := range VersionedPhases() {
		kinds := []string{""}
		if phase == phaseXSD || phase == phaseUpload {
			kinds = []string{"readings", "stations"}
		}
		for _, kind := range kinds {
			if a.Of(phase, kind) != b.Of(phase, kind) {
				out = append(out, strings.TrimSpace(phase+" "+kind))
			}
		}
	}
	return strings.Join(out, ", ")
}

func TestVersionsAreDigitsAndKeepInJSON(t *testing.T) {
	p, _ := builtin(t)
	v := p.Versions()
	form := regexp.MustCompile(`^[0-9a-f]{12}$`)
	seen := map[string]bool{}
	for _, phase := range VersionedPhases() {
		for _, kind := range []string{"specimen", "experiment"} {
			if !form.MatchString(v.Of(phase, kind)) {
				t.Errorf("version of %s, %s: %q", phase, kind, v.Of(phase, kind))
			}
			seen[v.Of(phase, kind)] = true
		}
	}
	if len(seen) != 6 {
		t.Errorf("%d different versions, want 6: %+v", len(seen), v)
	}
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var again Versions
	if err := json.Unmarshal(data, &again); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(v, again); diff != "" || !v.Equal(again) {
		t.Error(diff)
	}
	maps.DeleteFunc(v.XSD, func(string, string) bool { return true })
	if p.Versions().Of("xsd", "specimen") == "" {
		t.Error("who changes what it was given changes the profile")
	}
	if v.Of("download", "specimen") != "" || v.Of("upload", "line") != "" {
		t.Error("there is a version of what has none")
	}
}

func TestCodeVersionIsPartOfAVersion(t *testing.T) {
	if digest(1, "upload", "x") == digest(2, "upload", "x") || digest(1, "a", "bc") == digest(1, "ab", "c") {
		t.Error("digests are confused")
	}
}
