package config

import (
	"strings"
	"testing"
)

func TestFilters(t *testing.T) {
	for name, tc := range map[string]struct {
		filters Filters
		entry   string
		want    string // the filter that excludes it; empty: it is taken
	}{
		"none":                        {nil, "add/a.zip", ""},
		"of the name":                 {Filters{{Exclude: "*_test.zip"}}, "edit/a_test.zip", "exclude: *_test.zip"},
		"of another name":             {Filters{{Exclude: "*_test.zip"}}, "edit/a_text.zip", ""},
		"capitals matter":             {Filters{{Exclude: "*_test.zip"}}, "edit/a_TEST.zip", ""},
		"of a directory":              {Filters{{Exclude: "edit/*"}}, "edit/a.zip", "exclude: edit/*"},
		"of another directory":        {Filters{{Exclude: "edit/*"}}, "add/a.zip", ""},
		"of any directory":            {Filters{{Exclude: "*/a.zip"}}, "delete/a.zip", "exclude: */a.zip"},
		"a name is held as a whole":   {Filters{{Exclude: "a"}}, "add/a.zip", ""},
		"the first decides: taken":    {Filters{{Include: "add/*"}, {Exclude: "*"}}, "add/a.zip", ""},
		"the first decides: excluded": {Filters{{Include: "add/*"}, {Exclude: "*"}}, "edit/a.zip", "exclude: *"},
		"the order counts":            {Filters{{Exclude: "*"}, {Include: "add/*"}}, "add/a.zip", "exclude: *"},
		"include alone":               {Filters{{Include: "b.zip"}}, "add/a.zip", ""},
		"a star is no slash":          {Filters{{Exclude: "*"}}, "add/a/b.zip", ""},
		"one of several":              {Filters{{Exclude: "20[12]?.zip"}}, "add/2019.zip", "exclude: 20[12]?.zip"},
		"a star that is meant":        {Filters{{Exclude: `\*.zip`}}, "add/a.zip", ""},
	} {
		t.Run(name, func(t *testing.T) {
			directory, entry, _ := strings.Cut(tc.entry, "/")
			got := ""
			if f := tc.filters.Excluding(directory, entry); f != nil {
				got = f.String()
			}
			if got != tc.want {
				t.Errorf("%s: excluded by %q, want %q", tc.entry, got, tc.want)
			}
		})
	}
}

func TestFiltersOfAConfiguration(t *testing.T) {
	const source = "sources:\n  - id: s\n    centre: H\n    url: file:///x\n    filters: "
	for name, tc := range map[string]struct{ filters, want string }{
		"sound":             {"[{include: 'add/*'}, {exclude: '*'}]", ""},
		"both":              {"[{include: a, exclude: b}]", "sources[0].filters[0]: needs either include or exclude"},
		"neither":           {"[{}]", "sources[0].filters[0]: needs either include or exclude"},
		"another key":       {"[{only: a}]", "unknown key"},
		"no pattern":        {"[{exclude: 'a['}]", `the pattern "a[" can't be read`},
		"another directory": {"[{exclude: 'old/*'}]", `the pattern "old/*" fits nothing`},
		"below a directory": {"[{exclude: 'add/x/*'}]", `the pattern "add/x/*" fits nothing`},
		"no name":           {"[{exclude: 'add/'}]", `the pattern "add/" fits nothing`},
		"too long":          {"[{exclude: '" + strings.Repeat("x", maxPattern+1) + "'}]", "the pattern has 1001 bytes"},
		"too many":          {"[" + strings.Repeat("{exclude: a}, ", maxFilters) + "{exclude: a}]", "has 101 filters"},
		"a text":            {"'*.zip'", "expects a list"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Load(write(t, source+tc.filters+"\n"), nil, Options{})
			if tc.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				// The definition carries them, and is read as it was written.
				text, err := got.Sources[0].Definition()
				if err != nil || !strings.Contains(text, `"filters":[{"include":"add/*"},{"exclude":"*"}]`) {
					t.Errorf("the definition is %s, %v", text, err)
				}
				if back, err := ParseDefinition(text); err != nil || len(back.Filters) != 2 {
					t.Errorf("it is read as %+v, %v", back, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("the error is %v, want %q", err, tc.want)
			}
		})
	}
}
