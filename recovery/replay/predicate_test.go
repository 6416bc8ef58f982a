//go:build !race

package replay

import (
	"strings"
	"testing"
)

func TestPredicates(t *testing.T) {
	for p, want := range map[string]string{
		"true": "",
		"centre = 'H' AND created >= '2026-01-01'":                             "",
		"exception = 'it''s' OR \"file\" LIKE '%);--$'":                        "",
		"(centre = 'H' OR (attempts > 1))":                                     "",
		"file ~ '\\d+'":                                                        "",
		"id IN (SELECT file_id FROM document WHERE exception = 'xsd_invalid')": "",
		"the = 'x'":                "", // no text with escapes
		"  ":                       "is empty",
		"true; DROP TABLE file":    "semicolon",
		"true) OR (true":           "has not opened",
		"(true":                    "not closed",
		"centre = 'H":              "not closed",
		"\"centre = 'H'":           "not closed",
		"true -- and so on":        "comment",
		"true /* ( */":             "comment",
		"centre = $$H$$":           "has a $",
		"centre = $1":              "has a $",
		`centre = E'\') OR ('`:     "escapes",
		`centre = e'x'`:            "escapes",
		"centre = 'H' AND 1=1)":    "has not opened",
		"centre = '\x00'":          "zero byte",
		strings.Repeat("x", 65537): "at most",
	} {
		err := checkPredicate(p)
		switch {
		case want == "" && err != nil:
			t.Errorf("%.60q is refused: %v", p, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%.60q: %v, want that it %s", p, err, want)
		}
	}
}

func TestOffsets(t *testing.T) {
	good := Offsets{Topic: "status.changed", Partition: 3, From: 100, To: 199}
	if o, err := ParseOffsets(good.String()); err != nil || o != good {
		t.Errorf("%+v (%v), want %+v", o, err, good)
	}
	for s, want := range map[string]string{
		"status.changed":                          "names no offsets",
		"status.changed/0":                        "names no offsets",
		"status.changed/0:5":                      "names no offsets",
		"status.changed/-1:5-6":                   "names no offsets",
		"status.changed/0:6-5":                    "names no offsets",
		"status.changed/0:a-b":                    "names no offsets",
		"download.finished/0:1-2":                 "not of \"download.finished\"",
		"document.ordered/0:0-1000000":            "too many",
		"status.changed/0:9-99999999999999999999": "names no offsets",
	} {
		if _, err := ParseOffsets(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", s, err, want)
		}
	}
}
