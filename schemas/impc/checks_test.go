package impc_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tributary/schemas/impc"
	"tributary/sql/warehouse"
)

// attributes writes an element's start: defaults with changes, each "name=value"
// or, to leave one out, "name".
func attributes(element string, defaults []string, changes []string) string {
	var b strings.Builder
	b.WriteString("\n<" + element)
	for _, d := range defaults {
		name, _, _ := strings.Cut(d, "=")
		if !slices.ContainsFunc(changes, func(c string) bool { n, _, _ := strings.Cut(c, "="); return n == name }) {
			changes = append(slices.Clone(changes), d)
		}
	}
	for _, c := range changes {
		if name, value, there := strings.Cut(c, "="); there {
			b.WriteString(" " + name + `="` + value + `"`)
		}
	}
	return b.String() + ">"
}

func provenance() []string {
	return []string{"specimenID=m1", "isBaseline=false", "gender=female", "zygosity=homozygous", "litterId=L", "colonyID=COL",
		"pipeline=IMPC_001", "project=MGP", "phenotypingCentre=Ics"}
}

func mouse(changes ...string) string { return mouseWith("", changes...) }

func mouseWith(inner string, changes ...string) string {
	return attributes("mouse", append(provenance(), "DOB=2019-01-01"), changes) + inner + "</mouse>"
}

func embryo(changes ...string) string {
	return attributes("embryo", append(provenance(), "stage=12.5", "stageUnit=DPC"), changes) + "</embryo>"
}

func specimens(animals ...string) document {
	return document{kind: "specimen", body: strings.Join(animals, "")}
}

// experiment is one of the mouse m1; procedure is what is in its element.
func experiment(procedure string, changes ...string) string {
	return experimentWith("<specimenID>m1</specimenID>", `<procedure procedureID="IMPC_BWT_001">`+procedure+`</procedure>`, changes...)
}

func experimentWith(animals, result string, changes ...string) string {
	return attributes("experiment", []string{"experimentID=e1", "dateOfExperiment=2019-06-01"}, changes) + "\n" + animals + result + "</experiment>"
}

func line(procedure string, changes ...string) string {
	return attributes("line", []string{"colonyID=COL"}, changes) + `<procedure procedureID="IMPC_BWT_001">` + procedure + "</procedure></line>"
}

func housing(changes ...string) string {
	return attributes("housing", []string{"fromLIMS=true", "lastUpdated=2019-06-01"}, changes) + `<procedure procedureID="IMPC_BWT_001"></procedure></housing>`
}

func runs(elements ...string) document {
	return document{kind: "experiment", attributes: `pipeline="IMPC_001" project="MGP"`, body: strings.Join(elements, "")}
}

// of changes the pipeline and the project of runs.
func (d document) of(pipeline, project string) document {
	d.attributes = `pipeline="` + pipeline + `" project="` + project + `"`
	return d
}

const weight = "\n" + `<simpleParameter parameterID="IMPC_BWT_001_001" unit="g"><value>21.5</value></simpleParameter>`

// known is what a finding's counterexample needs.
func known() document { return specimens(mouse()) }

