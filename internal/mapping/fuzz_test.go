package mapping

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf16"
)

// wide is a text in UTF-16.
func wide(text string) string {
	var b strings.Builder
	b.WriteString("\xff\xfe")
	for _, u := range utf16.Encode([]rune(text)) {
		b.Write([]byte{byte(u), byte(u >> 8)})
	}
	return b.String()
}

// FuzzRead: whatever a document holds, reading it ends with rows that fit their
// tables, or with an error of the document's, and never crashes. What is
// accepted is written back as a document that reads as the same.
func FuzzRead(f *testing.F) {
	const (
		experiment = `<centreProcedureSet><centre centreID="H" pipeline="P" project="X"><experiment experimentID="E" dateOfExperiment="2020-01-01Z"><specimenID>1</specimenID><procedure procedureID="p"><simpleParameter parameterID="s" sequenceID="+1"><value>1</value></simpleParameter><ontologyParameter parameterID="o"><term>t</term></ontologyParameter><seriesParameter parameterID="q"><value incrementValue="0">a</value></seriesParameter><mediaParameter parameterID="m" URI="u" fileType="f"><parameterAssociation parameterID="s"><dim id="x" origin="o">.5</dim></parameterAssociation></mediaParameter><mediaSampleParameter parameterID="m"><mediaSample localId="l"><mediaSection localId="l"><mediaFile localId="l" URI="u" fileType="f"/></mediaSection></mediaSample></mediaSampleParameter><seriesMediaParameter parameterID="m"><value incrementValue="1" URI="u"/><procedureMetadata parameterID="d"/></seriesMediaParameter><procedureMetadata parameterID="d"><value/></procedureMetadata></procedure><statusCode date="2020-01-01">c</statusCode></experiment></centre></centreProcedureSet>`
		line       = `<centreProcedureSet><centre centreID="H"><housing fromLIMS="1" lastUpdated="2020-01-01+14:00"><procedure procedureID="p"/></housing><line colonyID="c"><procedure procedureID="p"/><statusCode/></line></centre></centreProcedureSet>`
		specimen   = `<centreSpecimenSet><centre centreID="H"><mouse specimenID="m" DOB="2020-01-01" isBaseline="true"><relatedSpecimen specimenID="x" relationship="father"/><genotype geneSymbol="g"/><chromosomalAlteration><chromosomeAdded start="1" end="2"/></chromosomalAlteration><parentalStrain level="1" percentage="INF"/><statusCode date="2020-01-01">s</statusCode></mouse><embryo specimenID="e" stage="9.5" stageUnit="DPC"/></centre></centreSpecimenSet>`
	)
	for _, text := range []string{experiment, line, wide(line), strings.ReplaceAll(line, "<line ", "<!--c--><?p i?><line "), strings.ReplaceAll(experiment, "procedure>", "procedure ><procedure>"),
		strings.ReplaceAll(line, "</", "<x>&#x0A;&amp;</x></"), `<?xml version="1.0" encoding="ISO-8859-1"?>` + line, line[:len(line)/2], strings.ReplaceAll(line, "p\"", "\xff\"")} {
		f.Add("experiment", text)
	}
	for _, text := range []string{specimen, strings.ReplaceAll(specimen, "<mouse", "<p:mouse xmlns:p='u'"), strings.ReplaceAll(specimen, "2020-01-01", "02020-01-01"), strings.ReplaceAll(specimen, "s</", "<![CDATA[]]&gt;]]>\r\n</"),
		"<!DOCTYPE a [<!ENTITY b 'c'>]>" + specimen, strings.Repeat("<centreSpecimenSet>", 40), strings.ReplaceAll(specimen, `"m"`, `"&#13;&#9;\N{&quot;"`)} {
		f.Add("specimen", text)
	}
	f.Add("nothing", "<a/>")
	m := load(f)
	f.Fuzz(func(t *testing.T, kind, text string) {
		_, err := read(m, kind, text)
		if bad := (*DocumentError)(nil); err != nil && (!errors.As(err, &bad) || bad.Message == "" || bad.Exception == "") {
			t.Fatalf("%q: %v", text, err)
		}
		if err != nil {
			return
		}
		back, records, err := again(m, kind, "H", text, false)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		s, err := remember(m, kind, "H", back, false)
		if err != nil || strings.Join(prints(records), "\n") != strings.Join(prints(s.records), "\n") {
			t.Fatalf("%q was written as %q, which reads otherwise: %v", text, back, err)
		}
	})
}
