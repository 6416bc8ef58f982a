package profile

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// ZipName is what a file's name says.
type ZipName struct {
	// Centre produced the file, in its canonical spelling.
	Centre string
	// Date is the file's release date: midnight UTC of a calendar day.
	Date time.Time
	// Increment orders the files of one date, so 01 equals 1.
	Increment int64
}

// DocumentName is what a document's name says.
type DocumentName struct {
	// Centre, Date and Increment are as in ZipName.
	Centre    string
	Date      time.Time
	Increment int64
	// Kind is one of the profile's kinds.
	Kind string
}

// NameError is a name that breaks the convention, with the rule it breaks:
// zip_name_extension, zip_name_pattern, zip_name_date, zip_name_centre, and the
// same with document_name, which has document_name_kind too. Rules are judged
// in that order, so a name that breaks the rule about centres may become right
// when a centre is added, and no other name may.
type NameError struct {
	// Exception is the rule's stable name.
	Exception string
	// Message says what is wrong and how it should be. It quotes no more than
	// the beginning of a name.
	Message string
}

func (e *NameError) Error() string { return e.Message }

// UnknownCentre tells whether the name breaks the last rule only: it may become right.
func (e *NameError) UnknownCentre() bool { return strings.HasSuffix(e.Exception, "_"+centreRule) }

const centreRule = "centre"

// pattern judges the names of files, or those of documents.
type pattern struct {
	prefix    string // of its exceptions
	noun      string // in its messages
	extension string
	form      string
	example   string
	re        *regexp.Regexp
	group     map[string]int
}

// ParseZip reads the name of a file, without its directory.
func (p *Profile) ParseZip(name string, c Centres) (ZipName, *NameError) {
	parts, bad := p.parse(&p.zip, name, c)
	if bad != nil {
		return ZipName{}, bad
	}
	return ZipName{Centre: parts.Centre, Date: parts.Date, Increment: parts.Increment}, nil
}

// ParseDocument reads the name of a document, without its directory. Whether
// its centre is that of its file is judged when the document is loaded.
func (p *Profile) ParseDocument(name string, c Centres) (DocumentName, *NameError) {
	return p.parse(&p.document, name, c)
}

func (p *Profile) parse(pat *pattern, name string, c Centres) (DocumentName, *NameError) {
	if len(name) > p.maxName {
		return DocumentName{}, pat.bad("pattern", "the name of %s %s has %d bytes; %d are allowed", pat.noun, quote(name), len(name), p.maxName)
	}
	if !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return DocumentName{}, pat.bad("pattern", "the name of %s %s has control characters or is not UTF-8: name it %s", pat.noun, quote(name), pat.form)
	}
	if !strings.HasSuffix(name, pat.extension) {
		return DocumentName{}, pat.bad("extension", "%s %s does not end in %s", pat.noun, quote(name), pat.extension)
	}
	match := pat.re.FindStringSubmatch(name)
	if match == nil {
		return DocumentName{}, pat.bad("pattern", "%s %s is not named %s, such as %s", pat.noun, quote(name), pat.form, pat.example)
	}
	var out DocumentName
	var ok bool
	if at, has := pat.group["kind"]; has {
		if out.Kind = match[at]; p.KindOrder(out.Kind) < 0 {
			return DocumentName{}, pat.bad("kind", "%s %s is of kind %s, which is none of %s", pat.noun, quote(name), quote(out.Kind), strings.Join(p.kindNames(), ", "))
		}
	}
	year, month, day := match[pat.group["year"]], match[pat.group["month"]], match[pat.group["day"]]
	if out.Date, ok = date(year, month, day); !ok {
		return DocumentName{}, pat.bad("date", "%s %s has the date %s-%s-%s, which is not in the calendar", pat.noun, quote(name), year, month, day)
	}
	if at, has := pat.group["increment"]; has {
		var err error
		if out.Increment, err = strconv.ParseInt(match[at], 10, 64); err != nil || out.Increment < 0 {
			return DocumentName{}, pat.bad("pattern", "%s %s has the increment %s, which is not a number that can be used", pat.noun, quote(name), quote(match[at]))
		}
	}
	if out.Centre, ok = c.Lookup(match[pat.group["centre"]]); !ok {
		return DocumentName{}, pat.bad(centreRule, "%s %s is of centre %s, which is not known: add it with tributary centres add, or to centres in the configuration, or correct the name", pat.noun, quote(name), quote(match[pat.group["centre"]]))
	}
	return out, nil
}

func (pat *pattern) bad(rule, format string, args ...any) *NameError {
	return &NameError{Exception: pat.prefix + "_" + rule, Message: fmt.Sprintf(format, args...)}
}

// date returns the day that decimal numbers name, if the calendar has it. There
// is no year 0, in the calendar or in Postgres.
func date(year, month, day string) (time.Time, bool) {
	y, errY := strconv.Atoi(year)
	m, errM := strconv.Atoi(month)
	d, errD := strconv.Atoi(day)
	if errY != nil || errM != nil || errD != nil || y < 1 || y > 9999 {
		return time.Time{}, false
	}
	t := time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC)
	// time.Date turns February 31st into March 2nd or 3rd.
	return t, t.Year() == y && t.Month() == time.Month(m) && t.Day() == d
}

// maxQuoted is how many bytes of a name a message quotes.
const maxQuoted = 120

// quote makes a name that others chose safe to print.
func quote(name string) string {
	if len(name) <= maxQuoted {
		return strconv.Quote(name)
	}
	end := maxQuoted
	for end > maxQuoted-utf8.UTFMax && !utf8.RuneStart(name[end]) {
		end--
	}
	return strconv.Quote(name[:end]) + "..."
}
