package timetable

import (
	"bufio"
	"os"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func cron(t interface{ Fatal(...any) }, text, zone string) Cron {
	where, err := Zone(zone)
	if err != nil {
		t.Fatal(zone, err)
	}
	c, err := ParseCron(text, where)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func moment(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// Over changes of clocks the times are those that another calendar finds, which
// looks at each minute (testdata/times.py).
func TestTimesOverChangesOfClocks(t *testing.T) {
	f, err := os.Open("testdata/times.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cases, zones := 0, map[string]bool{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Split(lines.Text(), "\t")
		if len(fields) != 4 {
			continue
		}
		cases, zones[fields[1]] = cases+1, true
		after, want := moment(t, fields[2]), moment(t, fields[3])
		if got := cron(t, fields[0], fields[1]).Next(after); !got.Equal(want) {
			t.Errorf("%s in %s after %s comes at %s, want %s", fields[0], fields[1], fields[2], got.UTC().Format(time.RFC3339), fields[3])
		}
	}
	if cases < 1000 || len(zones) < 6 {
		t.Errorf("only %d cases in %d zones", cases, len(zones))
	}
}

// The rules for changes of clocks, in the words of the docs.
func TestChangesOfClocks(t *testing.T) {
	const berlin = "Europe/Berlin"
	for name, c := range map[string]struct{ text, zone, after, want string }{
		"a time that is skipped counts at the change":       {"30 2 * * *", berlin, "2026-03-29T00:00:00Z", "2026-03-29T01:00:00Z"},
		"all that are skipped count as one":                 {"*/10 2 * * *", berlin, "2026-03-29T01:00:00Z", "2026-03-30T00:00:00Z"},
		"a time that comes twice counts the first time":     {"30 2 * * *", berlin, "2026-10-25T00:00:00Z", "2026-10-25T00:30:00Z"},
		"and not the second":                                {"30 2 * * *", berlin, "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"},
		"one that counts hours has both":                    {"30 * * * *", berlin, "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"},
		"and none that is skipped":                          {"30 */2 * * *", berlin, "2026-03-28T23:30:00Z", "2026-03-29T02:30:00Z"},
		"a change by half an hour":                          {"15 2 * * *", "Australia/Lord_Howe", "2025-10-04T15:00:00Z", "2025-10-04T15:30:00Z"},
		"midnight that is skipped":                          {"@daily", "America/Sao_Paulo", "2018-11-04T02:00:00Z", "2018-11-04T03:00:00Z"},
		"a day that is skipped counts when the next begins": {"0 12 30 * *", "Pacific/Apia", "2011-12-30T00:00:00Z", "2011-12-30T10:00:00Z"},
		"a leap day":                          {"0 0 29 2 *", "", "2096-02-29T00:00:00Z", "2104-02-29T00:00:00Z"},
		"over the last day of a leap year":    {"0 0 29 2 *", berlin, "2096-12-30T12:00:00Z", "2104-02-28T23:00:00Z"},
		"within the last day of a leap year":  {"0 12 31 12 *", berlin, "2096-12-31T10:00:00Z", "2096-12-31T11:00:00Z"},
		"a leap day on a Sunday, around 2100": {"0 0 29 2 */7", "", "2088-03-01T00:00:00Z", "2128-02-29T00:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := cron(t, c.text, c.zone).Next(moment(t, c.after)); !got.Equal(moment(t, c.want)) {
				t.Errorf("it comes at %s, want %s", got.UTC().Format(time.RFC3339), c.want)
			}
		})
	}
}

// Different spellings of the same times.
func TestSpellings(t *testing.T) {
	for text, same := range map[string]string{
		"@hourly":               "0 * * * *",
		"@daily":                "0 0 * * *",
		"@weekly":               "0 0 * * 7",
		"@monthly":              "0 0 1 * *",
		"0 0 * jan-mar MON":     "0 0 * 1-3 1",
		"5/20 1 * * fri-sun":    "5,25,45 1 * * 5,6,0",
		"  0  0-6/3 1,15 * *  ": "0 0,3,6 1,15 * *",
		"0 0 * * 0-7":           "0 0 * * *",
	} {
		a, b := cron(t, text, "UTC"), cron(t, same, "UTC")
		for at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC); at.Year() == 2026; at = b.Next(at).Add(30 * time.Hour) {
			if got, want := a.Next(at), b.Next(at); !got.Equal(want) {
				t.Errorf("%q comes at %s, %q at %s", text, got, same, want)
				break
			}
		}
	}
}

