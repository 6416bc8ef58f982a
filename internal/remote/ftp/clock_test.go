package ftp

import (
	"testing"
	"time"

	"tributary/internal/remote"
)

// What LIST shows is what is known in any zone that was seen, to the day where it shows
// no more, and of any year where it shows none; of these days, by the server's own
// clock, nothing is.
func TestLISTShowsWhatIsKnown(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	known := time.Date(2025, 1, 31, 23, 30, 44, 0, time.UTC)
	minute, day := known.Truncate(time.Minute), known.Truncate(24*time.Hour)
	for name, tt := range map[string]struct {
		listed remote.Entry
		zones  []time.Duration
		ahead  time.Duration
		known  time.Time
		want   bool
	}{
		"to the minute":                   {listed: remote.Entry{ModTime: minute, Precision: time.Minute}, want: true},
		"another minute":                  {listed: remote.Entry{ModTime: minute.Add(time.Minute), Precision: time.Minute}},
		"in a zone that was not seen":     {listed: remote.Entry{ModTime: minute.Add(time.Hour), Precision: time.Minute}},
		"in a zone that was seen":         {listed: remote.Entry{ModTime: minute.Add(time.Hour), Precision: time.Minute}, zones: []time.Duration{2 * time.Hour, time.Hour}, want: true},
		"to the day":                      {listed: remote.Entry{ModTime: day, Precision: 24 * time.Hour}, want: true},
		"to the day, in a zone":           {listed: remote.Entry{ModTime: day.AddDate(0, 0, 1), Precision: 24 * time.Hour}, zones: []time.Duration{time.Hour}, want: true},
		"another day":                     {listed: remote.Entry{ModTime: day.AddDate(0, 0, 1), Precision: 24 * time.Hour}},
		"without a year":                  {listed: remote.Entry{ModTime: minute.AddDate(1, 0, 0), Precision: time.Minute, Yearless: true}, want: true},
		"of another year":                 {listed: remote.Entry{ModTime: minute.AddDate(1, 0, 0), Precision: time.Minute}},
		"of these days":                   {listed: remote.Entry{ModTime: now.Add(-time.Hour).Truncate(time.Minute), Precision: time.Minute}, known: now.Add(-time.Hour)},
		"of these days, by a slow server": {listed: remote.Entry{ModTime: now.AddDate(0, 0, -9).Truncate(time.Minute), Precision: time.Minute}, known: now.AddDate(0, 0, -9), ahead: -9 * 24 * time.Hour},
		"long ago, by a fast server":      {listed: remote.Entry{ModTime: now.Add(-time.Hour).Truncate(time.Minute), Precision: time.Minute}, known: now.Add(-time.Hour), ahead: 9 * 24 * time.Hour, want: true},
	} {
		s := &ftpSession{cfg: remote.Config{Clock: &remote.Clock{Now: func() time.Time { return now }, Ahead: tt.ahead}}}
		for _, z := range tt.zones {
			s.cfg.Clock.Learn(z)
		}
		if tt.known.IsZero() {
			tt.known = known
		}
		if got := s.looksTheSame(tt.listed, remote.Entry{Name: "a.zip", ModTime: tt.known}); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
