package poll

import (
	"fmt"
	"testing"
	"time"

	"tributary/internal/remote"
)

// Times are compared with what was known of the very file, and decide nothing else: a
// file is new whatever its time is, also if it is older than all that were listed before,
// and is not new again.
func TestAFileIsFoundWhateverItsTimeIs(t *testing.T) {
	b := newBench(t)
	b.once = true
	show := func(i int, at time.Time) {
		b.server.dirs["add"] = append(b.server.dirs["add"], remote.Entry{Name: fmt.Sprintf("H.2026-02-01.%d.impc.zip", i+1), Size: 7, ModTime: at, Precision: time.Second})
	}
	expect := func(what string, files int) {
		t.Helper()
		if got := b.listing(); got != "complete" {
			t.Fatalf("%s: the poll ended %s", what, got)
		}
		b.is(what, "SELECT count(*), max(look) FROM control.look", fmt.Sprintf("%d 1", files))
		b.now = b.now.Add(time.Minute)
	}
	show(0, noon.Add(-time.Hour))
	expect("the first file", 1)
	odd := []time.Time{
		noon.Add(-time.Hour), // the same second
		noon.Add(-time.Hour - time.Second),
		noon.AddDate(0, -7, 0), // half a year before, where lists change their form
		noon.AddDate(-1, 0, 0),
		noon.AddDate(1, 0, 0), // to come
		noon.Add(24 * time.Hour),
		time.Date(2024, 2, 29, 23, 59, 59, 0, time.UTC),
		time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(1969, 12, 31, 23, 59, 59, 0, time.UTC), // a negative number to Unix
		time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(2038, 1, 19, 3, 14, 8, 0, time.UTC),
		time.Date(2107, 12, 31, 23, 59, 58, 0, time.UTC),
		time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC),
		time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC),
		{}, // the server doesn't say
	}
	for i, at := range odd {
		show(i+1, at)
		expect("with one of "+at.String(), i+2)
	}
	expect("listed again", len(odd)+1)

	// Another time, also an earlier one, is another look of the same file.
	b.server.dirs["add"][0].ModTime = noon.AddDate(-3, 0, 0)
	b.listing()
	b.is("put back", "SELECT name FROM control.hosting WHERE look = 2", "H.2026-02-01.1.impc.zip")
}
