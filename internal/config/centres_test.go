package config

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUpdateCentre(t *testing.T) {
	no, yes := false, true
	was := Centre{ShortName: "Uni", FullName: "A university", Email: "data@example.org", Active: &no}
	for values, want := range map[string]Centre{
		"":                        was,
		"email=other@example.org": {ShortName: "Uni", FullName: "A university", Email: "other@example.org", Active: &no},
		"email= full_name=":       {ShortName: "Uni", Active: &no},
		"address=A\nB":            {ShortName: "Uni", FullName: "A university", Email: "data@example.org", Address: "A\nB", Active: &no},
		"active=":                 {ShortName: "Uni", FullName: "A university", Email: "data@example.org"},
		"active=true phone=+441 imits_name=null address=1": {ShortName: "Uni", FullName: "A university", Email: "data@example.org", Phone: "+441", IMITSName: "null", Address: "1", Active: &yes},
	} {
		text, err := UpdateCentre(was, slices.DeleteFunc(strings.Split(values, " "), func(v string) bool { return v == "" }))
		if err != nil {
			t.Fatal(err)
		}
		got, err := Config{}.Parse("test", bytes.NewReader(text), "", Options{})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if d := cmp.Diff([]Centre{want}, got.Centres); d != "" {
			t.Errorf("%q (- want, + got):\n%s", values, d)
		}
		again, err := CentresYAML(got.Centres)
		if err != nil {
			t.Fatal(err)
		}
		if got, err = (Config{}).Parse("test", bytes.NewReader(again), "", Options{}); err != nil || cmp.Diff([]Centre{want}, got.Centres) != "" {
			t.Errorf("%q: written as %s it is read as %v, %v", values, again, got.Centres, err)
		}
	}
	for values, want := range map[string]string{
		"email":           "is no KEY=VALUE",
		"=x":              "is no KEY=VALUE",
		"short_name=Uno":  "a short name stays",
		"mail=x":          "centres[0].mail: unknown key",
		"active=perhaps":  "active",
		"phone=\x00":      "can't be shown",
		"address=\xff":    "",
		"full_name=\x1bM": "can't be shown",
	} {
		text, err := UpdateCentre(was, []string{values})
		if err == nil {
			_, err = Config{}.Parse("test", bytes.NewReader(text), "", Options{})
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", values, err, want)
		}
	}
}

func TestShortNamesOfCentresArePlain(t *testing.T) {
	for name, want := range map[string]string{
		"Uni": "", "Uni-2": "", "Zürich": "", "": "is missing",
		"a/b": "not a plain name", "a b": "not a plain name", "\"a\\tb\"": "not a plain name", strings.Repeat("n", 64): "not a plain name", "UNI}, {short_name: uni": "capitals don't matter",
	} {
		_, err := Config{}.Parse("test", strings.NewReader("centres: [{short_name: "+name+"}]"), "", Options{})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

// What centres are known to an apply is told to the check with the file's own.
func TestAFileOfSourcesKnowsItsCentres(t *testing.T) {
	const text = "centres: [{short_name: Uni}]\nsources: [{id: a, centre: Uni, url: 'file:///x'}]\n"
	var known []string
	also := func(c Config, _ func(path, format string, args ...any)) {
		for _, centre := range c.Centres {
			known = append(known, centre.ShortName)
		}
	}
	cfg := Config{Centres: []Centre{{ShortName: "H"}}}
	got, err := cfg.Parse("test", strings.NewReader(text), "", Options{Also: also})
	if err != nil || len(got.Sources) != 1 || len(got.Centres) != 1 || cmp.Diff([]string{"H", "Uni"}, known) != "" {
		t.Errorf("read are %+v with %q: %v", got, known, err)
	}
	if _, err := cfg.ParseSources("test", strings.NewReader(text), "", Options{}); err == nil {
		t.Error("centres are read as sources")
	}
}
