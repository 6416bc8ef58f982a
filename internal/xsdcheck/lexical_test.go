package xsdcheck

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// lexical are values at the edges of the built-in types, and whether XML Schema
// 1.0 has them.
var lexical = []struct {
	base, good, bad string // separated by |
}{
	{"date", "2000-01-01|2000-02-29|2024-02-29|2012-12-31Z|2012-12-31+14:00|2012-12-31-14:00|2012-12-31-00:00|-0001-01-01|12345-01-01|9999-12-31",
		"|2012-2-3|12-12-31|2012/12/31|31.12.2012|2012-00-01|2012-13-01|2012-01-00|2012-01-32|2013-02-29|1900-02-29|2012-04-31|0000-01-01|2012-12-31+14:01|2012-12-31+15:00|2012-12-31z|2012-12-31T00:00:00|+2012-12-31|2012-12-31 Z|02012-12-31|20121231"},
	{"dateTime", "2012-12-31T00:00:00|2012-12-31T23:59:59.999|2012-12-31T24:00:00|2012-12-31T12:00:00Z|2012-12-31T12:00:00-05:30", "2012-12-31|2012-12-31T24:00:01|2012-12-31T23:60:00|2012-12-31T23:59:61|2012-12-31 12:00:00|2012-12-31T12:00|2012-12-31T1:00:00"},
	{"boolean", "true|false|1|0", "|TRUE|True|yes|2|01|t"},
	{"int", "0|-0|+7|007|2147483647|-2147483648", "|1.0|2147483648|-2147483649|1e3|0x1|1 000|--1|+"},
	{"integer", "0|-0|+0|99999999999999999999999999999999|-1", "|1.|1.0|1e3|٣|1,000"},
	{"decimal", "0|-0|-0.0|.5|5.|+1.50|0000.1|123456789012345678.123456789012345678", "|.|1e5|1,5|INF|NaN|1.2.3|- 1|0x1"},
	{"double", "0|-0|-0.0E-0|.5|5.|1e5|1E+5|INF|-INF|NaN|1e400|4.9e-324", "|+INF|inf|nan|Infinity|1e|e5|1,5|0x1p3|1e5.5|1d"},
	{"string", "|a| a  b ", ""},
}

// byXmllint says why libxml2 judges a value otherwise, and it is libxml2 that is
// wrong by XML Schema; "" if it is to agree.
func byXmllint(base, value string) string {
	digits := len(strings.Trim(value, "+-. \n\t"))
	switch {
	case strings.TrimSpace(value) != value && (base == "int" || strings.Contains(value, "INF") || strings.Contains(value, "NaN")):
		return "it doesn't collapse white space around values of this type"
	case digits > 24 && (base == "integer" || base == "decimal"):
		return "it has numbers of at most 24 digits"
	case value == "1e" && base == "double":
		return "it takes an exponent without digits"
	}
	return ""
}

// TestLexical judges values by themselves, and as xmllint does.
func TestLexical(t *testing.T) {
	var decl strings.Builder
	for _, l := range lexical {
		fmt.Fprintf(&decl, `<xs:element name="%s" type="xs:%s"/>`, l.base, l.base)
	}
	s := schemaOf(t, decl.String())
	dir := t.TempDir()
	schema := `<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="urn:t">` + decl.String() + `</xs:schema>`
	if err := os.WriteFile(filepath.Join(dir, "s.xsd"), []byte(schema), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"--noout", "--nonet", "--schema", filepath.Join(dir, "s.xsd")}
	want := make(map[string]bool)
	texts := make(map[string]string)
	add := func(base, value string, good bool) {
		document := fmt.Sprintf(`<%s xmlns="urn:t">%s</%s>`, base, value, base)
		if result := validate(t, s, document); result.Valid != good {
			t.Errorf("%s %q: valid is %v; %s", base, value, result.Valid, lines(result.Errors))
		}
		file := filepath.Join(dir, fmt.Sprintf("%d.xml", len(texts)))
		if err := os.WriteFile(file, []byte(document), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, file)
		want[file], texts[file] = good, base+" "+value
		if byXmllint(base, value) != "" {
			want[file] = !good
		}
	}
	for _, l := range lexical {
		for _, value := range strings.Split(l.good, "|") {
			add(l.base, value, true)
			if l.base != "string" && l.base != "date" && l.base != "dateTime" {
				// White space is collapsed, but of dates by libxml2.
				add(l.base, " \n\t"+value+" ", true)
			}
		}
		if l.bad == "" {
			continue
		}
		for _, value := range strings.Split(l.bad, "|") {
			add(l.base, value, false)
		}
	}
	xmllint, err := exec.LookPath("xmllint")
	if err != nil {
		if os.Getenv("TRIBUTARY_REQUIRE_ENGINES") == "1" {
			t.Fatal(err)
		}
		t.Skipf("no xmllint to compare with (package libxml2-utils): %v", err)
	}
	out, _ := exec.Command(xmllint, args...).CombinedOutput() // it fails where a document does
	judged := 0
	for line := range strings.Lines(string(out)) {
		file, valid := strings.CutSuffix(strings.TrimSpace(line), " validates")
		if !valid {
			file = strings.TrimSuffix(strings.TrimSpace(line), " fails to validate")
		}
		good, ok := want[file]
		if !ok {
			continue
		}
		judged++
		if valid != good {
			t.Errorf("%q: xmllint says %v", texts[file], valid)
		}
	}
	if judged != len(want) {
		t.Errorf("xmllint judged %d of %d: %s", judged, len(want), out)
	}
}