// definitions are reference rows for all that the tests measure.
func definitions(s *store) {
	const columns = "parameter_id, procedure_id, pipeline_id, kind, value_type, unit, required, options, increments, increment_type, min_increments"
	s.reference("parameter", columns,
		"'IMPC_BWT_001_001', 'IMPC_BWT_001', 'IMPC_001', 'simpleParameter', 'FLOAT', 'g', true, NULL, NULL, NULL, NULL",
		"'IMPC_BWT_002_001', 'IMPC_BWT_001', 'IMPC_001', 'simpleParameter', 'TEXT', NULL, false, 'yes|no', NULL, NULL, NULL",
		"'IMPC_BWT_003_001', 'IMPC_BWT_001', 'IMPC_001', 'ontologyParameter', NULL, NULL, NULL, 'MP:0001|MP:0002', NULL, NULL, NULL",
		"'IMPC_BWT_004_001', 'IMPC_BWT_001', 'IMPC_001', 'seriesParameter', 'INT', NULL, NULL, NULL, '1|2', 'INT', 2",
		"'IMPC_BWT_005_001', 'IMPC_BWT_001', 'IMPC_001', 'seriesParameter', 'FLOAT', NULL, NULL, NULL, NULL, 'DATETIME', 2",
		"'IMPC_BWT_006_001', 'IMPC_BWT_001', 'IMPC_001', 'procedureMetadata', 'DATE', NULL, NULL, NULL, NULL, NULL, NULL",
		"'IMPC_BWT_007_001', 'IMPC_BWT_001', 'IMPC_001', 'mediaParameter', 'IMAGE', NULL, NULL, NULL, NULL, NULL, NULL",
		"'IMPC_BWT_008_001', 'IMPC_BWT_001', 'IMPC_001', '', 'BOOL', NULL, NULL, NULL, NULL, NULL, NULL",
		"'IMPC_CAL_001_001', 'IMPC_CAL_001', 'IMPC_001', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL")
}

func colonies(s *store) {
	s.reference("colony", "colony_id, production_centre, active", "'COL', 'H', NULL", "'OLD', '', false")
}

func strains(s *store) { s.reference("strain", "strain_id", "'MGI:1'") }

func codes(s *store) {
	s.reference("status_code", "code, scope", "'SSC_1', 'specimen'", "'PSC_1', 'procedure'", "'PARAMSC_1', 'parameter'", "'ANY_1', NULL")
}

func simple(id, value string) string {
	return "\n" + `<simpleParameter parameterID="` + id + `"><value>` + value + `</value></simpleParameter>`
}

func series(id string, values ...string) string {
	return "\n" + `<seriesParameter parameterID="` + id + `">` + strings.Join(values, "") + "</seriesParameter>"
}

func at(increment, value string) string {
	return "\n" + `<value incrementValue="` + increment + `">` + value + `</value>`
}

func media(uri, inner string) string {
	return "\n" + `<mediaParameter parameterID="IMPC_BWT_007_001" URI="` + uri + `" fileType="image/jpeg">` + inner + `</mediaParameter>`
}

type caseOf struct {
	name    string
	setup   []func(*store)
	bad     []document
	want    []string // "line" or, for other findings that follow, "test line"; lines of the bad documents
	good    []document
	comment string // part of the message
}

