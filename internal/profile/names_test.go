package profile

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func builtin(t testing.TB) (*Profile, CentreSet) {
	t.Helper()
	p, err := Builtin("impc")
	if err != nil {
		t.Fatal(err)
	}
	centres, err := NewCentreSet(p.Centres...)
	if err != nil {
		t.Fatal(err)
	}
	return p, centres
}

func day(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 0, 0, 0, 0, time.UTC) }

func TestParseZip(t *testing.T) {
	p, centres := builtin(t)
	for _, test := range []struct {
		name      string
		want      ZipName
		exception string
	}{
		{name: "Ics.2013-06-19.11.impc.zip", want: ZipName{"Ics", day(2013, 6, 19), 11}},
		{name: "WTSI.2013-10-31.14.impc.zip", want: ZipName{"Wtsi", day(2013, 10, 31), 14}},
		{name: "cdta.2013-10-31.00001.impc.zip", want: ZipName{"CDTA", day(2013, 10, 31), 1}},
		{name: "H.2012-02-29.0.impc.zip", want: ZipName{"H", day(2012, 2, 29), 0}},
		{name: "H.2012-10-02.99999.impc.zip", want: ZipName{"H", day(2012, 10, 2), 99999}},
		{name: "H.2012-02-31.1.impc.zip", exception: "zip_name_date"},
		{name: "H.2013-02-29.1.impc.zip", exception: "zip_name_date"},
		{name: "H.2013-13-01.1.impc.zip", exception: "zip_name_date"},
		{name: "H.2013-00-10.1.impc.zip", exception: "zip_name_date"},
		{name: "H.2013-01-00.1.impc.zip", exception: "zip_name_date"},
		{name: "H.0000-01-01.1.impc.zip", exception: "zip_name_date"},
		{name: "Xyz.2012-02-31.1.impc.zip", exception: "zip_name_date"},
		{name: "Xyz.2013-02-01.1.impc.zip", exception: "zip_name_centre"},
		{name: "MRC_Harwell.2012-10-02.01.impc.zip", exception: "zip_name_centre"},
		{name: "12H.2012-10-02.01.impc.zip", exception: "zip_name_pattern"},
		{name: "foo.H.2012-10-02.01.impc.zip", exception: "zip_name_pattern"},
		{name: "H.2012-10-02.01.impc.zip.zip", exception: "zip_name_pattern"},
		{name: ".2012-10-02.01.impc.zip", exception: "zip_name_pattern"},
		{name: "H.2012-10-02.123456.impc.zip", exception: "zip_name_pattern"},
		{name: "H.2012-10-02.impc.zip", exception: "zip_name_pattern"},
		{name: "H.2012-10-02.-1.impc.zip", exception: "zip_name_pattern"},
		{name: "H.2012-10-2.1.impc.zip", exception: "zip_name_pattern"},
		{name: "H.２０１２-10-02.1.impc.zip", exception: "zip_name_pattern"},
		{name: "UCD2013-06-17.impc.zip", exception: "zip_name_pattern"},
		{name: "H.2012-10-02.01.IMPC.zip", exception: "zip_name_pattern"},
		{name: "H.2012-10-02.01.specimen.impc.zip", exception: "zip_name_pattern"},
		{name: "H.2012-10-02.01.impc.zip\n", exception: "zip_name_pattern"},
		{name: "\nH.2012-10-02.01.impc.zip", exception: "zip_name_pattern"},
		{name: "H\x00.2012-10-02.01.impc.zip", exception: "zip_name_pattern"},
		{name: "H\xff.2012-10-02.01.impc.zip", exception: "zip_name_pattern"},
		{name: "../H.2012-10-02.01.impc.zip", exception: "zip_name_pattern"},
		{name: strings.Repeat("H", 300) + ".2012-10-02.01.impc.zip", exception: "zip_name_pattern"},
		{name: "H.2012-10-02.01.impc.ZIP", exception: "zip_name_extension"},
		{name: "README", exception: "zip_name_extension"},
		{name: "", exception: "zip_name_extension"},
	} {
		got, bad := p.ParseZip(test.name, centres)
		if exceptionOf(bad) != test.exception {
			t.Errorf("%q: exception %q, want %q (%v)", test.name, exceptionOf(bad), test.exception, bad)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%q: (-want +got)\n%s", test.name, diff)
		}
	}
}

func exceptionOf(bad *NameError) string {
	if bad == nil {
		return ""
	}
	return bad.Exception
}

func TestParseDocument(t *testing.T) {
	p, centres := builtin(t)
	for _, test := range []struct {
		name      string
		want      DocumentName
		exception string
	}{
		{name: "H.2012-11-20.03.experiment.impc.xml", want: DocumentName{"H", day(2012, 11, 20), 3, "experiment"}},
		{name: "ICS.2013-06-19.11.specimen.impc.xml", want: DocumentName{"Ics", day(2013, 6, 19), 11, "specimen"}},
		{name: "UCD.2013-06-17.experiment.impc.xml", exception: "document_name_pattern"},
		{name: "UCD2013-06-17experiment.impc.xml", exception: "document_name_pattern"},
		{name: "H.2013-06-17.1.Specimen.impc.xml", exception: "document_name_pattern"},
		{name: "H.2013-06-17.1.line.impc.xml", exception: "document_name_kind"},
		{name: "H.2013-02-30.1.specimen.impc.xml", exception: "document_name_date"},
		{name: "Nobody.2013-02-03.1.specimen.impc.xml", exception: "document_name_centre"},
		{name: "H.2013-06-17.1.specimen.impc.xml.bak", exception: "document_name_extension"},
		{name: "H.2013-06-17.1.specimen.impc.XML", exception: "document_name_extension"},
	} {
		got, bad := p.ParseDocument(test.name, centres)
		if exceptionOf(bad) != test.exception {
			t.Errorf("%q: exception %q, want %q (%v)", test.name, exceptionOf(bad), test.exception, bad)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%q: (-want +got)\n%s", test.name, diff)
		}
	}
}

func TestNameMessagesAreSafeToPrint(t *testing.T) {
	p, centres := builtin(t)
	for _, name := range []string{
		"\x1b[31mred.zip", "a\u202egpj.zip", strings.Repeat("é", 200) + ".zip", "\xff\xfe.zip", strings.Repeat("\x00", 5000),
	} {
		_, bad := p.ParseZip(name, centres)
		checkSafe(t, name, bad)
	}
}

// checkSafe fails if a message could disturb a terminal or grow with the name.
func checkSafe(t *testing.T, name string, bad *NameError) {
	t.Helper()
	if bad == nil {
		t.Fatalf("%q was accepted", name)
	}
	if !utf8.ValidString(bad.Message) || strings.ContainsAny(bad.Message, "\x1b\x00\n\u202e") || len(bad.Message) > 1500 {
		t.Errorf("message about %q is not safe: %q", name, bad.Message)
	}
	if !strings.HasPrefix(bad.Exception, "zip_name_") && !strings.HasPrefix(bad.Exception, "document_name_") {
		t.Errorf("exception %q of %q", bad.Exception, name)
	}
}