// What is no expression is refused in words that name the field and the way out.
func TestWhatIsNoExpression(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "has 0 fields: write five",
		"0 3 * *":                "has 4 fields",
		"0 0 3 * * *":            "has 6 fields",
		"@yearly":                "has 1 fields",
		"60 * * * *":             `minute "60": write *, or numbers from 0 to 59`,
		"* 24 * * *":             `hour "24"`,
		"* * 0 * *":              `day of the month "0": write *, or numbers from 1 to 31`,
		"* * * 13 *":             `month "13": write *, or numbers from 1 to 12 or names as feb`,
		"* * * * 8":              `day of the week "8"`,
		"* * * * monday":         `day of the week "monday"`,
		"-1 * * * *":             `minute ""`,
		"+1 * * * *":             `minute "+1"`,
		"1-5-9 * * * *":          `minute "5-9"`,
		"1,,2 * * * *":           `minute ""`,
		"*/0 * * * *":            `minute "*/0": a step is a number from 1 to 59`,
		"*/5/7 * * * *":          `minute "*/5/7": a step`,
		"*/99999999999 * * * *":  `a step is a number`,
		"5-3 * * * *":            `minute "5-3": the range ends before it begins`,
		"* * L * *":              `day of the month "l"`,
		"* * ? * *":              `day of the month "?"`,
		"0 0 30 2 *":             "never comes: none of its months has such a day",
		"0 0 31 4,6,9,11 *":      "never comes",
		"0 0 30 2 */2":           "never comes",
		strings.Repeat("1", 201): "is longer than 200 bytes",
	} {
		if _, err := ParseCron(text, time.UTC); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if _, err := ParseCron("0 0 30 2 1", time.UTC); err != nil {
		t.Errorf("each Monday of February, or its 30th: %v", err)
	}
	for _, name := range []string{"Local", "Europe/Nowhere", "../etc/passwd", "CEST+", strings.Repeat("A", 300)} {
		if _, err := Zone(name); err == nil || !strings.Contains(err.Error(), "write an IANA name") {
			t.Errorf("the zone %s: %v", name, err)
		}
	}
}

// A time is later than that after which it is asked for, at a whole minute, and no
// other lies between.
func TestTimesInOrder(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		text := rapid.SampledFrom([]string{"* * * * *", "*/7 */5 * * *", "30 2 * * *", "0,45 1-3 * * *", "15 23 1,31 * fri", "0 0 29 2 *"}).Draw(r, "expression")
		zone := rapid.SampledFrom([]string{"UTC", "Europe/Berlin", "Australia/Lord_Howe", "America/New_York", "Africa/Cairo"}).Draw(r, "zone")
		c := cron(r, text, zone)
		after := time.Unix(rapid.Int64Range(0, 4e9).Draw(r, "after"), rapid.Int64Range(0, 999_999_999).Draw(r, "nanoseconds"))
		next := c.Next(after)
		if !next.After(after) || next.Second() != 0 || next.Nanosecond() != 0 {
			r.Fatalf("after %s comes %s", after, next)
		}
		between := after.Add(time.Duration(rapid.Int64Range(0, int64(next.Sub(after))-1).Draw(r, "between")))
		if again := c.Next(between); !again.Equal(next) {
			r.Fatalf("after %s comes %s, and after %s before that %s", after, next, between, again)
		}
	})
}