func cases() []caseOf {
	experiments := func(result ...string) []document {
		var all []string
		for _, r := range result {
			all = append(all, experiment(r))
		}
		return []document{known(), runs(all...)}
	}
	return []caseOf{
		{name: "specimen_id_malformed", bad: []document{specimens(mouse("specimenID= m1"), mouse("specimenID="))}, want: []string{"2", "3"}, good: []document{specimens(mouse("specimenID=m 1"))}},
		{name: "specimen_dob_future", bad: []document{specimens(mouse("DOB=2020-01-02"))}, want: []string{"2"}, good: []document{specimens(mouse("DOB=2020-01-01Z"))}, comment: "m1 was born on 2020-01-02, after the file's date 2020-01-01"},
		{name: "specimen_dob_implausible", bad: []document{specimens(mouse("DOB=0019-01-01"))}, want: []string{"2"}, good: []document{specimens(mouse("DOB=1990-01-01"))}},
		{name: "specimen_strain_missing", bad: []document{specimens(mouse("isBaseline=true"), mouse("specimenID=m2", "isBaseline=1", "strainID= "))}, want: []string{"2", "3"}, good: []document{specimens(mouse("isBaseline=true", "strainID=MGI:1"))}},
		{name: "specimen_colony_missing", bad: []document{specimens(mouse("colonyID"), mouse("specimenID=m2", "colonyID="))}, want: []string{"2", "3"}, good: []document{specimens(mouse("isBaseline=true", "colonyID", "strainID=MGI:1"))}},
		{name: "embryo_stage_invalid", bad: []document{specimens(embryo("stage=20"), embryo("specimenID=m2", "stage=-1"), embryo("specimenID=m3", "stage=E"), embryo("specimenID=m4", "stage=TS12"),
			embryo("specimenID=m5", "stage="+strings.Repeat("9", 500)), embryo("specimenID=m6", "stageUnit=Theiler", "stage=TS26"), embryo("specimenID=m7", "stageUnit=Theiler", "stage=0"), embryo("specimenID=m8", "stageUnit=Theiler", "stage=12.5"))},
			want: []string{"2", "3", "4", "5", "6", "7", "8", "9"},
			good: []document{specimens(embryo(), embryo("specimenID=m2", "stage=E19.9"), embryo("specimenID=m3", "stage=0"), embryo("specimenID=m4", "stage=9."), embryo("specimenID=m5", "stageUnit=Theiler", "stage=TS25c"), embryo("specimenID=m6", "stageUnit=Theiler", "stage=1"))}},
		{name: "specimen_project_unknown", bad: []document{specimens(mouse("project=Mgp"), mouse("specimenID=m2", "project="))}, want: []string{"2", "3"}, good: []document{specimens(mouse("project=RIKEN BRC"))}},
		{name: "specimen_centre_differs", bad: []document{specimens(mouse("phenotypingCentre=H"))}, want: []string{"2"}, good: []document{specimens(mouse("productionCentre=H"))}},
		{name: "specimen_status_invalid", bad: []document{specimens(mouseWith("<statusCode> </statusCode>"), mouseWith(`<statusCode date="2031-01-01">C</statusCode>`, "specimenID=m2"))}, want: []string{"2", "3"}, good: []document{specimens(mouseWith(`<statusCode date="2020-01-01">C</statusCode>`))}},
		{name: "specimen_strain_unknown", setup: []func(*store){strains}, bad: []document{specimens(mouse("isBaseline=true", "strainID=MGI:2"))}, want: []string{"2"}, good: []document{specimens(mouse("isBaseline=true", "strainID=MGI:1"), mouse("specimenID=m2", "strainID=MGI:2"))}},
		{name: "specimen_colony_unknown", setup: []func(*store){colonies}, bad: []document{specimens(mouse("colonyID=NEW"))}, want: []string{"2"}, good: []document{specimens(mouse(), mouse("specimenID=m2", "isBaseline=true", "strainID=MGI:1", "colonyID=NEW"))}},
		{name: "specimen_colony_inactive", setup: []func(*store){colonies}, bad: []document{specimens(mouse("colonyID=OLD"))}, want: []string{"2"}, good: []document{specimens(mouse())}},
		{name: "specimen_colony_centre", setup: []func(*store){colonies}, bad: []document{specimens(mouse("productionCentre=J"))}, want: []string{"2"}, good: []document{specimens(mouse("productionCentre=H"), mouse("specimenID=m2"))}},
		{name: "specimen_status_unknown", setup: []func(*store){codes}, bad: []document{specimens(mouseWith("<statusCode>PSC_1</statusCode>"))}, want: []string{"2"}, good: []document{specimens(mouseWith("<statusCode>SSC_1:Dead</statusCode>"), mouseWith("<statusCode>ANY_1</statusCode>", "specimenID=m2"))}},

		{name: "specimen_unknown", bad: []document{known(), runs(experimentWith("<specimenID>m1</specimenID>\n<specimenID>m2</specimenID>", weightProcedure))}, want: []string{"4"}, good: []document{known(), runs(experiment(weight))}, comment: "specimen m2 of centre Ics is not known"},
		{name: "experiment_before_birth", bad: []document{known(), runs(experiment(weight, "dateOfExperiment=2018-12-31"))}, want: []string{"3"}, good: []document{known(), runs(experiment(weight, "dateOfExperiment=2019-01-01"))}},
		{name: "run_specimen_repeated", bad: []document{known(), runs(experimentWith("<specimenID>m1</specimenID>\n<specimenID>m1</specimenID>", weightProcedure))}, want: []string{"4"}, good: []document{specimens(mouse(), mouse("specimenID=m2")), runs(experimentWith("<specimenID>m1</specimenID><specimenID>m2</specimenID>", weightProcedure))}},
		{name: "run_date_future", bad: []document{known(), runs(housing("lastUpdated=2020-01-02"), experiment(weight, "dateOfExperiment=2020-02-01"))}, want: []string{"2", "3"}, good: []document{known(), runs(housing(), experiment(weight, "dateOfExperiment=2020-01-01"))}},
		{name: "run_date_implausible", bad: []document{runs(housing("lastUpdated=1919-06-01"))}, want: []string{"2"}, good: []document{runs(housing(), housing("lastUpdated", "fromLIMS=false"))}},
		{name: "experiment_without_result", bad: []document{known(), runs(experimentWith("<specimenID>m1</specimenID>", ""))}, want: []string{"2"}, good: []document{known(), runs(experimentWith("<specimenID>m1</specimenID>", "<statusCode>C</statusCode>"))}},
		{name: "run_project_unknown", bad: []document{runs(line(weight)).of("IMPC_001", "x")}, want: []string{"2"}, good: []document{runs(line(weight)).of("IMPC_001", "KMPC")}},
		{name: "run_id_malformed", bad: []document{known(), runs(line(weight, "colonyID="), experiment(weight, "experimentID=e1 "))}, want: []string{"2", "4"}, good: []document{known(), runs(line(weight), experiment(weight))}},
		{name: "run_status_invalid", bad: []document{known(), runs(experimentWith("<specimenID>m1</specimenID>", "\n<statusCode/>\n"+`<statusCode date="2020-01-02">C</statusCode>`))}, want: []string{"4", "5"}, good: []document{known(), runs(experimentWith("<specimenID>m1</specimenID>", `<statusCode date="2020-01-01">C</statusCode>`))}},
		{name: "line_colony_unknown", setup: []func(*store){colonies}, bad: []document{runs(line(weight, "colonyID=NEW"))}, want: []string{"2"}, good: []document{runs(line(weight))}},
		{name: "line_colony_inactive", setup: []func(*store){colonies}, bad: []document{runs(line(weight, "colonyID=OLD"))}, want: []string{"2"}, good: []document{runs(line(weight))}},
		{name: "run_status_unknown", setup: []func(*store){codes}, bad: []document{known(), runs(experimentWith("<specimenID>m1</specimenID>", "<statusCode>SSC_1</statusCode>"))}, want: []string{"3"}, good: []document{known(), runs(experimentWith("<specimenID>m1</specimenID>", "<statusCode>PSC_1</statusCode>"))}},

		{name: "parameter_id_malformed", bad: experiments(simple(" P1", "1") + media("u", "\n"+`<procedureMetadata parameterID=""><value>x</value></procedureMetadata>`)), want: []string{"4", "6"}, good: experiments(simple("P1", "1"))},
		{name: "parameter_repeated", bad: experiments(simple("P1", "1") + simple("P1", "2") + "\n" + `<procedureMetadata parameterID="P1"><value>x</value></procedureMetadata>`), want: []string{"5", "6"},
			good: experiments(simple("P1", "1") + simple("P2", "2") + "\n" + `<simpleParameter parameterID="P1" sequenceID="1"><value>1</value></simpleParameter>`)},
		{name: "value_empty", bad: experiments(simple("P1", " ") + "\n" + `<simpleParameter parameterID="P2"/>` + "\n" + `<procedureMetadata parameterID="P3"><value/></procedureMetadata>`), want: []string{"4", "5", "6"},
			good: experiments("\n" + `<simpleParameter parameterID="P1"><parameterStatus>C</parameterStatus></simpleParameter>`)},
		{name: "ontology_term_empty", bad: experiments("\n" + `<ontologyParameter parameterID="P1"><term>MP:1</term>` + "\n<term> </term></ontologyParameter>"), want: []string{"5"},
			good: experiments("\n" + `<ontologyParameter parameterID="P1"><term/><parameterStatus>C</parameterStatus></ontologyParameter>`)},
		{name: "series_empty", bad: experiments(series("P1")), want: []string{"4"}, good: experiments(series("P1", "<parameterStatus>C</parameterStatus>"))},
		{name: "series_value_empty", bad: experiments(series("P1", at("1", ""), at("2", "5"))), want: []string{"5"}, good: experiments(series("P1", at("1", "5"), `<value incrementValue="2" incrementStatus="C"/>`))},
		{name: "series_value_and_status", bad: experiments(series("P1", "\n"+`<value incrementValue="1" incrementStatus="C">5</value>`)), want: []string{"5"}, good: experiments(series("P1", `<value incrementValue="1" incrementStatus="">5</value>`))},
		{name: "series_increment_empty", bad: experiments(series("P1", at(" ", "1"), at("", "2"))), want: []string{"5", "6"}, good: experiments(series("P1", at("x", "1")))},
		{name: "series_increment_repeated", bad: experiments(series("P1", at("1", "1"), at("2", "1"), at(" 1", "2"))), want: []string{"7"}, good: experiments(series("P1", at("1", "1"), at("2", "1")) + series("P2", at("1", "1")))},
		{name: "media_empty", bad: experiments("\n" + `<mediaSampleParameter parameterID="P1"></mediaSampleParameter>` + "\n" + `<seriesMediaParameter parameterID="P2"/>`), want: []string{"4", "5"},
			good: experiments(`<mediaSampleParameter parameterID="P1"><parameterStatus>C</parameterStatus></mediaSampleParameter><mediaSampleParameter parameterID="P2"><mediaSample localId="s"><mediaSection localId="t"><mediaFile localId="f" URI="u" fileType="t"/></mediaSection></mediaSample></mediaSampleParameter><seriesMediaParameter parameterID="P3"><value incrementValue="1" URI="u"/></seriesMediaParameter>`)},
		{name: "media_uri_empty", bad: experiments(media("", "") + "\n" + `<seriesMediaParameter parameterID="P3">` + "\n" + `<value incrementValue="1" URI=" "/></seriesMediaParameter>`), want: []string{"4", "6"}, good: experiments(media("", "<parameterStatus>C</parameterStatus>"))},
		{name: "association_unknown", bad: experiments(simple("P1", "1") + series("P2", at("1", "1")) + media("u", "\n"+`<parameterAssociation parameterID="P2"/>`+"\n"+`<parameterAssociation parameterID="P1" sequenceID="7"/>`)), want: []string{"8", "9"},
			good: experiments(simple("P1", "1") + media("u", `<parameterAssociation parameterID="P1"/>`))},

		{name: "pipeline_unknown", setup: []func(*store){definitions}, bad: []document{runs(line(weight)).of("IMPC_1", "MGP")}, want: []string{"2"}, good: []document{runs(line(weight))}},
		{name: "procedure_unknown", setup: []func(*store){definitions}, bad: []document{known(), runs(experimentWith("<specimenID>m1</specimenID>", `<procedure procedureID="X"/>`))}, want: []string{"2"}, good: experiments(weight)},
		{name: "parameter_undefined", setup: []func(*store){definitions}, bad: experiments(weight + simple("X", "1") + media("u", "\n"+`<procedureMetadata parameterID="Y"><value>x</value></procedureMetadata>`)), want: []string{"5", "7"}, good: experiments(weight)},
		{name: "parameter_wrong_procedure", setup: []func(*store){definitions}, bad: experiments(weight + simple("IMPC_CAL_001_001", "1")), want: []string{"5"}, good: experiments(weight)},
		{name: "parameter_wrong_kind", setup: []func(*store){definitions}, bad: experiments(weight + simple("IMPC_BWT_007_001", "1")), want: []string{"5"}, good: experiments(weight + simple("IMPC_BWT_008_001", "1")), comment: "carried by a simpleParameter, but must be by a mediaParameter"},
		{name: "parameter_missing", setup: []func(*store){definitions}, bad: experiments(simple("IMPC_BWT_002_001", "yes")), want: []string{"2"},
			good: []document{known(), runs(experiment("\n"+`<simpleParameter parameterID="IMPC_BWT_001_001"><parameterStatus>C</parameterStatus></simpleParameter>`),
				experimentWith("<specimenID>m1</specimenID>", `<procedure procedureID="IMPC_BWT_001"/><statusCode>C</statusCode>`, "experimentID=e2"))}},
		{name: "value_type_mismatch", setup: []func(*store){definitions}, bad: experiments("\n" + `<simpleParameter parameterID="IMPC_BWT_001_001"><value>heavy</value></simpleParameter>` + simple("IMPC_BWT_008_001", "maybe") + series("IMPC_BWT_004_001", at("1", "1.5"), at("2", "2")) + "\n" + `<procedureMetadata parameterID="IMPC_BWT_006_001"><value>2019-13-01</value></procedureMetadata>`), want: []string{"4", "5", "7", "9"},
			good: experiments("\n" + `<simpleParameter parameterID="IMPC_BWT_001_001"><value> -1.5E-3 </value></simpleParameter>` + simple("IMPC_BWT_008_001", "TRUE") + series("IMPC_BWT_004_001", at("1", "+1"), at("2", "2")) + "\n" + `<procedureMetadata parameterID="IMPC_BWT_006_001"><value>2019-12-01</value></procedureMetadata>`)},
		{name: "value_not_an_option", setup: []func(*store){definitions}, bad: experiments(weight + simple("IMPC_BWT_002_001", "Maybe")), want: []string{"5"}, good: experiments(weight + simple("IMPC_BWT_002_001", " no "))},
		{name: "ontology_term_unknown", setup: []func(*store){definitions}, bad: experiments(weight + "\n" + `<ontologyParameter parameterID="IMPC_BWT_003_001"><term>MP:0001:x</term>` + "\n<term>XMP:0001</term></ontologyParameter>"), want: []string{"6"},
			good: experiments(weight + `<ontologyParameter parameterID="IMPC_BWT_003_001"><term>MP:0001:x</term><term>MP:0002</term></ontologyParameter>`)},
		{name: "series_too_short", setup: []func(*store){definitions}, bad: experiments(weight + series("IMPC_BWT_005_001", at("2019-06-01T10:00:00Z", "1"))), want: []string{"5"}, good: experiments(weight + series("IMPC_BWT_005_001", at("2019-06-01T10:00:00Z", "1"), at("2019-06-01T10:00:30.5Z", "1")))},
		{name: "series_increment_undefined", setup: []func(*store){definitions}, bad: experiments(weight + series("IMPC_BWT_004_001", at("1", "1"), at("2", "1"), at("3", "1"))), want: []string{"8"}, good: experiments(weight + series("IMPC_BWT_004_001", at("1", "1"), at("2", "1")))},
		{name: "series_increment_missing", setup: []func(*store){definitions}, bad: experiments(weight + series("IMPC_BWT_004_001", at("1", "1"), at("3", "1"))), want: []string{"5", "series_increment_undefined 7"}, good: experiments(weight + series("IMPC_BWT_004_001", at("1", "1"), at("2", "1")))},
		{name: "series_increment_type", setup: []func(*store){definitions}, bad: experiments(weight + series("IMPC_BWT_005_001", at("noon", "1"), at("2019-06-01T10:00:00Z", "1"))), want: []string{"6"}, good: experiments(weight + series("IMPC_BWT_005_001", at("2019-06-01T10:00:00Z", "1"), at("2019-06-01 10:00:30", "1")))},
		{name: "unit_differs", setup: []func(*store){definitions}, bad: experiments("\n" + `<simpleParameter parameterID="IMPC_BWT_001_001" unit="kg"><value>1</value></simpleParameter>`), want: []string{"4"}, good: experiments("\n" + `<simpleParameter parameterID="IMPC_BWT_001_001"><value>1</value></simpleParameter>`)},
		{name: "parameter_status_unknown", setup: []func(*store){codes}, bad: experiments("\n" + `<simpleParameter parameterID="P1"><parameterStatus>SSC_1</parameterStatus></simpleParameter>` + series("P2", "\n"+`<value incrementValue="1" incrementStatus="X"/>`) + media("", "<parameterStatus>PSC_1</parameterStatus>")), want: []string{"4", "6", "7"},
			good: experiments("\n" + `<simpleParameter parameterID="P1"><parameterStatus>PARAMSC_1:Multiple</parameterStatus></simpleParameter>`)},
	}
}

