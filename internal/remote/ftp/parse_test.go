package ftp

import (
	"strings"
	"testing"
	"time"

	"tributary/internal/remote"
)

func TestUnixTimes(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skipf("skipped: no time zones here: %v", err)
	}
	for _, tc := range []struct {
		line string
		now  time.Time
		want time.Time
	}{
		{"Mar  4 15:04", time.Date(2024, 3, 5, 0, 0, 0, 0, time.UTC), time.Date(2024, 3, 4, 15, 4, 0, 0, time.UTC)},
		{"Dec 31 23:59", time.Date(2024, 1, 2, 0, 0, 0, 0, time.UTC), time.Date(2023, 12, 31, 23, 59, 0, 0, time.UTC)},
		// A server ahead of us, around New Year.
		{"Jan  1 05:00", time.Date(2023, 12, 31, 20, 0, 0, 0, time.UTC), time.Date(2024, 1, 1, 5, 0, 0, 0, time.UTC)},
		// More than a day ahead can't be: it is a year old.
		{"Jan  3 05:00", time.Date(2023, 12, 31, 20, 0, 0, 0, time.UTC), time.Date(2023, 1, 3, 5, 0, 0, 0, time.UTC)},
		{"Feb 29 10:00", time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2024, 2, 29, 10, 0, 0, 0, time.UTC)},
		{"Jul  1 12:00", time.Date(2024, 7, 2, 0, 0, 0, 0, berlin), time.Date(2024, 7, 1, 10, 0, 0, 0, time.UTC)},
		{"Jul  1  2019", time.Date(2024, 7, 2, 0, 0, 0, 0, time.UTC), time.Date(2019, 7, 1, 0, 0, 0, 0, time.UTC)},
	} {
		e, ok := parseUnixOrDOS("-rw-r--r-- 1 u g 5 "+tc.line+" x.zip", tc.now)
		if !ok || !e.ModTime.Equal(tc.want) || e.Name != "x.zip" || e.Size != 5 {
			t.Errorf("%s seen at %s: %+v, %v; want %s", tc.line, tc.now, e, ok, tc.want)
		}
	}
}

// Whatever a server sends, a line is an entry or it isn't.
func FuzzListLine(f *testing.F) {
	for _, line := range []string{
		"-rw-r--r--   1 u    g        12 Mar  4  2019 a.zip", "lrwxrwxrwx 1 u g 1 Jan 1 10:00 a -> b", "drwxr-xr-x+ 2 u g 4096 Feb 30 10:00 d",
		"type=file;size=1;modify=20240101000000; a.zip", ";;= x", "03-04-19  05:06AM  <DIR> d", "- 1 Jan", "----------", "Jan Jan Jan Jan Jan", "l000000000 0 0 Jan 1 0000  -> ",
	} {
		f.Add(line)
	}
	now := time.Date(2024, 3, 5, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, line string) {
		for _, parse := range []func(string, time.Time) (remote.Entry, bool){parseMachine, parseUnixOrDOS} {
			e, ok := parse(line, now)
			if ok && (e.Name == "" || e.Kind == remote.File && e.Size < -1 || !strings.Contains(line, e.Name) && e.Name != ".") {
				t.Errorf("%q gives %+v", line, e)
			}
		}
	})
}
