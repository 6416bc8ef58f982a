package standing

import (
	"testing"
	"time"

	"tributary/internal/config"
	"tributary/sql/control"
)

// What a limit has left is said with the limit's key, and from when on it is taken up.
func TestWhatIsLeft(t *testing.T) {
	noon := time.Date(2026, 3, 28, 12, 0, 0, 0, time.UTC)
	berlin := `{"time_zone": "Europe/Berlin"}`
	for limit, want := range map[string]string{
		"":                   "one poll takes up (max_new, or poll.max_new): the next polls take up the rest", // an older member's
		control.FilesPerPoll: "one poll takes up (max_new, or poll.max_new): the next polls take up the rest",
		control.BytesPerPoll: "one poll takes up (max_new_bytes): the next polls take up the rest",
		control.FilesPerDay:  "are taken up on one day (max_files_per_day): polls from 2026-03-28 23:00:00Z on take up the rest",
		control.BytesPerDay:  "are taken up on one day (max_bytes_per_day): polls from 2026-03-28 23:00:00Z on take up the rest",
	} {
		if got := Left(limit, berlin, noon); got != want {
			t.Errorf("%s: %q, want %q", limit, got, want)
		}
	}
}

// What was taken up today is shown beside the limits of a day, where there are any.
func TestWhatWasTakenUp(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	ends := time.Date(2026, 3, 29, 0, 0, 0, 0, zone)
	for _, c := range []struct {
		limits    config.Source
		postponed int64
		want      string
	}{
		{config.Source{MaxNew: 3}, 0, ""},
		{config.Source{MaxNew: 3}, 4, "its last poll showed 4 more new or changed files than fit\n"},
		{config.Source{MaxFilesPerDay: 9}, 0, "taken up on 2026-03-28, until Sun 2026-03-29 00:00:00 CET (2026-03-28 23:00:00Z): 7 of 9 files, 1025 bytes\n"},
		{config.Source{MaxFilesPerDay: 9, MaxBytesPerDay: 2 << 10}, 0, "taken up on 2026-03-28, until Sun 2026-03-29 00:00:00 CET (2026-03-28 23:00:00Z): 7 of 9 files, 1025 of 2048 bytes\n"},
	} {
		taken := takenUp{Day: "2026-03-28", Ends: ends, Files: 7, Bytes: 1025, Postponed: c.postponed, limits: c.limits, left: "fit"}
		if got := taken.text(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.limits, got, c.want)
		}
	}
}
