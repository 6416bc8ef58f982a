package centres

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/config"
	"tributary/internal/profile"
)

func TestMerge(t *testing.T) {
	p := &profile.Profile{Centres: []profile.Centre{{ShortName: "H", FullName: "MRC Harwell"}, {ShortName: "Ics", FullName: "Institut"}}}
	no := false
	c := config.Config{Centres: []config.Centre{
		{ShortName: "New", FullName: "A new one", Phone: "1"},
		{ShortName: "H", Email: "h@example.org", Address: "Harwell", IMITSName: "Harwell"},
		{ShortName: "Ics", FullName: "Clinique", Active: &no},
		{ShortName: "New", FullName: "The last word"},
	}}
	want := []Centre{
		{ShortName: "H", FullName: "MRC Harwell", Email: "h@example.org", Address: "Harwell", IMITSName: "Harwell", Active: true, DefinedBy: ByConfiguration},
		{ShortName: "Ics", FullName: "Clinique", DefinedBy: ByConfiguration},
		{ShortName: "New", FullName: "The last word", Active: true, DefinedBy: ByConfiguration},
	}
	if d := cmp.Diff(want, Merge(p, c)); d != "" {
		t.Errorf("centres differ (- want, + got):\n%s", d)
	}
	set, err := Set(p, c)
	if err != nil {
		t.Fatal(err)
	}
	for given, want := range map[string]string{"h": "H", "ICS": "Ics", "new": "New"} {
		if got, ok := set.Lookup(given); !ok || got != want {
			t.Errorf("%s is %q", given, got)
		}
	}
	if _, ok := set.Lookup("Other"); ok {
		t.Error("a centre that nobody knows is known")
	}
	if _, err := Set(p, config.Config{Centres: []config.Centre{{ShortName: "h"}}}); err == nil {
		t.Error("two centres that differ only in case are accepted")
	}
}
