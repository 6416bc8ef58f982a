package xsdcheck

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzValidate looks for documents that get no verdict, which would stop a
// pipeline: validate fails the test on any error.
func FuzzValidate(f *testing.F) {
	const xsi = ` xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"`
	specimens, experiments := ours(f, "specimen"), ours(f, "experiment")
	for _, seed := range []string{
		"", "<a/>", complete(f, "specimen"), complete(f, "experiment"), small("", "", "<genotype/>"),
		small("", xsi+` xsi:nil="true"`, "x"), small("", xsi+` xsi:type="embryoRecord"`, ""),
		small("", xsi+` xsi:type="x:y" xsi:schemaLocation="a b c"`, ""), small("<!DOCTYPE a>", "", ""),
		small("", "", `<statusCode`+xsi+` xsi:nil="1"/>`), "\xFF\xFE<\x00a\x00/\x00>\x00",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, document string) {
		for _, s := range []*Schema{specimens, experiments} {
			result := validate(t, s, document)
			line := 0
			for _, e := range result.Errors {
				if e.Line < line || e.Exception == "" || e.Message == "" || len(e.Message) > MaxMessage || !utf8.ValidString(e.Message) || strings.ContainsAny(e.Message, "\x00\n\x1b") {
					t.Fatalf("error %+v", e)
				}
				line = e.Line
			}
		}
	})
}
