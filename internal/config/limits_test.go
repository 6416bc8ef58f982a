package config

import (
	"strings"
	"testing"
	"time"
)

// A limit is a number or a size above 0; what is none is refused with its key and the
// way out, and a definition keeps what was written.
func TestLimitsThatAreRefused(t *testing.T) {
	for keys, want := range map[string]string{
		"max_new: 0":               "sources[0].max_new: is 0: write a value above 0, or take the key out for the default",
		"max_new: -1":              "sources[0].max_new: is negative",
		"max_new: 10GiB":           "sources[0].max_new: ",
		"max_new_bytes: 0":         "sources[0].max_new_bytes: is 0",
		"max_new_bytes: 10 apples": "sources[0].max_new_bytes: \"10 apples\" is not a size",
		"max_files_per_day: 0":     "sources[0].max_files_per_day: is 0",
		"max_files_per_day: 1.5":   "sources[0].max_files_per_day: ",
		"max_bytes_per_day: 0B":    "sources[0].max_bytes_per_day: is 0",
		"max_bytes_per_day: -1GiB": "sources[0].max_bytes_per_day: is negative",
	} {
		text := "sources: [{id: a, centre: H, url: 'file:///x', " + keys + "}]"
		_, applied := Default().ParseSources("test", strings.NewReader(text), "/", Options{})
		_, loaded := Load(write(t, text), nil, Options{})
		for _, err := range []error{applied, loaded} {
			if err == nil || !strings.Contains(err.Error(), want) || strings.Count(err.Error(), "sources[0]") != 1 {
				t.Errorf("%s: %v\nwant %q, once", keys, err, want)
			}
		}
	}
	const text = "sources: [{id: a, centre: H, url: 'file:///x', max_new: 5, max_new_bytes: 1GiB, max_files_per_day: 3, max_bytes_per_day: 512MiB}]"
	all, err := Default().ParseSources("test", strings.NewReader(text), "/", Options{})
	if err != nil {
		t.Fatal(err)
	}
	definition, err := all[0].Definition()
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"centre":"H","id":"a","max_bytes_per_day":"512MiB","max_files_per_day":3,"max_new":5,"max_new_bytes":"1GiB","url":"file:///x"}`; definition != want {
		t.Errorf("it is defined as %s, want %s", definition, want)
	}
}

// Days are those of the source's time zone; of a definition that a newer program wrote,
// UTC's.
func TestDayOfADefinition(t *testing.T) {
	late := time.Date(2026, 3, 5, 23, 30, 0, 0, time.UTC)
	for definition, want := range map[string]string{
		`{}`:                              "2026-03-05 until 2026-03-06T00:00:00Z",
		`{"time_zone": "Europe/Berlin"}`:  "2026-03-06 until 2026-03-06T23:00:00Z",
		`{"time_zone": "Europe/Nowhere"}`: "2026-03-05 until 2026-03-06T00:00:00Z",
		`{"newer": 1}`:                    "2026-03-05 until 2026-03-06T00:00:00Z",
	} {
		day, ends := DayOf(definition, late)
		if got := day + " until " + ends.UTC().Format(time.RFC3339); got != want {
			t.Errorf("%s: %s, want %s", definition, got, want)
		}
	}
}
