package badinput

import (
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
		wrong("an integer of 30 digits", run("\n<simpleParameter parameterID=\"P\" sequenceID=\""+strings.Repeat("9", 30)+"\"/>"), "value_out_of_range", 5, "whole number"),
		wrong("a decimal of 2000 digits", run("\n<mediaParameter parameterID=\"P\" URI=\"u\" fileType=\"f\"><parameterAssociation parameterID=\"Q\"><dim id=\"x\" origin=\"o\">"+strings.Repeat("9", 2000)+"</dim></parameterAssociation></mediaParameter>"), "value_out_of_range", 5, "1000 digits"),
	}
}
