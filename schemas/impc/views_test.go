package impc_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func (s *store) same(what string, sql string, want ...string) {
	s.t.Helper()
	rows, err := s.conn.Query(s.t.Context(), sql)
	must(s.t, err)
	var got []string
	for rows.Next() {
		values, err := rows.Values()
		must(s.t, err)
		words := make([]string, len(values))
		for i, v := range values {
			if words[i] = fmt.Sprint(v); v == nil {
				words[i] = "-"
			}
		}
		got = append(got, strings.Join(words, " "))
	}
	must(s.t, rows.Err())
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		s.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// TestFindingsFollowSpecimens sees findings about an experiment close and open
// with what happens to its specimen in other batches.
func TestFindingsFollowSpecimens(t *testing.T) {
	s := newStore(t)
	steps := []struct {
		do   func()
		want []string
	}{
		{func() { s.load(runs(experiment(weight))) }, []string{"specimen_unknown 3"}},
		{func() { s.load(document{kind: "specimen", centre: "H", body: mouse("phenotypingCentre=H")}) }, []string{"specimen_unknown 3"}},
		{func() { s.load(specimens(mouse("DOB=2019-07-01"))) }, []string{"experiment_before_birth 3"}},
		{func() { s.load(known()) }, nil},
		{func() { d := known(); d.tombstone = true; s.load(d) }, []string{"specimen_unknown 3"}},
		{func() { s.withdraw(s.position, true) }, nil},
		{func() { d := runs(experiment(weight)); d.tombstone = true; s.load(d) }, nil},
		{func() { s.withdraw(4, true) }, nil}, // the specimen is again the one born later, but the experiment is gone
		{func() { s.withdraw(6, true) }, []string{"experiment_before_birth 3"}},
	}
	for i, step := range steps {
		step.do()
		s.end("H")
		s.end("Ics")
		if diff := cmp.Diff(step.want, s.open(), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("findings after step %d (-want +got):\n%s", i+1, diff)
		}
	}
	s.same("runs with findings", "SELECT experiment_id, has_findings FROM warehouse.current_procedure_run", "e1 true")
}

// TestReferenceTurnsChecksOn loads a reference table after the documents.
func TestReferenceTurnsChecksOn(t *testing.T) {
	s := newStore(t)
	s.load(specimens(mouse("colonyID=NEW")))
	s.end("Ics")
	s.same("before", "SELECT test FROM warehouse.open_finding")
	colonies(s)
	s.end("Ics")
	s.same("after", "SELECT test, level, message FROM warehouse.open_finding",
		`specimen_colony_unknown error the colony "NEW" of specimen m1 is not known: correct colonyID, or have the colony registered`)
}

// TestViews shows what analysts see of runs of every shape.
func TestViews(t *testing.T) {
	s := newStore(t)
	s.load(specimens(mouse(), mouse("specimenID=m2", "gender=male")))
	full := simple("A", " 1.5e1 ") + "\n" + `<simpleParameter parameterID="A" sequenceID="2" unit="g"><parameterStatus>C</parameterStatus></simpleParameter>` +
		`<ontologyParameter parameterID="B"><term>T1</term><term>T2</term></ontologyParameter>` +
		series("S", at("1", "x"), `<value incrementValue="2" incrementStatus="C"/>`) + series("E", "<parameterStatus>C</parameterStatus>") +
		`<mediaParameter parameterID="F" URI="u1" fileType="t" link="l"><parameterStatus>C</parameterStatus><parameterAssociation parameterID="B"><dim id="x" origin="o">1</dim></parameterAssociation><parameterAssociation parameterID="A"/></mediaParameter>` +
		`<mediaSampleParameter parameterID="G"><mediaSample localId="s1"><mediaSection localId="t1"><mediaFile localId="f1" URI="u2" fileType="t"/></mediaSection></mediaSample><parameterStatus>D</parameterStatus></mediaSampleParameter>` +
		`<seriesMediaParameter parameterID="H"><value incrementValue="7" URI="u3"><procedureMetadata parameterID="M"><value>v</value></procedureMetadata></value></seriesMediaParameter>` +
		`<procedureMetadata parameterID="M"><value>who</value></procedureMetadata>`
	old := s.load(runs(experimentWith("<specimenID>m1</specimenID><specimenID>m2</specimenID>", `<procedure procedureID="PROC">`+full+`</procedure>`)))
	// The same content comes again in another document, behind another element.
	s.load(runs(housing(), experimentWith("<specimenID>m1</specimenID><specimenID>m2</specimenID>", `<procedure procedureID="PROC">`+full+`</procedure>`)))
	s.load(runs(experimentWith("<specimenID>m1</specimenID>", `<procedure procedureID="PROC">`+simple("A", "16")+`<ontologyParameter parameterID="B"><term>T3</term><term>T4</term></ontologyParameter></procedure>`, "experimentID=e2", "dateOfExperiment=2019-07-01")))
	s.end("Ics")

	s.same("content is stored once", "SELECT count(*), count(DISTINCT position) FROM warehouse.series_value", "2 1")
	s.same("specimens", "SELECT centre, specimen_id, kind, gender, has_findings, position, ordinal FROM warehouse.current_specimen ORDER BY 2",
		"Ics m1 mouse female false 1 2", "Ics m2 mouse male false 1 3")
	s.same("runs", "SELECT kind, experiment_id, specimen_ids, from_lims, position, ordinal FROM warehouse.current_procedure_run ORDER BY position, ordinal",
		"housing - - true 3 2", "experiment e1 [m1 m2] - 3 3", "experiment e2 [m1] - 4 2")
	s.same("values", `SELECT kind, parameter_id, sequence_id, increment, increment_status, unit, value, status, run_ordinal, ordinal
		FROM warehouse.current_measurement WHERE experiment_id = 'e1' ORDER BY ordinal`,
		"simple A - - - -  1.5e1  - 3 6", "simple A 2 - - g - C 3 7", "ontology B - - - - T1 - 3 9", "ontology B - - - - T2 - 3 10",
		"series S - 1 - - x - 3 12", "series S - 2 C -  - 3 13", "series E - - - - - C 3 14", "metadata M - - - - who - 3 26")
	s.same("media", `SELECT kind, parameter_id, sample_id, section_id, file_id, increment, uri, file_type, link, status, shows, position, run_ordinal, ordinal
		FROM warehouse.current_media ORDER BY uri`,
		"single F - - - - u1 t l C [B A] 3 3 15", "sample G s1 t1 f1 - u2 t - D - 3 3 22", "series H - - - 7 u3 - - - - 3 3 24")
	s.same("specimens with values", `SELECT specimen_id, sex, experiment_id, age_in_days, parameter_id, increment, value, value_number
		FROM warehouse.specimen_measurement WHERE parameter_id IN ('A', 'S') AND sequence_id IS NULL ORDER BY 1, 3, 5, 6`,
		"m1 female e1 151 A -  1.5e1  15", "m1 female e1 151 S 1 x -", "m1 female e1 151 S 2  -", "m1 female e2 181 A - 16 16",
		"m2 male e1 151 A -  1.5e1  15", "m2 male e1 151 S 1 x -", "m2 male e1 151 S 2  -")
	s.same("latest values", `SELECT specimen_id, experiment_id, parameter_id, increment, value FROM warehouse.latest_measurement
		WHERE parameter_id IN ('A', 'B', 'S') AND sequence_id IS NULL ORDER BY 1, 3, 4, 5`,
		"m1 e2 A - 16", "m1 e2 B - T3", "m1 e2 B - T4", "m1 e1 S 1 x", "m1 e1 S 2 ",
		"m2 e1 A -  1.5e1 ", "m2 e1 B - T1", "m2 e1 B - T2", "m2 e1 S 1 x", "m2 e1 S 2 ")

	s.withdraw(old, true)
	d := specimens(mouse("specimenID=m2"))
	d.tombstone = true
	s.load(d)
	s.same("history of a key", `SELECT record_type, natural_key[2], position, state, repeats_content FROM warehouse.claim_history
		WHERE natural_key[2] = 'm2' OR natural_key[3] = 'e1' ORDER BY 1, place, position`,
		"procedure_run experiment 3 current true", "procedure_run experiment 2 withdrawn false",
		"specimen m2 5 tombstone false", "specimen m2 1 superseded false")
}

// TestOverviewCountsFindings sees findings of each level in the overview.
func TestOverviewCountsFindings(t *testing.T) {
	s := newStore(t)
	s.load(specimens(mouse("colonyID", "phenotypingCentre=H")))
	d := runs(experiment(weight), housing()).of("IMPC_001", "x")
	d.date = "2020-02-03"
	s.load(d)
	s.exec("INSERT INTO warehouse.finding SELECT 2, 2, 2, 'resubmitted', 'Ics', 'procedure_run', 'IMPC_BWT_001', 'info', 1, 1, 'm', true")
	s.end("Ics")
	s.same("overview", "SELECT * FROM warehouse.overview ORDER BY procedure_id",
		"Ics  1 0 0 0 0 0 0 1 1 2 2020-01-01", "Ics IMPC_BWT_001 0 2 1 0 1 1 1 2 0 3 2020-02-03")
	s.same("context", "SELECT colony_id, zygosity, sex, procedure_id, parameter_id, runs, measurements FROM warehouse.context",
		" homozygous female IMPC_BWT_001 IMPC_BWT_001_001 1 1")
	s.withdraw(2, true)
	s.end("Ics")
	s.same("nothing is left of a withdrawn document", "SELECT procedure_id, specimens, runs, last_change FROM warehouse.overview WHERE procedure_id = '' OR runs > 0", " 1 0 2020-01-01")
}
