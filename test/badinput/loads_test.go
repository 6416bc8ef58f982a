package badinput

import (
	"strconv"
	"strings"
)

// loadCases follow the schema and can't be loaded all the same.
func loadCases() []bad {
	wrong := func(name, text, exception string, line int, says ...string) bad {
		return bad{name: "load: " + name, write: xml(text), end: end{"upload", exception}, says: says, line: line}
	}
	return []bad{
		wrong("another centre in the document", strings.Replace(mouse("", "", ""), `centreID="H"`, `centreID="Ics"`, 1), "centre_mismatch", 2, "Ics", "H"),
		wrong("another centre beside the own", strings.Replace(mouse("", "", ""), "</centreSpecimenSet>", "<centre centreID=\"J\">"+mouseOpen+"/></centre></centreSpecimenSet>", 1), "centre_mismatch", 5, "J"),
		wrong("a date after the year 9999", strings.Replace(mouse("", "", ""), "2013-01-01", "12013-01-01", 1), "value_out_of_range", 3, "9999"),
		wrong("a date before Christ", strings.Replace(mouse("", "", ""), "2013-01-01", "-0044-03-15", 1), "value_out_of_range", 3, "9999"),
		wrong("a year of 200,000 digits", strings.Replace(mouse("", "", ""), "2013-01-01", strings.Repeat("9", 200_000)+"-01-01", 1), "value_out_of_range", 3, "9999"),
		wrong("a decimal of 1,000,000 digits", run("\n<mediaParameter parameterID=\"P\" URI=\"u\" fileType=\"f\"><parameterAssociation parameterID=\"Q\"><dim id=\"x\" origin=\"o\">"+strings.Repeat("9", 1_000_000)+"</dim></parameterAssociation></mediaParameter>"), "value_out_of_range", 5, "1000 digits"),
		wrong("an integer of 30 digits", run("\n<simpleParameter parameterID=\"P\" sequenceID=\""+strings.Repeat("9", 30)+"\"/>"), "value_out_of_range", 5, "whole number"),
		wrong("a decimal of 2000 digits", run("\n<mediaParameter parameterID=\"P\" URI=\"u\" fileType=\"f\"><parameterAssociation parameterID=\"Q\"><dim id=\"x\" origin=\"o\">"+strings.Repeat("9", 2000)+"</dim></parameterAssociation></mediaParameter>"), "value_out_of_range", 5, "1000 digits"),
		wrong("the same specimen twice", specHead+mouseOpen+"/>\n"+mouseOpen+` colonyID="c"/>`+specTail, "duplicate_key", 4, "specimen", "line 3"),
		wrong("the same specimen as mouse and as embryo", specHead+mouseOpen+"/>\n"+strings.NewReplacer("<mouse", "<embryo", `DOB="2013-01-01"`, `stage="12.5" stageUnit="DPC"`).Replace(mouseOpen)+"/>"+specTail, "duplicate_key", 4),
		wrong("the same experiment twice", exprHead+runOf("e1", "")+runOf("e1", "")+exprTail, "duplicate_key", 5, "line 3"),
		wrong("the same specimen twice, but for white space in references", specHead+mouseOpen+"/>\n"+strings.Replace(mouseOpen, `specimenID="1"`, `specimenID="&#49;"`, 1)+"/>"+specTail, "duplicate_key", 4),
		{name: "load: 40 MB of specimens in one experiment", write: long(experiment, func(write func(string)) {
			write(exprHead + `<experiment experimentID="e" dateOfExperiment="2013-01-01">` + "\n")
			for range 20 {
				write("<specimenID>" + strings.Repeat("x", 2<<20) + "</specimenID>\n")
			}
			write("</experiment>\n" + exprTail)
		}), end: end{"upload", "value_out_of_range"}, says: []string{"specimen_id", "500 bytes"}},
		{name: "load: 1,000,000 specimens in one experiment", write: long(experiment, func(write func(string)) {
			write(exprHead + `<experiment experimentID="e" dateOfExperiment="2013-01-01">` + "\n")
			for i := range 1_000_000 {
				write("<specimenID>" + strconv.Itoa(i) + "</specimenID>\n")
			}
			write("</experiment>\n" + exprTail)
		}), end: end{"upload", "element_too_large"}, says: []string{"experiment"}},
		{name: "load: 400,000 files of one parameter pass", write: long(experiment, func(write func(string)) {
			write(exprHead + `<experiment experimentID="e" dateOfExperiment="2013-01-01"><specimenID>1</specimenID>` + "\n<procedure procedureID=\"P\"><seriesMediaParameter parameterID=\"Q\">\n")
			for range 400_000 {
				write("<value incrementValue=\"1\" URI=\"u\"/>\n")
			}
			write("</seriesMediaParameter></procedure></experiment>\n" + exprTail)
		}), end: end{"upload", ""}},
		wrong("a specimenID of 501 bytes", strings.Replace(mouse("", "", ""), `specimenID="1"`, `specimenID="`+strings.Repeat("é", 250)+`x"`, 1), "value_out_of_range", 3, "specimen_id", "500 bytes"),
		wrong("a colonyID of 200 kB", mouse("", ` colonyID="`+strings.Repeat("x", 200_000)+`"`, ""), "value_out_of_range", 3, "colony_id", "500 bytes"),
		passesLoad("a specimenID of 500 bytes", strings.Replace(mouse("", "", ""), `specimenID="1"`, `specimenID="`+strings.Repeat("é", 250)+`"`, 1)),
		passesLoad("a value of 3 MB", run("\n<simpleParameter parameterID=\"P\"><value>"+strings.Repeat("x", 3<<20)+"</value></simpleParameter>")),
		passesLoad("an experiment twice, of two procedures", exprHead+runOf("e1", "")+strings.Replace(runOf("e1", ""), "IMPC_X_001", "IMPC_X_002", 1)+exprTail),
		passesLoad("specimens that differ in case", specHead+strings.Replace(mouseOpen, `"1"`, `"a"`, 1)+"/>\n"+strings.Replace(mouseOpen, `"1"`, `"A"`, 1)+"/>"+specTail),
		passesLoad("the last day that can be held", strings.Replace(mouse("", "", ""), "2013-01-01", "9999-12-31", 1)),
	}
}

func passesLoad(name, text string) bad {
	return bad{name: "load: " + name + " passes", write: xml(text), end: end{"upload", ""}}
}
