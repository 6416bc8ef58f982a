package recipe

import (
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"tributary/sql/history/recipes"
)

func TestMoments(t *testing.T) {
	now := time.Date(2026, 11, 2, 16, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"2026-11-01T10:00:00Z":           "2026-11-01T10:00:00Z",
		"2026-11-01T10:00:00.123456789Z": "2026-11-01T10:00:00.123456Z",
		"2026-11-01T10:00:00+02:00":      "2026-11-01T08:00:00Z",
		"2026-11-01":                     "2026-11-01T00:00:00Z",
		"90m":                            "2026-11-02T14:30:00Z",
		"24h":                            "2026-11-01T16:00:00Z",
		"7d":                             "2026-10-26T16:00:00Z",
		"2w":                             "2026-10-19T16:00:00Z",
		"1w1d12h":                        "2026-10-25T04:00:00Z",
		"0s":                             "2026-11-02T16:00:00Z",
	} {
		if got, err := moment(text, now); err != nil || got.Format(time.RFC3339Nano) != want {
			t.Errorf("%q is %v, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "now", "-1h", "-7d", "d", "1.5d", "99999d", "2026-13-01", "2026-11-01 10:00", "1960-01-01", "2300-01-01", "500000h", "2026-11-01T10:00:00", "'; DROP TABLE event"} {
		if got, err := moment(text, now); err == nil {
			t.Errorf("%q is taken for %v", text, got)
		}
	}
}

func TestValues(t *testing.T) {
	r := recipes.Recipe{Name: "r", Parameters: []recipes.Parameter{
		{Name: "since", Kind: recipes.Moment}, {Name: "until", Kind: recipes.Moment}, {Name: "centre", Kind: recipes.Text},
		{Name: "every", Kind: recipes.Duration, Default: "1h"}, {Name: "limit", Kind: recipes.Number, Default: "10"},
		{Name: "by", Kind: recipes.Choice, Choices: []string{"centre", "day"}, Default: "centre"},
	}}
	now := time.Date(2026, 11, 2, 16, 0, 0, 0, time.UTC)
	got, err := Values(r, map[string]string{"since": "24h", "centre": "a\tb\\c'", "every": "1d"}, now)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"since": "2026-11-01 16:00:00.000000", "until": "2200-01-01 00:00:00.000000", "centre": `a\tb\\c'`, "every": "86400", "limit": "10", "by": "centre"}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	r.Statement = "SELECT {centre:String}, {every:UInt32} WHERE t > {since:DateTime64(6, 'UTC')} AND {centre:String} != '{}'"
	written := `SELECT CAST('a\tb\\c\'' AS String), CAST('86400' AS UInt32) WHERE t > CAST('2026-11-01 16:00:00.000000' AS DateTime64(6, 'UTC')) AND CAST('a\tb\\c\'' AS String) != '{}'`
	if diff := gocmp.Diff(written, Written(r, got)); diff != "" {
		t.Errorf("written (-want +got):\n%s", diff)
	}
	bounded := recipes.Recipe{Name: "b", Parameters: []recipes.Parameter{{Name: "since", Kind: recipes.Moment, Default: "7d"}, {Name: "until", Kind: recipes.Moment}}}
	for until, want := range map[string]string{"": "2026-10-26 16:00:00.000000", "2020-01-08": "2020-01-01 00:00:00.000000"} {
		if got, err := Values(bounded, map[string]string{"until": until}, now); err != nil || got["since"] != want {
			t.Errorf("until %q since is %q, %v; want %q", until, got["since"], err, want)
		}
	}
	if _, err := Values(r, map[string]string{"phase": "xsd"}, now); err == nil || !strings.Contains(err.Error(), "--since, --until") {
		t.Errorf("a parameter that is not there: %v", err)
	}
}

func TestNearest(t *testing.T) {
	all, err := recipes.All()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"troughput": "throughput", "failure": "failures", "re-submissions": "resubmissions", "session": "sessions", "speed-by-sise": "speed-by-size",
		"zzzzzzzzzzzz": "", strings.Repeat("x", 1000): "",
	} {
		first := ""
		if got := Nearest(all, name); len(got) > 0 {
			first = got[0]
		}
		if first != want {
			t.Errorf("nearest to %.20s is %q, want %q", name, first, want)
		}
	}
}
