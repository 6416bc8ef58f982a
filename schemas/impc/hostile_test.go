package impc_test

import (
	"encoding/xml"
	"fmt"
	"strings"
	"testing"
)

// TestHostileValues puts what no check expects wherever a document or a
// reference file may say anything, and runs all checks and views on it: a value
// may be found wrong, but never stops a batch.
func TestHostileValues(t *testing.T) {
	s := newStore(t)
	for i, value := range []string{
		"", " ", "%s%n$1", `\`, `'";--`, "\u00a01\u2003", "١٢", "1e999999", "-1e-999999", ".", "+", "1.", ".5", "E", "TS", "TS99999999999999999999",
		"NaN", "Infinity", strings.Repeat("9", 400), "0." + strings.Repeat("1", 400), "2019-02-30", "0000-00-00", "9999999-01-01", "10:61", "null",
		"a|b||", "|", "(", "[a-", "{1,999}", "\U0001f42d", strings.Repeat("é", 200),
	} {
		s.hostile(fmt.Sprintf("PIPE%d", i), value)
	}
	s.end("Ics")
	for _, view := range strings.Fields(`current_specimen current_procedure_run current_measurement specimen_measurement latest_measurement current_media
		claim_history open_finding run_dimension context overview parameter_use`) {
		s.exec("SELECT * FROM warehouse." + view)
	}
	s.same("messages are short", "SELECT max(length(message)) < 1500 FROM warehouse.finding", "true")
	s.same("tests that found something", "SELECT count(DISTINCT test) > 25 FROM warehouse.finding", "true")
	if diff := s.differences("Ics"); diff != "" {
		t.Error(diff)
	}
}

// hostile loads documents with the value in all places, and reference rows for
// a pipeline of its own.
func (s *store) hostile(pipeline, value string) {
	s.t.Helper()
	var b strings.Builder
	must(s.t, xml.EscapeText(&b, []byte(value)))
	x := b.String()
	status := "<statusCode>" + x + "</statusCode>"
	s.load(specimens(
		mouseWith(status, "specimenID="+x, "colonyID="+x, "strainID="+x, "project="+x, "pipeline="+x, "isBaseline=true"),
		mouseWith(status, "specimenID="+x+"2", "colonyID="+x, "strainID="+x, "DOB=9999-12-31"),
		embryo("specimenID="+x+"3", "stage="+x), embryo("specimenID="+x+"4", "stage="+x, "stageUnit=Theiler"),
		embryo("specimenID="+x+"5", "stage=E"+x), embryo("specimenID="+x+"6", "stage=TS"+x, "stageUnit=Theiler")))
	parameters := simple(x, x) + simple("INT", x) +
		`<simpleParameter parameterID="P" unit="` + x + `"><value>` + x + `</value><parameterStatus>` + x + `</parameterStatus></simpleParameter>` +
		`<ontologyParameter parameterID="O"><term>` + x + `</term></ontologyParameter>` + series("S", at(x, x), at(x, x)) +
		`<mediaParameter parameterID="` + x + `" URI="` + x + `" fileType="` + x + `"><parameterAssociation parameterID="` + x + `"><dim id="` + x + `" origin="` + x + `">1</dim></parameterAssociation></mediaParameter>` +
		`<procedureMetadata parameterID="D"><value>` + x + `</value></procedureMetadata>`
	animal := "<specimenID>" + x + "</specimenID>"
	s.load(runs(housing("lastUpdated=0001-01-01"), line(parameters, "colonyID="+x),
		experimentWith(animal, `<procedure procedureID="`+x+`">`+parameters+`</procedure>`+status, "experimentID="+x),
		experimentWith(animal, `<procedure procedureID="PROC">`+parameters+`</procedure>`, "experimentID="+x+"2", "dateOfExperiment=9999-12-31+14:00")).of(pipeline, x))
	s.load(runs(line(parameters)).of(x, x))

	text := "'" + strings.ReplaceAll(value, "'", "''") + "'"
	var rows []string
	for _, row := range []string{
		"'P', ?, V, V, V, true, V, V, V, -9223372036854775808",
		"'INT', ?, '', 'INT', NULL, true, NULL, NULL, NULL, NULL",
		"'D', ?, NULL, 'DATE', NULL, NULL, NULL, NULL, NULL, NULL",
		"'O', ?, NULL, 'FLOAT', NULL, NULL, V, NULL, NULL, NULL",
		"'S', ?, NULL, 'DATETIME', V, true, NULL, V, 'REPEAT', 9223372036854775807",
		"'missing', ?, NULL, NULL, NULL, true, NULL, NULL, NULL, NULL",
	} {
		rows = append(rows, strings.ReplaceAll(strings.ReplaceAll(row, "?", "'PROC', '"+pipeline+"'"), "V", text))
	}
	s.reference("parameter", "parameter_id, procedure_id, pipeline_id, kind, value_type, unit, required, options, increments, increment_type, min_increments", rows...)
	s.reference("strain", "strain_id, name", text+", "+text)
	s.reference("colony", "colony_id, production_centre, active", text+", "+text+", false")
	s.reference("status_code", "code, scope", text+", "+text)
}
