package profile

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// tiny is a second, small profile that keeps the first honest: other names, one
// kind, no increment.
const tiny = `profile: weather
version: "3"
names:
  zip:
    extension: .zip
    form: STATION_DDMMYYYY.zip
    example: Oslo_31122024.zip
    pattern: '(?P<centre>[A-Za-z]+)_(?P<day>[0-9]{2})(?P<month>[0-9]{2})(?P<year>[0-9]{4})\.zip'
  document:
    extension: .xml
    form: STATION_DDMMYYYY_readings.xml
    example: Oslo_31122024_readings.xml
    pattern: '(?P<centre>[A-Za-z]+)_(?P<day>[0-9]{2})(?P<month>[0-9]{2})(?P<year>[0-9]{4})_(?P<kind>[a-z]+)\.xml'
kinds:
  - name: readings
    root: readings
    schema: readings.xsd
centres:
  - short_name: Oslo
`

func folder(text string) fstest.MapFS {
	return fstest.MapFS{File: {Data: []byte(text)}, "readings.xsd": {Data: []byte("<x/>")}}
}

func TestLoadTinyProfile(t *testing.T) {
	p, err := Load(folder(tiny))
	if err != nil {
		t.Fatal(err)
	}
	centres, err := NewCentreSet(p.Centres...)
	if err != nil {
		t.Fatal(err)
	}
	got, bad := p.ParseDocument("OSLO_29022024_readings.xml", centres)
	if bad != nil {
		t.Fatal(bad)
	}
	if diff := cmp.Diff(DocumentName{Centre: "Oslo", Date: day(2024, 2, 29), Kind: "readings"}, got); diff != "" {
		t.Error(diff)
	}
	if _, bad := p.ParseDocument("Oslo_29022023_readings.xml", centres); exceptionOf(bad) != "document_name_date" {
		t.Errorf("29 February 2023: %v", bad)
	}
	for key, skip := range map[string]bool{"": false, "same_bytes: load\n": false, "same_bytes: skip\n": true} {
		if p, err := Load(folder(key + tiny)); err != nil || p.SkipKnown != skip {
			t.Errorf("%q: %v, %v", key, p, err)
		}
	}
	for key, early := range map[string]bool{"": false, "release: whole\n": false, "release: early\n": true} {
		if p, err := Load(folder(key + tiny)); err != nil || p.Early != early {
			t.Errorf("%q: %v, %v", key, p, err)
		}
	}
	fsys, entry, err := p.SchemaFS("readings")
	if err != nil || entry != "readings.xsd" {
		t.Fatalf("schema %q, %v", entry, err)
	}
	if _, err := fs.Stat(fsys, entry); err != nil {
		t.Error(err)
	}
}