const weightProcedure = `<procedure procedureID="IMPC_BWT_001">` + weight + `</procedure>`

// TestChecks shows each check a document that violates it, and one that is as
// near to it as can be and has no finding at all.
func TestChecks(t *testing.T) {
	s := newStore(t)
	seen := map[string]bool{}
	for _, c := range cases() {
		seen[c.name] = true
		t.Run(c.name, func(t *testing.T) {
			want := slices.Clone(c.want)
			for i, w := range want {
				if !strings.Contains(w, " ") {
					want[i] = c.name + " " + w
				}
			}
			for _, part := range []struct {
				documents []document
				want      []string
			}{{c.bad, want}, {c.good, nil}} {
				s.apart(t, func() {
					for _, d := range part.documents {
						s.load(d)
					}
					for _, setup := range c.setup {
						setup(s)
					}
					s.end("Ics")
					if diff := cmp.Diff(part.want, s.open(), cmpopts.EquateEmpty()); diff != "" {
						t.Errorf("findings (-want +got):\n%s\n%s", diff, strings.Join(s.rows("SELECT test, line, message FROM warehouse.finding"), "\n"))
					}
					for _, m := range s.rows("SELECT message FROM warehouse.finding WHERE test = $1", c.name) {
						if c.comment != "" && !strings.Contains(m, c.comment) {
							t.Errorf("message %s does not say %q", m, c.comment)
						}
						if !strings.Contains(m, ": ") || len(m) > 1200 {
							t.Errorf("message %s does not say what to do, or is long", m)
						}
					}
				})
			}
		})
	}
	for _, c := range s.statements.Checks {
		if !seen[c.Name] {
			t.Errorf("the check %s has no test", c.Name)
		}
	}
}

// apart runs a part of a test in a transaction that is taken back.
func (s *store) apart(t *testing.T, fn func()) {
	t.Helper()
	outer := s.t
	s.t = t
	s.exec("BEGIN")
	fn()
	s.exec("ROLLBACK")
	s.t, s.references = outer, nil
}

// TestCheckHeaders holds every check to what people read of it.
func TestCheckHeaders(t *testing.T) {
	statements, err := warehouse.Load(impc.FS)
	must(t, err)
	for _, c := range statements.Checks {
		if !strings.HasSuffix(c.Describes, ".") || !strings.HasSuffix(c.Example, ".") {
			t.Errorf("%s: description and example must be sentences", c.File)
		}
		if strings.Contains(strings.ToLower(c.SQL), "now()") || strings.Contains(strings.ToLower(c.SQL), "current_date") {
			t.Errorf("%s asks for the time, which is no property of the data", c.File)
		}
	}
}
