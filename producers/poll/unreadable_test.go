package poll

import (
	"testing"
	"time"

	"tributary/internal/remote"
)

// A line of a listing that can't be read may be of a file that is there: while one that
// ends as our files do is shown, nothing is gone.
func TestLinesThatCantBeReadWithdrawNothing(t *testing.T) {
	b := newBench(t)
	b.once = true
	b.cfg.GoneAfter = 1
	polls := func(line, want string) {
		t.Helper()
		b.server.dirs["add"] = append(b.server.dirs["add"], remote.Entry{Name: line, Size: -1, Kind: remote.Other, Unreadable: true})
		if got := b.listing(); got != "complete" {
			t.Fatalf("the poll ended %s", got)
		}
		b.is("after "+line, "SELECT state FROM control.hosting", want)
		b.server.dirs["add"] = nil
		b.now = b.now.Add(time.Minute)
	}
	b.server.show(good, 10)
	polls("a heading", "present")
	polls("10 bytes, written today: "+good, "present")
	polls("A.ZIP", "present")
	polls("nothing to show", "gone")
}
