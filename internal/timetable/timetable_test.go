package timetable

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func window(t interface{ Fatal(...any) }, text, zone string, length time.Duration) Window {
	w, err := NewWindow(cron(t, text, zone), length)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// While nothing changes the interval doubles, up to its bound.
func TestTheIntervalGrows(t *testing.T) {
	for name, c := range map[string]struct {
		table Timetable
		want  []time.Duration
	}{
		"to its bound":        {Timetable{Interval: time.Hour, Longest: 5 * time.Hour}, []time.Duration{1, 2, 4, 5, 5}},
		"not without one":     {Timetable{Interval: time.Hour}, []time.Duration{1, 1, 1, 1, 1}},
		"nor with a less one": {Timetable{Interval: time.Hour, Longest: time.Minute}, []time.Duration{1, 1, 1, 1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			for n, want := range c.want {
				if got := c.table.Every(n); got != want*time.Hour {
					t.Errorf("after %d polls without a change it is %s, want %d h", n, got, want)
				}
			}
			if got, _ := c.table.Next(time.Unix(0, 0), 1<<40, 0.5); !got.Equal(time.Unix(0, 0).Add(c.want[4] * time.Hour / 2)) {
				t.Errorf("after very many, spread by a half, it is due at %s", got)
			}
		})
	}
}

func TestWindows(t *testing.T) {
	night := window(t, "0 22 * * 1-5", "Europe/Berlin", 8*time.Hour)
	noon := window(t, "0 12 * * *", "Europe/Berlin", time.Hour)
	after := window(t, "0 13 * * *", "Europe/Berlin", time.Hour)
	day, rest := window(t, "0 6 * * *", "Europe/Berlin", 16*time.Hour), window(t, "0 22 * * *", "Europe/Berlin", 8*time.Hour)
	for name, c := range map[string]struct {
		windows           []Window
		at, opens, closes string
	}{
		"before it opens":                          {[]Window{night}, "2026-03-05T12:00:00Z", "2026-03-05T21:00:00Z", "2026-03-06T05:00:00Z"},
		"at the moment when it opens":              {[]Window{night}, "2026-03-05T21:00:00Z", "2026-03-05T21:00:00Z", "2026-03-06T05:00:00Z"},
		"while it is open":                         {[]Window{night}, "2026-03-06T04:59:59Z", "2026-03-06T04:59:59Z", "2026-03-06T05:00:00Z"},
		"at the moment when it closes":             {[]Window{night}, "2026-03-06T05:00:00Z", "2026-03-06T21:00:00Z", "2026-03-07T05:00:00Z"},
		"over the week's end":                      {[]Window{night}, "2026-03-07T05:00:00Z", "2026-03-09T21:00:00Z", "2026-03-10T05:00:00Z"},
		"its length is time that passes":           {[]Window{window(t, "0 0 * * *", "Europe/Berlin", 8*time.Hour)}, "2026-03-28T23:00:00Z", "2026-03-28T23:00:00Z", "2026-03-29T07:00:00Z"},
		"the first of several":                     {[]Window{night, noon}, "2026-03-05T06:00:00Z", "2026-03-05T11:00:00Z", "2026-03-05T12:00:00Z"},
		"those that follow one another are one":    {[]Window{after, noon}, "2026-03-05T06:00:00Z", "2026-03-05T11:00:00Z", "2026-03-05T13:00:00Z"},
		"those that are always open, some days on": {[]Window{day, rest}, "2026-06-05T06:00:00Z", "2026-06-05T06:00:00Z", "2026-06-12T20:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Timetable{Windows: c.windows}.Window(moment(t, c.at))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(Span{moment(t, c.opens), moment(t, c.closes)}, Span{got.Opens.UTC(), got.Closes.UTC()}); d != "" {
				t.Errorf("the window differs (- want, + got):\n%s", d)
			}
		})
	}
	if s, err := (Timetable{}).Window(time.Now()); err != nil || !s.Always() || !s.Has(time.Now()) {
		t.Errorf("without a window: %v, %v", s, err)
	}
}

