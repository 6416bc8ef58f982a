package xsdcheck

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// oneExperiment is an experiment document with room inside its experiment.
func oneExperiment(inside string) string {
	return `<centreProcedureSet xmlns="http://www.mousephenotype.org/dcc/exportlibrary/datastructure/core/procedure">` + "\n" +
		`<centre centreID="H" pipeline="p" project="p">` + "\n" +
		`<experiment experimentID="e" dateOfExperiment="2020-01-01">` + inside + "</experiment>\n</centre>\n</centreProcedureSet>"
}

func swap(document, from, to string) string { return strings.Replace(document, from, to, 1) }

// lines writes errors as line:column message.
func lines(errs []Error) string {
	var b strings.Builder
	for _, e := range errs {
		fmt.Fprintf(&b, "%d:%d %s\n", e.Line, e.Column, e.Message)
	}
	return b.String()
}

// TestMessages holds what data managers read: the path of the element, what is
// wrong, and what is allowed there.
func TestMessages(t *testing.T) {
	schemas := map[string]*Schema{"specimen": ours(t, "specimen"), "experiment": ours(t, "experiment")}
	const core = "http://www.mousephenotype.org/dcc/exportlibrary/datastructure/core/"
	const xsi = ` xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"`
	for _, test := range []struct{ name, document, want string }{
		{"unknown child", small("", "", "\r\n<bad/>"),
			`4:1 /centreSpecimenSet/centre/mouse: the element bad is not allowed here; allowed: relatedSpecimen, genotype, chromosomalAlteration, parentalStrain, statusCode, or the end of mouse`},
		{"misspelt child", small("", "", "<statuscode/>"),
			`3:150 /centreSpecimenSet/centre/mouse: the element statuscode is not allowed here (did you mean "statusCode"?); allowed: relatedSpecimen, genotype, chromosomalAlteration, parentalStrain, statusCode, or the end of mouse`},
		{"child of another namespace", small("", "", `<o:genotype xmlns:o="urn:o"/>`),
			`3:150 /centreSpecimenSet/centre/mouse: the element {urn:o}genotype is not allowed here: it is in the namespace urn:o, and must be in the namespace CORE/specimen`},
		{"child of no namespace", small("", "", `<genotype xmlns=""/>`),
			`3:150 /centreSpecimenSet/centre/mouse: the element genotype is not allowed here: it is in no namespace, and must be in the namespace CORE/specimen`},
		{"child too late", small("", "", "<statusCode/>\n  <genotype geneSymbol='' MGIGeneId='' MGIAlleleId=''/>"),
			`4:3 /centreSpecimenSet/centre/mouse: the element genotype is not allowed here; nothing may follow statusCode. mouse may contain, in this order: relatedSpecimen (any number), genotype (any number), chromosomalAlteration (any number), parentalStrain (any number), statusCode (at most 1)`},
		{"child once too often", oneExperiment("<specimenID>1</specimenID><procedure procedureID='x'/>\n<procedure procedureID='x'/>"),
			`4:1 /centreProcedureSet/centre/experiment: the element procedure is not allowed here; allowed after procedure: statusCode, or the end of experiment. experiment may contain, in this order: specimenID (1 or more), procedure (at most 1), statusCode (any number)`},
		{"child too early", oneExperiment("<procedure procedureID='x'/>"),
			`3:60 /centreProcedureSet/centre/experiment: the element procedure is not allowed here; allowed: specimenID. experiment may contain, in this order: specimenID (1 or more), procedure (at most 1), statusCode (any number)
3:88 /centreProcedureSet/centre/experiment: the element specimenID is missing`},
		{"nothing inside", oneExperiment(""),
			`3:60 /centreProcedureSet/centre/experiment: the element specimenID is missing`},
		{"nothing inside, short", `<centreSpecimenSet ` + specimenNS + `/>`,
			`1:104 /centreSpecimenSet: the element centre is missing`},
		{"choice not made", `<centreSpecimenSet ` + specimenNS + `><centre centreID="H"></centre></centreSpecimenSet>`,
			`1:125 /centreSpecimenSet/centre: an element is missing; allowed there: embryo, mouse`},
		{"missing at the end", oneExperiment("<specimenID>1</specimenID><procedure procedureID='x'><ontologyParameter parameterID='x'></ontologyParameter></procedure>"),
			`3:148 /centreProcedureSet/centre/experiment/procedure/ontologyParameter: the element term is missing`},
		{"unknown attribute", small("", ` x="1"`, ""),
			`3:1 /centreSpecimenSet/centre/mouse: the attribute x is not allowed; allowed: colonyID, DOB, gender, isBaseline, litterId, phenotypingCentre, pipeline, productionCentre, project, specimenID, strainID, zygosity`},
		{"misspelt attribute", swap(small("", "", ""), "zygosity=", "Zygosity="),
			`3:1 /centreSpecimenSet/centre/mouse: the attribute Zygosity is not allowed (did you mean "zygosity"?); allowed: colonyID, DOB, gender, isBaseline, litterId, phenotypingCentre, pipeline, productionCentre, project, specimenID, strainID, zygosity
3:1 /centreSpecimenSet/centre/mouse: the attribute zygosity is missing; it must be one of "hemizygous", "heterozygous", "homozygous", "wild type"`},
		{"attribute of a namespace", small("", ` xmlns:o="urn:o" o:x="1"`, ""),
			`3:1 /centreSpecimenSet/centre/mouse: the attribute {urn:o}x is not allowed; allowed: colonyID, DOB, gender, isBaseline, litterId, phenotypingCentre, pipeline, productionCentre, project, specimenID, strainID, zygosity`},
		{"attribute of a text", oneExperiment(`<specimenID x="1">1</specimenID>`),
			`3:60 /centreProcedureSet/centre/experiment/specimenID: it may not have attributes, but has x`},
		{"missing attribute", swap(small("", "", ""), ` DOB="2020-01-01"`, ""),
			`3:1 /centreSpecimenSet/centre/mouse: the attribute DOB is missing; it must be a date as YYYY-MM-DD`},
		{"missing text attribute", swap(small("", "", ""), ` litterId="1"`, ""),
			`3:1 /centreSpecimenSet/centre/mouse: the attribute litterId is missing`},
		{"enumeration", swap(small("", "", ""), `zygosity="wild type"`, `zygosity="Wild_type"`),
			`3:1 /centreSpecimenSet/centre/mouse: the attribute zygosity is "Wild_type"; it must be one of "hemizygous", "heterozygous", "homozygous", "wild type" (did you mean "wild type"?)`},
		{"long enumeration", swap(small("", "", ""), `centreID="H"`, `centreID="Bay &amp; &lt;x>"`),
			`2:1 /centreSpecimenSet/centre: the attribute centreID is "Bay & <x>"; it must be one of "Bcm", "Biat", "CDTA", "Ccpcz", "Crl", "Gmc", "H", "Ics", "J", "Kmpc", "Krb", "Ning", "Ph", "Rbrc", "Tcp", "Ucd", "Wtsi"`},
		{"not a date", swap(small("", "", ""), `DOB="2020-01-01"`, `DOB="1.1.2020"`),
			`3:1 /centreSpecimenSet/centre/mouse: the attribute DOB is "1.1.2020"; it must be a date as YYYY-MM-DD`},
		{"no such day", swap(small("", "", ""), `DOB="2020-01-01"`, `DOB="2019-02-29"`),
			`3:1 /centreSpecimenSet/centre/mouse: the attribute DOB is "2019-02-29", which is not a day of the calendar; it must be a date as YYYY-MM-DD`},
		{"empty value", swap(small("", "", ""), `isBaseline="1"`, `isBaseline=''`),
			`3:1 /centreSpecimenSet/centre/mouse: the attribute isBaseline is empty; it must be true or false (or 1 or 0)`},
		{"text", small("", "", "\n text here <!-- x -->"),
			`4:1 /centreSpecimenSet/centre/mouse: the text "text here" is not allowed here; allowed: relatedSpecimen, genotype, chromosomalAlteration, parentalStrain, statusCode, or the end of mouse`},
		{"text in what must be empty", small("", "", `<genotype geneSymbol='' MGIGeneId='' MGIAlleleId=''>a &lt; b</genotype>`),
			`3:210 /centreSpecimenSet/centre/mouse/genotype: the text is "a < b"; it must be empty`},
		{"element in what must be empty", small("", "", `<genotype geneSymbol='' MGIGeneId='' MGIAlleleId=''><a/></genotype>`),
			`3:202 /centreSpecimenSet/centre/mouse/genotype: it contains the element a, but must be empty`},
		{"element in a text", oneExperiment("<specimenID>1<b/></specimenID>"),
			`3:73 /centreProcedureSet/centre/experiment/specimenID: it contains the element b, but may contain only text`},
		{"number", oneExperiment("<specimenID>1</specimenID><procedure procedureID='x'><mediaParameter parameterID='x' URI='' fileType=''><parameterAssociation parameterID='x'><dim id='' origin=''> 1e5 </dim></parameterAssociation></mediaParameter></procedure>"),
			`3:228 /centreProcedureSet/centre/experiment/procedure/mediaParameter/parameterAssociation/dim: the text is " 1e5 "; it must be a number such as 12.5, without exponent`},
		{"number, nothing there", oneExperiment("<specimenID>1</specimenID><procedure procedureID='x'><mediaParameter parameterID='x' URI='' fileType=''><parameterAssociation parameterID='x'><dim id='' origin=''/></parameterAssociation></mediaParameter></procedure>"),
			`3:223 /centreProcedureSet/centre/experiment/procedure/mediaParameter/parameterAssociation/dim: the text is empty; it must be a number such as 12.5, without exponent`},
		{"nil", small("", xsi+` xsi:nil="true"`, "x"),
			`3:1 /centreSpecimenSet/centre/mouse: xsi:nil is not allowed on it
3:219 /centreSpecimenSet/centre/mouse: it must be empty, because it has xsi:nil`},
		{"unknown type", small("", xsi+` xsi:type="foo"`, "<bad/>"),
			`3:1 /centreSpecimenSet/centre/mouse: xsi:type names foo, which the schema doesn't have
3:219 /centreSpecimenSet/centre/mouse: the element {http://www.mousephenotype.org/dcc/exportlibrary/datastructure/core/specimen}bad is not allowed here`},
		{"wrong root", "<a/>",
			`1:1 /a: the root element is a; it must be centreSpecimenSet in the namespace CORE/specimen`},
		{"root of no namespace", "<centreSpecimenSet/>",
			`1:1 /centreSpecimenSet: the root element is centreSpecimenSet; it must be in the namespace CORE/specimen`},
		{"root with a hint", `<a xmlns="urn:a"` + xsi + ` xsi:schemaLocation="urn:a a.xsd"/>`,
			`1:1 /a: element {urn:a}a is not declared by the schema for this kind of document (what xsi:schemaLocation names is never loaded); it must be centreSpecimenSet in the namespace CORE/specimen`},
		{"prefixes", swap(small("", "", ""), "<centreSpecimenSet xmlns=", "<p:centreSpecimenSet xmlns:p="),
			`3:1 /centreSpecimenSet/centre: the element mouse is not allowed here: it is in no namespace, and must be in the namespace CORE/specimen
4:1 /centreSpecimenSet/centre: an element is missing; allowed there: embryo, mouse`},
	} {
		t.Run(test.name, func(t *testing.T) {
			document := test.document
			if strings.HasPrefix(document, "<p:") {
				document = strings.NewReplacer("</centreSpecimenSet", "</p:centreSpecimenSet", "<centre ", "<p:centre ", "</centre>", "</p:centre>").Replace(document)
			}
			kind := "specimen"
			if strings.Contains(document, "centreProcedureSet") {
				kind = "experiment"
			}
			errs := validate(t, schemas[kind], document).Errors
			for _, e := range errs {
				if Rule(e.Message) == "" {
					t.Errorf("no rule is known of %q", e.Message)
				}
			}
			got := strings.TrimSuffix(lines(errs), "\n")
			if diff := cmp.Diff(strings.ReplaceAll(test.want, "CORE/", core), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// schemaOf compiles a schema of the namespace urn:t.
func schemaOf(t testing.TB, inside string) *Schema {
	t.Helper()
	s, err := Compile(fstest.MapFS{"s.xsd": {Data: []byte(`<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns="urn:t" targetNamespace="urn:t" elementFormDefault="qualified">` + inside + `</xs:schema>`)}}, "s.xsd")
	if err != nil {
		t.Fatal(err)
	}
	if s.tree == nil {
		t.Fatal("the schema has no tree")
	}
	return s
}

// TestMessagesOfTypes has a schema of its own for what the project's don't use.
func TestMessagesOfTypes(t *testing.T) {
	restricted := func(name, base, facets string) string {
		return `<xs:attribute name="` + name + `"><xs:simpleType><xs:restriction base="xs:` + base + `">` + facets + `</xs:restriction></xs:simpleType></xs:attribute>`
	}
	s := schemaOf(t, `<xs:element name="r"><xs:complexType><xs:sequence><xs:element name="v" minOccurs="0" maxOccurs="unbounded"><xs:complexType>
		<xs:attribute name="fixed" type="xs:string" fixed="yes"/><xs:attribute name="list"><xs:simpleType><xs:list itemType="xs:int"/></xs:simpleType></xs:attribute>
		<xs:attribute name="union"><xs:simpleType><xs:union memberTypes="xs:int xs:date"/></xs:simpleType></xs:attribute><xs:attribute name="uri" type="xs:anyURI"/>
		<xs:attribute name="stamp" type="xs:dateTime"/><xs:attribute name="double" type="xs:double"/><xs:attribute ref="q"/>`+
		restricted("short", "string", `<xs:maxLength value="3"/>`)+restricted("exact", "string", `<xs:length value="3"/>`)+restricted("long", "string", `<xs:minLength value="3"/>`)+
		restricted("range", "integer", `<xs:minInclusive value="1"/><xs:maxExclusive value="10"/>`)+restricted("digits", "decimal", `<xs:totalDigits value="3"/><xs:fractionDigits value="1"/>`)+
		restricted("pattern", "string", `<xs:pattern value="[A-Z]+"/><xs:pattern value="x"/>`)+restricted("one", "string", `<xs:enumeration value="only"/>`)+
		`</xs:complexType></xs:element></xs:sequence></xs:complexType></xs:element><xs:attribute name="q" type="xs:int"/>`)
	for value, want := range map[string]string{
		`fixed="no"`:    `the attribute fixed is "no"; it must be "yes"`,
		`list="1 x"`:    `the attribute list is "1 x"; it must be a list, separated by spaces, of: a whole number between -2147483648 and 2147483647`,
		`union="x"`:     `the attribute union is "x"; it must be a whole number between -2147483648 and 2147483647, or a date as YYYY-MM-DD`,
		`stamp="1"`:     `the attribute stamp is "1"; it must be a date and time as YYYY-MM-DDThh:mm:ss`,
		`double="1,5"`:  `the attribute double is "1,5"; it must be a number such as 12.5 or 1.25E1`,
		`short="1234"`:  `the attribute short is "1234"; it must be any text, of at most 3 characters`,
		`exact="1234"`:  `the attribute exact is "1234"; it must be any text, of 3 characters`,
		`long=""`:       `the attribute long is empty; it must be any text, of at least 3 characters`,
		`range="10"`:    `the attribute range is "10"; it must be a whole number, not below 1, below 10`,
		`digits="1.25"`: `the attribute digits is "1.25"; it must be a number such as 12.5, without exponent, with at most 3 digits, with at most 1 digits after the point`,
		`pattern="a"`:   `the attribute pattern is "a"; it must be any text, that matches the pattern [A-Z]+|x`,
		`one="Only"`:    `the attribute one is "Only"; it must be "only" (did you mean "only"?)`,
		`p:q="x"`:       `the attribute q must be a whole number between -2147483648 and 2147483647`,
		`nothing=""`:    `the attribute nothing is not allowed; allowed: digits, double, exact, fixed, list, long, one, pattern, q, range, short, stamp, union, uri`,
	} {
		got := lines(validate(t, s, `<r xmlns="urn:t" xmlns:p="urn:t"><v `+value+`/></r>`).Errors)
		if diff := cmp.Diff("1:34 /r/v: "+want+"\n", got); diff != "" {
			t.Errorf("%s: %s", value, diff)
		}
	}
}

// TestMessagesWhereTheSchemaCannotTell must not promise what it doesn't know.
func TestMessagesWhereTheSchemaCannotTell(t *testing.T) {
	const xsi = ` xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"`
	s := schemaOf(t, `<xs:element name="r" xmlns:t="urn:t"><xs:complexType><xs:choice maxOccurs="unbounded"><xs:element name="b" type="B"/><xs:element name="w"><xs:complexType><xs:sequence><xs:any namespace="##other" processContents="skip"/></xs:sequence></xs:complexType></xs:element>
			<xs:element name="e"><xs:complexType><xs:attribute name="x" type="xs:int"/></xs:complexType></xs:element></xs:choice></xs:complexType>
			<xs:key name="k"><xs:selector xpath="t:b"/><xs:field xpath="@id"/></xs:key><xs:keyref name="kr" refer="k"><xs:selector xpath="t:b"/><xs:field xpath="@to"/></xs:keyref></xs:element>
		<xs:complexType name="B"><xs:sequence><xs:element name="a" type="xs:string" minOccurs="0"/></xs:sequence><xs:attribute name="id" type="xs:string"/><xs:attribute name="to" type="xs:string"/><xs:attribute name="n" type="xs:ID"/><xs:attribute name="m" type="xs:IDREF"/></xs:complexType>
		<xs:complexType name="D"><xs:complexContent><xs:extension base="B"><xs:sequence><xs:element name="d" type="xs:string"/></xs:sequence></xs:extension></xs:complexContent></xs:complexType>`)
	for inside, want := range map[string]string{
		`<b id="1" xsi:type="D"><zz/></b>`:                     "1:95 /r/b: the element {urn:t}zz is not allowed here\n1:100 /r/b: a required element is missing at its end\n",
		`<b id="1" xsi:type="D" z="1"><d/></b>`:                "1:72 /r/b: the attribute z is not allowed\n",
		`<w><b/></w>`:                                          "1:75 /r/w: the element b is not allowed here\n1:79 /r/w: a required element is missing at its end\n",
		`<e x="1"><b/></e>`:                                    "1:81 /r/e: the element b is not allowed here: e must be empty\n",
		`<e><zz/></e>`:                                         "1:75 /r/e: the element zz is not allowed here: e must be empty\n",
		`<e x="1">x</e>`:                                       "1:81 /r/e: the text \"x\" is not allowed here: e must be empty\n",
		`<b id="1"/><b id="1"/>`:                               "1:93 /r/b: its key is there already, at /r/b\n",
		`<b id="1"/><b/>`:                                      "1:86 /r/b: a part of its key is missing\n",
		`<b id="1" to="2"/>`:                                   "1:72 /r/b: it refers to a key that is not in the document\n",
		`<b id="1" m="x"/>`:                                    "1:72 /r/b: no element of the document has the ID \"x\"\n",
		`<b id="1" n="x"/><b id="2" n="x"/>`:                   "1:89 /r/b: the ID x is there already, at /r/b\n",
		`<b id="1"/>` + "<b id='2'><a/><a/></b>":               "1:97 /r/b: the element a is not allowed here; nothing may follow a. b may contain a (at most 1)\n",
		`<!-- <b> --><?pi <b> ?><b id="1"><![CDATA[<x>]]></b>`: "1:105 /r/b: the text \"<![CDATA[<x>]]>\" is not allowed here; allowed: a, or the end of b\n",
	} {
		got := lines(validate(t, s, `<r xmlns="urn:t"`+xsi+`>`+inside+`</r>`).Errors)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", inside, diff)
		}
	}
}

// TestMessagesFarInside are about places beyond the text that is kept: they say
// what the elements allow altogether.
func TestMessagesFarInside(t *testing.T) {
	s := ours(t, "specimen")
	far := strings.Repeat("<!-- as long as a long document is -->\n", keep/39+1)
	document := swap(small("", "", "<bad/><statusCode date='x'/>text"), "<mouse", far+"<mouse")
	document = swap(document, `zygosity="wild type"`, `zygosity="x"`)
	want := []string{
		`/centreSpecimenSet/centre/mouse: the attribute zygosity must be one of "hemizygous", "heterozygous", "homozygous", "wild type"`,
		`/centreSpecimenSet/centre/mouse: the element bad is not allowed here; mouse may contain, in this order: relatedSpecimen (any number), genotype (any number), chromosomalAlteration (any number), parentalStrain (any number), statusCode (at most 1)`,
		`/centreSpecimenSet/centre/mouse/statusCode: the attribute date must be a date as YYYY-MM-DD`,
		`/centreSpecimenSet/centre/mouse: text is not allowed here; mouse may contain, in this order: relatedSpecimen (any number), genotype (any number), chromosomalAlteration (any number), parentalStrain (any number), statusCode (at most 1)`,
	}
	var got []string
	for _, e := range validate(t, s, document).Errors {
		got = append(got, e.Message)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestMessagesWithoutATree are plain, and the verdicts are the same.
func TestMessagesWithoutATree(t *testing.T) {
	s := ours(t, "specimen")
	blind := &Schema{engine: s.engine, opts: s.opts}
	document := swap(small("", ` x="1"`, "<bad/>text"), `zygosity="wild type"`, `zygosity="x"`)
	seeing, plain := validate(t, s, document), validate(t, blind, document)
	if diff := cmp.Diff(places(seeing), places(plain)); diff != "" {
		t.Error(diff)
	}
	want := []string{
		"the attribute x is not allowed", "the attribute zygosity is not as it must be: enumeration facet failed", "the element {CORE/specimen}bad is not allowed here", "text is not allowed here",
	}
	for i, e := range plain.Errors {
		if i >= len(want) || e.Message != "/centreSpecimenSet/centre/mouse: "+strings.ReplaceAll(want[i], "CORE", "http://www.mousephenotype.org/dcc/exportlibrary/datastructure/core") {
			t.Errorf("%d: %s", i, e.Message)
		}
	}
}

// onlyForTheEngine is a file system from which the tree can't be read: Compile
// reads it first.
type onlyForTheEngine struct {
	fstest.MapFS
	refused *bool
}

func (o onlyForTheEngine) Open(name string) (fs.File, error) {
	if !*o.refused {
		*o.refused = true
		return nil, fs.ErrPermission
	}
	return o.MapFS.Open(name)
}

func (o onlyForTheEngine) ReadFile(name string) ([]byte, error) { return o.MapFS.ReadFile(name) }

// TestCompileWithoutATree compiles a schema that only the validator can read.
func TestCompileWithoutATree(t *testing.T) {
	refused := false
	s, err := Compile(onlyForTheEngine{fstest.MapFS{"s.xsd": {Data: []byte(`<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="r" type="xs:int"/></xs:schema>`)}}, &refused}, "s.xsd")
	if err != nil || s.tree != nil || !refused {
		t.Fatalf("%v, %v", s, err)
	}
	if diff := cmp.Diff("1:5 /r: the text is not as it must be: invalid decimal\n", lines(validate(t, s, "<r>x</r>").Errors)); diff != "" {
		t.Error(diff)
	}
}
