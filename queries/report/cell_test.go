package report

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// TestCSVCellsAreNoFormulas opens a partner's texts as a spreadsheet would.
func TestCSVCellsAreNoFormulas(t *testing.T) {
	for in, want := range map[string]string{
		"":                               "",
		"plain":                          "plain",
		"a=b":                            "a=b",
		"=HYPERLINK(\"http://x\",\"y\")": "'=HYPERLINK(\"http://x\",\"y\")",
		"+49 30 1234":                    "'+49 30 1234",
		"-cmd|' /C calc'!A0":             "'-cmd|' /C calc'!A0",
		"@SUM(1)":                        "'@SUM(1)",
		"\t=1":                           "'\t=1",
		"\r=1":                           "'\r=1",
		"\n=1":                           "'\n=1",
		"＝1+1":                           "'＝1+1",
		"-12":                            "-12",
		"+1.5e-3":                        "+1.5e-3",
		"-.5":                            "-.5",
		"-1e999":                         "-1e999",
		"-Inf":                           "'-Inf",
		"-1+1":                           "'-1+1",
		"-0x1p4":                         "'-0x1p4",
		"-":                              "'-",
		"two\nlines":                     "two\nlines",
		"\u009b31m\x1b[0m\u202egnp":      "\u009b31m\x1b[0m\u202egnp", // as it is: a terminal gets it escaped
	} {
		var b strings.Builder
		out, err := NewOutput(&b, EscapedCSV, "=head", "next")
		if err != nil {
			t.Fatal(err)
		}
		if err := out.Row(nil, in, "x"); err != nil {
			t.Fatal(err)
		}
		if err := out.Close(); err != nil {
			t.Fatal(err)
		}
		got, err := csv.NewReader(strings.NewReader(b.String())).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([][]string{{"'=head", "next"}, {want, "x"}}, got); d != "" {
			t.Errorf("%q:\n%s", in, d)
		}
	}
}

// TestCSVIsExact holds that cells are what is stored, unless it is asked otherwise.
func TestCSVIsExact(t *testing.T) {
	const nasty = "=1\x1b[31m\u202egnp"
	var b strings.Builder
	out, err := NewOutput(&b, CSV, "column")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(out.Row(nil, nasty), out.Close()); err != nil || b.String() != "column\n"+nasty+"\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
}

// TestOutputsObeyNobody holds that no format but CSV, which is exact, passes on what
// a terminal obeys, and that JSON says the same as before.
func TestOutputsObeyNobody(t *testing.T) {
	const nasty = "\x00\x1b[31m\u009b31m\x7f\u202egnp\u2066\u2028\U000E0041\xff éж\U0001F600"
	for _, format := range []string{Table, JSON} {
		var b strings.Builder
		out, err := NewOutput(&b, format, "column")
		if err != nil {
			t.Fatal(err)
		}
		if err := out.Row(map[string]any{"k": nasty, nasty: json.RawMessage("{\"raw\":\"\u202e\u009b\U000E0041\"}")}, nasty); err != nil {
			t.Fatal(err)
		}
		if err := out.Close(); err != nil {
			t.Fatal(err)
		}
		if strings.ContainsAny(b.String(), "\x00\x1b\u009b\x7f\u202e\u2066\u2028\U000E0041") || !utf8.ValidString(b.String()) {
			t.Errorf("%s passes them on: %q", format, b.String())
		}
		if !strings.Contains(b.String(), "éж\U0001F600") {
			t.Errorf("%s loses letters: %q", format, b.String())
		}
		if format != JSON {
			continue
		}
		want := strings.ToValidUTF8(nasty, "\uFFFD")
		var got map[string]any
		if err := json.Unmarshal([]byte(b.String()), &got); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(map[string]any{"k": want, want: map[string]any{"raw": "\u202e\u009b\U000E0041"}}, got); d != "" {
			t.Error(d)
		}
	}
}