func TestWhatIsNoWindow(t *testing.T) {
	for name, c := range map[string]struct {
		text   string
		length time.Duration
		want   string // empty: it is one
	}{
		"too short":                       {"0 22 * * *", 59 * time.Second, "a minute is the least"},
		"negative":                        {"0 22 * * *", -time.Hour, "a minute is the least"},
		"the shortest":                    {"0 22 * * *", time.Minute, ""},
		"as long as its period":           {"0 * * * *", time.Hour, "opens again after 1h0m0s"},
		"almost":                          {"0 * * * *", 59 * time.Minute, ""},
		"longer than on the shortest day": {"0 0 * * *", 23*time.Hour + time.Minute, "opens again after 23h0m0s, at 2026-03-30 00:00 CEST"},
		"longer than between two of them": {"0 0 * * 1,2", 25 * time.Hour, "opens again after 24h0m0s"},
		"of some years":                   {"0 0 29 2 *", 40 * 24 * time.Hour, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := NewWindow(cron(t, c.text, "Europe/Berlin"), c.length)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("it is %v, want %q", err, c.want)
			}
		})
	}
}

// The times that are shown keep to windows, and grow as the interval does.
func TestTheNextTimes(t *testing.T) {
	start := moment(t, "2026-03-05T12:00:00Z")
	night := window(t, "0 22 * * *", "UTC", 4*time.Hour)
	nightly := cron(t, "0 3 * * *", "UTC")
	for name, c := range map[string]struct {
		table     Timetable
		unchanged int
		want      []string
	}{
		"by interval":            {Timetable{Interval: time.Hour, Longest: 3 * time.Hour}, 1, []string{"05T12:00", "05T14:00", "05T17:00", "05T20:00"}},
		"by interval in windows": {Timetable{Interval: 3 * time.Hour, Windows: []Window{night}}, 0, []string{"05T22:00", "06T01:00", "06T22:00", "07T01:00"}},
		"by cron":                {Timetable{Cron: &nightly}, 7, []string{"05T12:00", "06T03:00", "07T03:00", "08T03:00"}},
		"by cron out of windows": {Timetable{Cron: &nightly, Windows: []Window{night}}, 0, []string{"05T22:00", "06T22:00", "07T22:00", "08T22:00"}},
	} {
		t.Run(name, func(t *testing.T) {
			times, err := c.table.Times(start, c.unchanged, 4)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, at := range times {
				got = append(got, at.UTC().Format("02T15:04"))
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("times differ (- want, + got):\n%s", d)
			}
		})
	}
}

// An expression without a time, which no parser makes, is an error, and never a time
// of long ago.
func TestNoTimeAnyMore(t *testing.T) {
	never := Cron{zone: time.UTC}
	if at, err := (Timetable{Cron: &never}).Next(time.Now(), 0, 1); !errors.Is(err, ErrNever) {
		t.Errorf("due at %s, %v", at, err)
	}
	if s, err := (Timetable{Windows: []Window{{never, time.Hour}}}).Window(time.Now()); !errors.Is(err, ErrNever) {
		t.Errorf("open %v, %v", s, err)
	}
}

// A window that was found holds: it is not open before it opens, is until it
// closes, and not when it has closed, whenever it is asked for.
func TestAWindowHolds(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		zone := rapid.SampledFrom([]string{"UTC", "Europe/Berlin", "Australia/Lord_Howe", "America/Sao_Paulo"}).Draw(r, "zone")
		var table Timetable
		for range rapid.IntRange(1, 3).Draw(r, "windows") {
			text := rapid.SampledFrom([]string{"0 22 * * *", "30 2 * * 1-5", "0 */6 * * *", "15 1 1 * *"}).Draw(r, "opens")
			table.Windows = append(table.Windows, Window{cron(r, text, zone), time.Duration(rapid.IntRange(1, 4*60).Draw(r, "minutes")) * time.Minute})
		}
		at := time.Unix(rapid.Int64Range(1.4e9, 1.9e9).Draw(r, "at"), 0)
		s, err := table.Window(at)
		if err != nil || s.Opens.Before(at) || !s.Closes.After(s.Opens) {
			r.Fatalf("after %s it is open from %s to %s, %v", at, s.Opens, s.Closes, err)
		}
		then := at.Add(time.Duration(rapid.Int64Range(0, int64(s.Closes.Sub(at))).Draw(r, "later")))
		later, err := table.Window(then)
		if err != nil || later.Has(then) != s.Has(then) {
			r.Fatalf("open from %s to %s; at %s from %s to %s, %v", s.Opens, s.Closes, then, later.Opens, later.Closes, err)
		}
	})
}
