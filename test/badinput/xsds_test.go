package badinput

import (
	"strings"
)

// xsdCases are XML that does not follow the schema, among them the causes that
// real documents were refused for.
func xsdCases() []bad {
	const no = "xsd_invalid"
	wrong := func(name string, line int, text string, says ...string) bad {
		b := bad{name: "xsd: " + name, write: xml(text), end: end{"xsd", no}, says: says, line: line}
		return b
	}
	value := func(name, attribute, value string) bad {
		return wrong("attribute "+name, 3, strings.Replace(mouse("", "", ""), attribute+`="`, attribute+`="`+value, 1), attribute)
	}
	without := func(attribute string) string {
		text := mouse("", "", "")
		from := strings.Index(text, " "+attribute+`="`)
		to := from + len(attribute) + 3 + strings.Index(text[from+len(attribute)+3:], `"`) + 1
		return text[:from] + text[to:]
	}
	housing := func(attributes string) string {
		return exprHead + "<housing" + attributes + ">\n<procedure procedureID=\"P\"/></housing>\n" + exprTail
	}
	parameter := func(inside string) string {
		return run("\n<mediaParameter parameterID=\"P\" URI=\"u\" fileType=\"f\">" + inside + "</mediaParameter>")
	}
	dim := func(v string) string {
		return parameter(`<parameterAssociation parameterID="Q"><dim id="x" origin="o">` + v + "</dim></parameterAssociation>")
	}
	pass := func(name, text string) bad { b := xmlPasses(name, text); b.name = "xsd: " + name + " passes"; return b }
	const xsi = ` xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"`
	return []bad{
		// The causes in the samples.
		wrong("unknown attribute", 3, mouse("", ` colour="black"`, ""), "colour"),
		wrong("unexpected element", 4, mouse("", "", "\n<weight>20</weight>"), "weight"),
		wrong("missing attribute fromLIMS", 3, housing(` lastUpdated="2013-01-01"`), "fromLIMS"),
		wrong("unknown centre", 2, strings.Replace(mouse("", "", ""), `centreID="H"`, `centreID="Ncom"`, 1), "Ncom"),
		wrong("wrong namespace of the root", 1, strings.Replace(mouse("", "", ""), specimenNS, "http://www.example.org/specimen", 1), "example.org"),
		{name: "xsd: attribute twice, as in the samples", write: xml(mouse("", ` litterId="2"`, "")), end: end{"xsd", "xml_not_well_formed"}, says: []string{"litterId"}},
		// The root.
		wrong("another root", 1, "<specimens/>", "specimens"),
		wrong("no namespace", 1, strings.Replace(mouse("", "", ""), ` xmlns="`+specimenNS+`"`, "", 1), "centreSpecimenSet"),
		{name: "xsd: an experiment named specimen", write: entries(part{name: specimen, data: []byte(run(""))}), end: end{"xsd", no}, says: []string{"centreProcedureSet"}},
		{name: "xsd: a specimen named experiment", write: entries(part{name: experiment, data: []byte(mouse("", "", ""))}), end: end{"xsd", no}, says: []string{"centreSpecimenSet"}},
		wrong("a schema of its own", 1, `<a xmlns="urn:a"`+xsi+` xsi:schemaLocation="urn:a file:///etc/a.xsd"/>`, "not declared"),
		// Structure.
		wrong("no centre", 1, `<centreSpecimenSet xmlns="`+specimenNS+`"/>`, "centre"),
		wrong("a centre without specimens", 3, specHead+specTail, "centre"),
		wrong("text between elements", 0, mouse("", "", "\nsome text\n"), "mouse"),
		wrong("child in an empty element", 0, mouse("", "", `<relatedSpecimen specimenID="1" relationship="mother"><mouse/></relatedSpecimen>`), "relatedSpecimen"),
		wrong("groups in another order", 0, run("\n<ontologyParameter parameterID=\"P\"><term>t</term></ontologyParameter>\n<simpleParameter parameterID=\"P\"/>"), "simpleParameter"),
		wrong("status before the value", 0, run("\n<simpleParameter parameterID=\"P\"><parameterStatus>s</parameterStatus><value>1</value></simpleParameter>"), "value"),
		wrong("three housings", 0, exprHead+strings.Repeat("<housing fromLIMS=\"1\"><procedure procedureID=\"P\"/></housing>\n", 3)+exprTail, "housing"),
		wrong("an ontology parameter without a term", 0, run("\n<ontologyParameter parameterID=\"P\"/>"), "term"),
		wrong("an experiment without a specimen", 0, exprHead+`<experiment experimentID="e" dateOfExperiment="2013-01-01"/>`+exprTail, "specimenID"),
		wrong("a type by xsi:type that isn't one", 0, mouse("", xsi+` xsi:type="embryoRecord"`, ""), "xsi:type"),
		wrong("nil", 0, mouse("", xsi+` xsi:nil="true"`, ""), "nil"),
		wrong("a name in capitals", 3, strings.NewReplacer("<mouse", "<Mouse", "</mouse", "</Mouse").Replace(mouse("", "", "")), "Mouse"),
		wrong("an attribute of a namespace", 3, strings.Replace(mouse("", "", ""), ` DOB="`, ` xmlns:s="`+specimenNS+`" s:DOB="`, 1), "DOB"),
		wrong("missing date of birth", 3, without("DOB"), "DOB"),
		wrong("missing specimen", 3, without("specimenID"), "specimenID"),
		// Values.
		value("gender unknown", "gender", "un"),
		value("zygosity in other words", "zygosity", "very "),
		wrong("zygosity in white space", 3, strings.Replace(mouse("", "", ""), "wild type", " wild type ", 1), "zygosity"),
		wrong("isBaseline in words", 3, strings.Replace(mouse("", "", ""), `isBaseline="1"`, `isBaseline="yes"`, 1), "yes"),
		wrong("a date of another order", 3, strings.Replace(mouse("", "", ""), "2013-01-01", "01/02/2013", 1), "01/02/2013"),
		wrong("31 February", 3, strings.Replace(mouse("", "", ""), "2013-01-01", "2013-02-31", 1), "2013-02-31"),
		wrong("a date with a time", 3, strings.Replace(mouse("", "", ""), "2013-01-01", "2013-01-01T00:00:00", 1), "2013-01-01T00:00:00"),
		wrong("the year 0000", 3, strings.Replace(mouse("", "", ""), "2013-01-01", "0000-01-01", 1), "0000-01-01"),
		wrong("a time zone of 15 hours", 3, strings.Replace(mouse("", "", ""), "2013-01-01", "2013-01-01+15:00", 1), "15:00"),
		wrong("an empty date", 3, strings.Replace(mouse("", "", ""), "2013-01-01", "", 1), "DOB"),
		wrong("an integer with a fraction", 0, run("\n<simpleParameter parameterID=\"P\" sequenceID=\"1.0\"/>"), "sequenceID"),
		wrong("an integer in words", 0, run("\n<simpleParameter parameterID=\"P\" sequenceID=\"one\"/>"), "sequenceID"),
		wrong("a decimal with an exponent", 0, dim("1e5"), "1e5"),
		wrong("a decimal that is no number", 0, dim("NaN"), "NaN"),
		wrong("a decimal of a point", 0, dim("."), "dim"),
		wrong("an empty decimal", 0, dim(""), "dim"),
		value("gender with RTL override", "gender", "\u202eelam"),
		value("gender in HTML", "gender", "&lt;script>alert(1)&lt;/script>"),
		value("gender of 200 kB", "gender", strings.Repeat("x", 200_000)),
		wrong("an element's name of 8 kB", 4, mouse("", "", "\n<"+strings.Repeat("x", 8000)+"/>")),
		wrong("an attribute's name of 8 kB", 3, mouse("", " "+strings.Repeat("x", 8000)+"=''", "")),
		pass("a date with a time zone", strings.Replace(mouse("", "", ""), "2013-01-01", "2013-01-01+14:00", 1)),
		pass("white space round a date", strings.Replace(mouse("", "", ""), "2013-01-01", " \n2013-01-01\t", 1)),
		pass("a decimal of -0", dim("-0")),
		pass("a decimal of +.5 in white space", dim(" \n+.5 ")),
		pass("a decimal of 500 digits", dim(strings.Repeat("9", 250)+"."+strings.Repeat("9", 250))),
		pass("an empty value", run("\n<simpleParameter parameterID=\"P\"><value/></simpleParameter>")),
		pass("white space in a value", run("\n<simpleParameter parameterID=\"P\"><value> \n </value></simpleParameter>")),
	}
}
