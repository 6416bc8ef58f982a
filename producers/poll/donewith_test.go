package poll

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// What we have taken away at a source, or are about to, is lacking by no doing of the
// centre's: nothing is gone, and the listing is believed however much of it that is.
func TestWhatIsTakenAwayIsNotGone(t *testing.T) {
	for name, until := range map[string]int64{"done": 1, "under way": 1 << 62} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.once, b.cfg.GoneAfter = true, 1
			for i := range 30 {
				b.server.show(fmt.Sprintf("H.2026-01-02.%02d.impc.zip", i), 10)
			}
			b.listing()
			for i := range 29 {
				b.server.hide(fmt.Sprintf("H.2026-01-02.%02d.impc.zip", i))
			}
			b.exec("UPDATE control.hosting SET state = 'done_with', shown_until = $1 WHERE name <> 'H.2026-01-02.29.impc.zip'", until)
			for range 2 {
				b.now = b.now.Add(time.Hour)
				b.listing()
				if got := b.ended(); got != "complete " {
					t.Errorf("the poll ended %s", got)
				}
				if got := b.text("SELECT state, count(*), max(misses) FROM control.hosting GROUP BY 1 ORDER BY 1"); got != "done_with 29 0\npresent 1 0" {
					t.Errorf("hostings are %s", got)
				}
				if d := cmp.Diff([]string{"task done"}, b.said()); d != "" {
					t.Errorf("events (- want, + got):\n%s", d)
				}
			}
		})
	}
}

// A listing that may be from before the file was taken away says nothing; one of a
// later session shows that it was uploaded again, and so does another size or time.
func TestWhatIsTakenAwayAndShownAgain(t *testing.T) {
	const name = "H.2026-01-02.1.impc.zip"
	for _, tc := range []struct {
		name     string
		until    int64
		size     int64
		bounded  bool
		want     string
		announce bool
	}{
		{"by a session that may have begun before", 2, 10, false, "done_with 1", false},
		{"by the same, of which not all is taken up", 2, 10, true, "done_with 1", false},
		{"while it is under way", 1 << 62, 10, false, "done_with 1", false},
		{"by a later session", 1, 10, false, "present 2", true},
		{"with another size", 2, 11, false, "present 2", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t)
			b.once = true
			b.server.show(name, 10)
			b.listing()
			b.exec("UPDATE control.hosting SET state = 'done_with', shown_until = $1", tc.until)
			b.server.show(name, tc.size)
			if tc.bounded {
				src := b.defined()
				src.MaxNew = 1
				b.define(src)
			}
			b.now = b.now.Add(time.Hour)
			b.listing() // of the second session
			if got := b.text("SELECT state, look FROM control.hosting"); got != tc.want {
				t.Errorf("its hosting is %s, want %s", got, tc.want)
			}
			announced := false
			for _, s := range b.said() {
				announced = announced || s == "discovered "+name+" look 2 new" || s == "discovered "+name+" look 2 changed"
			}
			if announced != tc.announce {
				t.Errorf("it is announced: %v, want %v; told was %q", announced, tc.announce, b.said())
			}
		})
	}
}