func TestLoadErrorsNameLineAndKey(t *testing.T) {
	for name, test := range map[string]struct{ from, to, want string }{
		"unknown key":      {"version:", "vers1on:", "line 2: vers1on is not a key"},
		"repeated key":     {"version:", "profile:", "line 2"},
		"no version":       {"version: \"3\"\n", "", "version is missing"},
		"bad name":         {"profile: weather", "profile: we ather", "line 1: profile must be a name"},
		"kind without xsd": {"schema: readings.xsd", "schema: other.xsd", "line 17: kinds[0].schema"},
		"schema outside":   {"schema: readings.xsd", "schema: ../readings.xsd", "line 17: kinds[0].schema"},
		"no root":          {"    root: readings\n", "", "kinds[0].root is missing"},
		"lost group":       {"(?P<day>[0-9]{2})(?P<month>[0-9]{2})(?P<year>[0-9]{4})\\.zip", "[0-9]{4}(?P<month>[0-9]{2})(?P<year>[0-9]{2})\\.zip", "line 8: names.zip.pattern lacks the group (?P<day>"},
		"unknown group":    {"(?P<kind>", "(?P<colour>", "names.document.pattern has the group \"colour\""},
		"bad expression":   {"(?P<kind>[a-z]+)", "(?P<kind>[a-z+)", "line 13: names.document.pattern is not a regular expression"},
		"wrong example":    {"example: Oslo_31122024.zip", "example: Oslo_31112024.zip", "line 7: names.zip.example"},
		"same bytes":       {"names:\n", "same_bytes: perhaps\nnames:\n", "line 3: same_bytes must be load (the default) or skip"},
		"release":          {"names:\n", "release: soon\nnames:\n", "line 3: release must be whole (the default) or early"},
		"length":           {"names:\n", "names:\n  max_length: many\n", "line 4: names.max_length"},
		"other packing":    {"extension: .zip", "extension: .tgz", "names.zip.extension must end in .zip"},
		"centre twice":     {"  - short_name: Oslo\n", "  - short_name: Oslo\n  - short_name: OSLO\n", "line 20: centres[1].short_name repeats"},
		"not a scalar":     {"profile: weather", "profile: [weather]", "line 1"},
		"two documents":    {"  - short_name: Oslo\n", "  - short_name: Oslo\n---\nprofile: x\n", "one YAML document"},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(tiny, test.from) {
				t.Fatalf("the profile does not contain %q", test.from)
			}
			_, err := Load(folder(strings.Replace(tiny, test.from, test.to, 1)))
			if err == nil {
				t.Fatal("was loaded")
			}
			if !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), File) {
				t.Errorf("error %q does not say %q in %s", err, test.want, File)
			}
		})
	}
}

func TestLoadNeedsFile(t *testing.T) {
	if _, err := Load(fstest.MapFS{}); err == nil || !strings.Contains(err.Error(), File) {
		t.Errorf("error %v", err)
	}
}

func TestBuiltin(t *testing.T) {
	p, _ := builtin(t)
	if p.Name != "impc" || len(p.Centres) != 17 {
		t.Errorf("profile %s has %d centres", p.Name, len(p.Centres))
	}
	if p.KindOrder("specimen") != 0 || p.KindOrder("experiment") != 1 || p.KindOrder("line") != -1 {
		t.Errorf("kinds %v", p.Kinds)
	}
	for _, kind := range p.Kinds {
		fsys, entry, err := p.SchemaFS(kind.Name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fs.Stat(fsys, entry); err != nil {
			t.Error(err)
		}
	}
	if _, _, err := p.SchemaFS("line"); err == nil {
		t.Error("there is a schema for an unknown kind")
	}
	if _, err := Builtin("other"); err == nil {
		t.Error("there is an unknown built-in profile")
	}
}

// TestCentresMatchSchema holds the profile's list and that of the schema
// together.
func TestCentresMatchSchema(t *testing.T) {
	p, _ := builtin(t)
	schema, err := fs.ReadFile(p.FS(), "xsd/common.xsd")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(schema), `name="centreCode"`)
	list, _, _ := strings.Cut(rest, "</xs:simpleType>")
	if got := strings.Count(list, "<xs:enumeration "); got != len(p.Centres) {
		t.Errorf("the schema has %d centres, the profile %d", got, len(p.Centres))
	}
	for _, centre := range p.Centres {
		if !strings.Contains(list, `value="`+centre.ShortName+`"`) {
			t.Errorf("the schema lacks %s", centre.ShortName)
		}
	}
}

func TestNewCentreSet(t *testing.T) {
	for name, centres := range map[string][]Centre{
		"case only": {{ShortName: "Ics"}, {ShortName: "ICS"}},
		"empty":     {{ShortName: ""}},
	} {
		if _, err := NewCentreSet(centres...); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	set, err := NewCentreSet(Centre{ShortName: "Ics"}, Centre{ShortName: "Ics", FullName: "again"})
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := set.Lookup("iCS"); !ok || got != "Ics" {
		t.Errorf("found %q, %v", got, ok)
	}
	if _, ok := (CentreSet{}).Lookup("Ics"); ok {
		t.Error("the empty set has a centre")
	}
}
