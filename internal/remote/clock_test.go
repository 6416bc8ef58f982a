package remote

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// What an answer says of the server's clock counts between question and answer; of
// several the narrowest, and of none that lay in a cache.
func TestClocksThatTell(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	answer := func(date, age string) http.Header {
		h := http.Header{}
		h.Set("Date", date)
		h.Set("Age", age)
		return h
	}
	ahead := noon.Add(time.Hour).Format(http.TimeFormat)
	c := &Clock{}
	for _, h := range []http.Header{{}, answer("yesterday", ""), answer(ahead, "30")} {
		c.hear(h, noon, noon)
		if least, most, told := c.Told(); told {
			t.Errorf("%v tells %s to %s", h, least, most)
		}
	}
	for _, step := range []struct{ took, least, most time.Duration }{
		{3 * time.Second, time.Hour - 3*time.Second, time.Hour + time.Second},
		{time.Second, time.Hour - time.Second, time.Hour + time.Second},
		{9 * time.Second, time.Hour - time.Second, time.Hour + time.Second},
	} {
		c.hear(answer(ahead, "0"), noon, noon.Add(step.took))
		if least, most, told := c.Told(); !told || least != step.least || most != step.most {
			t.Errorf("after %s: %v, %s to %s", step.took, told, least, most)
		}
	}
}

// What LIST shows is what is known in any zone that was seen, to the day where it shows
// no more, and of any year where it shows none; of these days, by the server's own
// clock, nothing is.
func TestLISTShowsWhatIsKnown(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	known := time.Date(2025, 1, 31, 23, 30, 44, 0, time.UTC)
	minute, day := known.Truncate(time.Minute), known.Truncate(24*time.Hour)
	for name, tt := range map[string]struct {
		listed Entry
		zones  []time.Duration
		ahead  time.Duration
		known  time.Time
		want   bool
	}{
		"to the minute":                   {listed: Entry{ModTime: minute, Precision: time.Minute}, want: true},
		"another minute":                  {listed: Entry{ModTime: minute.Add(time.Minute), Precision: time.Minute}},
		"in a zone that was not seen":     {listed: Entry{ModTime: minute.Add(time.Hour), Precision: time.Minute}},
		"in a zone that was seen":         {listed: Entry{ModTime: minute.Add(time.Hour), Precision: time.Minute}, zones: []time.Duration{2 * time.Hour, time.Hour}, want: true},
		"to the day":                      {listed: Entry{ModTime: day, Precision: 24 * time.Hour}, want: true},
		"to the day, in a zone":           {listed: Entry{ModTime: day.AddDate(0, 0, 1), Precision: 24 * time.Hour}, zones: []time.Duration{time.Hour}, want: true},
		"another day":                     {listed: Entry{ModTime: day.AddDate(0, 0, 1), Precision: 24 * time.Hour}},
		"without a year":                  {listed: Entry{ModTime: minute.AddDate(1, 0, 0), Precision: time.Minute, Yearless: true}, want: true},
		"of another year":                 {listed: Entry{ModTime: minute.AddDate(1, 0, 0), Precision: time.Minute}},
		"of these days":                   {listed: Entry{ModTime: now.Add(-time.Hour).Truncate(time.Minute), Precision: time.Minute}, known: now.Add(-time.Hour)},
		"of these days, by a slow server": {listed: Entry{ModTime: now.AddDate(0, 0, -9).Truncate(time.Minute), Precision: time.Minute}, known: now.AddDate(0, 0, -9), ahead: -9 * 24 * time.Hour},
		"long ago, by a fast server":      {listed: Entry{ModTime: now.Add(-time.Hour).Truncate(time.Minute), Precision: time.Minute}, known: now.Add(-time.Hour), ahead: 9 * 24 * time.Hour, want: true},
	} {
		s := &ftpSession{cfg: Config{Clock: &Clock{Now: func() time.Time { return now }, Ahead: tt.ahead}}}
		for _, z := range tt.zones {
			s.cfg.Clock.learn(z)
		}
		if tt.known.IsZero() {
			tt.known = known
		}
		if got := s.looksTheSame(tt.listed, Entry{Name: "a.zip", ModTime: tt.known}); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Differences that are none of a zone are not learned, and no more than four are.
func TestZonesAreFew(t *testing.T) {
	c := &Clock{}
	for _, z := range []time.Duration{time.Hour, 7 * time.Minute, 15 * time.Hour, time.Hour, -30 * time.Minute, 0, 2 * time.Hour, 3 * time.Hour} {
		c.learn(z)
	}
	if d := cmp.Diff([]time.Duration{time.Hour, -30 * time.Minute, 0, 2 * time.Hour}, c.Zones()); d != "" {
		t.Error(d)
	}
}
