package xsdcheck

import (
	"slices"
	"strings"
	"testing"

	"tributary/internal/profile"
)

func TestCompleteDocumentsAreValid(t *testing.T) {
	for _, kind := range []string{"specimen", "experiment"} {
		if result := validate(t, ours(t, kind), complete(t, kind)); !result.Valid {
			t.Errorf("%s: %+v", kind, result.Errors)
		}
		other := map[string]string{"specimen": "experiment", "experiment": "specimen"}[kind]
		result := validate(t, ours(t, other), complete(t, kind))
		if result.Valid || result.Errors[0].Line != 3 {
			t.Errorf("a %s document as %s: %+v", kind, other, result)
		}
	}
}

// TestRoots holds the profile's root elements and those of the schemas together.
func TestRoots(t *testing.T) {
	p, err := profile.Builtin("impc")
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range p.Kinds {
		text := strings.ReplaceAll(complete(t, kind.Name), kind.Root, "other")
		if result := validate(t, ours(t, kind.Name), text); result.Valid || result.Errors[0].Line != 3 {
			t.Errorf("%s: the root %s is not the one that counts: %+v", kind.Name, kind.Root, result)
		}
	}
}

// TestVerdicts needs no reference: each case is one change to a document that
// has everything, and the line where the error must be.
func TestVerdicts(t *testing.T) {
	schemas := map[string]*Schema{"specimen": ours(t, "specimen"), "experiment": ours(t, "experiment")}
	for _, test := range []struct {
		kind, from, to string
		line           int // 0: valid
	}{
		{"specimen", `centreID="Ics"`, `centreID="ICS"`, 4},
		{"specimen", `centreID="Ics"`, `centreID="Ncom"`, 4},
		{"specimen", `zygosity="homozygous"`, `zygosity="Homozygous"`, 5},
		{"specimen", `isBaseline="false"`, `isBaseline="no"`, 5},
		{"specimen", `isBaseline="false"`, `isBaseline="0"`, 0},
		{"specimen", ` litterId="L1"`, ``, 5},
		{"specimen", ` colonyID="COL1"`, ``, 0},
		{"specimen", `DOB="2013-01-31"`, `DOB="2013-02-31"`, 5},
		{"specimen", `DOB="2013-01-31"`, `DOB="2013-01-31+01:00"`, 0},
		{"specimen", `relationship="mother"`, `relationship="sister"`, 6},
		{"specimen", `gender="male" level="1"`, `gender="no data" level="1"`, 13},
		{"specimen", `level="1"`, `level="1.0"`, 13},
		{"specimen", `stageUnit="DPC"`, `stageUnit="dpc"`, 16},
		{"specimen", `<statusCode date="2013-02-01Z">`, `<statusCode date="2013-02-01Z" by="me">`, 14},
		{"experiment", `<housing fromLIMS="0">`, `<housing>`, 8},
		{"experiment", `<line colonyID="COL1" sequenceID="a">`, `<line sequenceID="a">`, 13},
		{"experiment", `dateOfExperiment="2013-06-19" `, `dateOfExperiment="19/06/2013" `, 20},
		{"experiment", `<specimenID/>`, ``, 59},
		{"experiment", `<value>21.5</value><parameterStatus>OK</parameterStatus>`, `<parameterStatus>OK</parameterStatus><value>21.5</value>`, 24},
		{"experiment", `<parameterStatus>OK</parameterStatus><value>v</value>`, `<value>v</value><parameterStatus>OK</parameterStatus>`, 31},
		{"experiment", `unit="px">12.25<`, `unit="px">1e2<`, 30},
		{"experiment", `<term>MP:0000001:one</term><term>MP:0000002:two</term>`, ``, 26},
		{"experiment", `unit="g" sequenceID="1"`, `unit="g" sequenceID="one"`, 24},
		{"experiment", `<seriesParameter parameterID="P4" sequenceID="1" unit="s">`, `<seriesParameter parameterID="P4" sequenceID="1" unit="s" uint="s">`, 27},
		{"experiment", `<centre centreID="Biat" pipeline="" project=""/>`, ``, 0},
	} {
		text := complete(t, test.kind)
		if strings.Count(text, test.from) != 1 {
			t.Fatalf("%q is not in the document once", test.from)
		}
		result := validate(t, schemas[test.kind], strings.Replace(text, test.from, test.to, 1))
		if result.Valid != (test.line == 0) {
			t.Errorf("%s -> %s: valid %v; %+v", test.from, test.to, result.Valid, result.Errors)
			continue
		}
		if test.line > 0 && !slices.ContainsFunc(result.Errors, func(e Error) bool {
			return e.Line == test.line && e.Exception == Invalid && e.Column > 0
		}) {
			t.Errorf("%s -> %s: no error in line %d: %+v", test.from, test.to, test.line, result.Errors)
		}
	}
}

func TestThirdHousingIsRefused(t *testing.T) {
	text := complete(t, "experiment")
	housing := `<housing fromLIMS="1"><procedure procedureID="x"/></housing>`
	text = strings.Replace(text, `<line colonyID`, housing+`<line colonyID`, 1)
	if result := validate(t, ours(t, "experiment"), text); result.Valid || result.Errors[0].Line != 13 {
		t.Errorf("%+v", result)
	}
}
