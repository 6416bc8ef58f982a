package badinput

import (
	"fmt"
	"strings"
)

// valueTypes are what reference data can say that a value must be.
func valueTypes() []string {
	return []string{"BOOL", "DATETIME", "DATE", "TIME", "FLOAT", "INT", "TEXT", "IMAGE", ""}
}

// awkward are texts that those who convert, match or print texts stumble over,
// as they stand in XML.
func awkward() []string {
	return []string{
		"", " ", "&#10;", "&#9;\\.&#10;", "\\N", "NULL", "'", "''; SELECT 1;--", "%s %1$s %n", "{}", "{\"a\":1}", "\"", "$1", "|", "a|b",
		"0", "-0", "+5", "007", "1e400", "1e-400", "-1E+99999999999", "1e", ".", ".5", "5.", "1,5", "0x1F", "NaN", "Infinity", "-inf", strings.Repeat("9", 400), "0." + strings.Repeat("0", 400) + "1",
		"１２.５", "٣", "½", "²", "true", "TRUE", "yes", "2013-02-31", "0000-00-00", "9999-12-31", "99999-01-01", "2013-01-01T24:00:00Z", "2013-01-01T25:61:61+99:99", "23:59:60", "infinity", "now", "today",
		"E12.5", "E", "TS20", "TS99999999999999999999", "20", "-1", "12.5.5", "E1e3", "TS5e", "12\u00a05",
		"\u202egpj.exe", "\u200b", "\ufeff", "\u0085", "\u2028", "e\u0301", "\U0001F400", "\U0010FFFD", "İ", "ß", "&lt;script>alert(1)&lt;/script>", "../../etc/passwd", "file:///etc/passwd", "javascript:alert(1)",
		strings.Repeat("long ", 500), strings.Repeat("ü", 245),
	}
}

// short is what identifiers may hold: what is longer is refused.
func short(text string) bool { return len(text) <= 490 }

// valueCases hold every awkward text in every place that takes any text.
func valueCases() []bad {
	var specimens, runs strings.Builder
	for i, text := range awkward() {
		quoted := strings.ReplaceAll(text, `"`, "&quot;")
		embryo := func(n int, stage, unit string) {
			fmt.Fprintf(&specimens, `<embryo specimenID="embryo %d %d" isBaseline="0" gender="male" zygosity="wild type" litterId="%s" pipeline="p" project="%s" phenotypingCentre="H" stage="%s" stageUnit="%s">`+
				`<genotype geneSymbol="%s" MGIGeneId="%s" MGIAlleleId="%s"/>`+"<statusCode>%s</statusCode></embryo>\n", i, n, quoted, quoted, stage, unit, quoted, quoted, quoted, text)
		}
		embryo(1, quoted, "DPC")
		embryo(2, quoted, "Theiler")
		fmt.Fprintf(&runs, "<experiment experimentID=\"value %d\" dateOfExperiment=\"2013-01-01\"><specimenID>1</specimenID>\n<procedure procedureID=\"IMPC_X_001\">", i)
		for n, kind := range valueTypes() {
			fmt.Fprintf(&runs, "<simpleParameter parameterID=\"P%s\" sequenceID=\"%d\" unit=\"%s\"><value>%s</value></simpleParameter>\n", kind, n, quoted, text)
		}
		fmt.Fprintf(&runs, "<ontologyParameter parameterID=\"Q\"><term>%s</term></ontologyParameter>\n", text)
		fmt.Fprintf(&runs, "<seriesParameter parameterID=\"S\"><value incrementValue=\"%s\" incrementStatus=\"%s\">%s</value></seriesParameter>\n", quoted, quoted, text)
		fmt.Fprintf(&runs, "<mediaParameter parameterID=\"M\" URI=\"%s\" fileType=\"%s\" link=\"%s\"><parameterStatus>%s</parameterStatus></mediaParameter></procedure><statusCode>%s</statusCode></experiment>\n", quoted, quoted, quoted, text, text)
		if short(text) {
			fmt.Fprintf(&specimens, strings.Replace(mouseOpen, `specimenID="1"`, `specimenID="%d %s" colonyID="%s" strainID="%s"`, 1)+"/>\n", i, quoted, quoted, quoted)
			fmt.Fprintf(&runs, `<experiment experimentID="%s" dateOfExperiment="9999-12-31" sequenceID="%s"><specimenID>%s</specimenID><procedure procedureID="%s"><simpleParameter parameterID="%s"/></procedure></experiment>`+"\n", quoted, quoted, text, quoted, quoted)
		}
	}
	return []bad{
		{name: "value: awkward texts in specimens pass", write: xml(specHead + specimens.String() + specTail), end: end{"upload", ""}},
		{name: "value: awkward texts in experiments pass", write: xml(exprHead + runs.String() + exprTail), end: end{"upload", ""}},
		{name: "value: awkward dates pass", write: xml(specHead + many(6, func(i int) string {
			date := []string{"0001-01-01", "9999-12-31", "9999-12-31-14:00", "0001-01-01+14:00", "2012-02-29Z", "1582-10-10"}[i]
			return strings.NewReplacer(`specimenID="1"`, fmt.Sprintf(`specimenID="date %d"`, i), "2013-01-01", date).Replace(mouseOpen) + "/>\n"
		}) + specTail), end: end{"upload", ""}},
	}
}
