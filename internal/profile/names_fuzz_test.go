package profile

import (
	"strings"
	"testing"
	"time"
)

// FuzzParseNames holds the verdict on any name against a second reading of the
// form that knows no regular expressions, and every message to be safe.
func FuzzParseNames(f *testing.F) {
	p, centres := builtin(f)
	for _, seed := range []string{
		"Ics.2013-06-19.11.impc.zip", "H.2012-11-20.03.experiment.impc.xml", "H.2012-02-31.1.impc.zip", "H.2012-02-29.1.specimen.impc.xml",
		"", ".", "\xff.zip", "H.2012-10-02.01.impc.zip\x00.zip", "İ.2012-10-02.01.impc.zip", "H.2012-10-02.123456.impc.zip", "MRC_Harwell.0001-01-01.0.impc.zip",
		"ucd.9999-12-31.99999.line.impc.xml", "H.2012-10-02.+1.impc.zip", "H.２０１２-10-02.1.impc.zip", strings.Repeat("H", 240) + ".2012-10-02.1.impc.zip",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		zip, bad := p.ParseZip(name, centres)
		if want := secondReading(name, ".zip", 5, centres); exceptionOf(bad) != prefixed("zip_name_", want) {
			t.Errorf("%q as a file's: %q, by the second reading %q", name, exceptionOf(bad), want)
		}
		if bad != nil {
			checkSafe(t, name, bad)
		} else {
			checkRoundTrip(t, name, centres, zip.Centre, zip.Date, zip.Increment)
		}
		doc, bad := p.ParseDocument(name, centres)
		if want := secondReading(name, ".xml", 6, centres); exceptionOf(bad) != prefixed("document_name_", want) {
			t.Errorf("%q as a document's: %q, by the second reading %q", name, exceptionOf(bad), want)
		}
		if bad != nil {
			checkSafe(t, name, bad)
		} else {
			checkRoundTrip(t, name, centres, doc.Centre, doc.Date, doc.Increment)
			if p.KindOrder(doc.Kind) < 0 {
				t.Errorf("%q has the unknown kind %q", name, doc.Kind)
			}
		}
	})
}

func prefixed(prefix, rule string) string {
	if rule == "" {
		return ""
	}
	return prefix + rule
}

// secondReading judges an IMPC name by its parts: the rule that it breaks, or
// nothing.
func secondReading(name, extension string, parts int, centres CentreSet) string {
	for _, r := range name {
		// 0xfffd stands for what is not UTF-8, and matches no form either.
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == 0xfffd {
			return "pattern"
		}
	}
	if len(name) > 255 {
		return "pattern"
	}
	if len(name) < 4 || name[len(name)-4:] != extension {
		return "extension"
	}
	part := strings.Split(name, ".")
	if len(part) != parts || part[parts-2] != "impc" || !madeOf(part[0], "letters_") || part[0] == "" {
		return "pattern"
	}
	day, increment := part[1], part[2]
	if len(day) != 10 || day[4] != '-' || day[7] != '-' || !madeOf(day[:4]+day[5:7]+day[8:], "digits") || !madeOf(increment, "digits") || len(increment) < 1 || len(increment) > 5 {
		return "pattern"
	}
	if parts == 6 {
		kind := part[3]
		if kind == "" || !madeOf(kind, "small") {
			return "pattern"
		}
		if kind != "specimen" && kind != "experiment" {
			return "kind"
		}
	}
	if at, err := time.Parse(time.DateOnly, day); err != nil || at.Year() == 0 {
		return "date"
	}
	if _, known := centres.Lookup(part[0]); !known {
		return "centre"
	}
	return ""
}

func madeOf(s, class string) bool {
	for i := range len(s) {
		c := s[i]
		small, digit := c >= 'a' && c <= 'z', c >= '0' && c <= '9'
		switch class {
		case "digits":
			if !digit {
				return false
			}
		case "small":
			if !small {
				return false
			}
		default:
			if !small && (c < 'A' || c > 'Z') && c != '_' {
				return false
			}
		}
	}
	return true
}

// checkRoundTrip compares an accepted name with what was read from it.
func checkRoundTrip(t *testing.T, name string, centres CentreSet, centre string, date time.Time, increment int64) {
	t.Helper()
	parts := strings.Split(name, ".")
	if !strings.EqualFold(parts[0], centre) || parts[1] != date.Format(time.DateOnly) || increment < 0 || increment > 99999 {
		t.Errorf("%q was read as %q %v %d", name, centre, date, increment)
	}
	if canonical, ok := centres.Lookup(centre); !ok || canonical != centre {
		t.Errorf("%q has the centre %q, which is not canonical", name, centre)
	}
}
