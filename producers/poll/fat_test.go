//go:build !race

package poll

import (
	"fmt"
	"testing"
	"time"

	"tributary/internal/remote"
)

// A disk with FAT keeps even seconds alone, of local time, and forgets odd ones once it is
// read anew. That its times are so is learned from a listing: what was shown a second
// later before is no other look, and neither is anything after the clocks were changed. Of
// a disk that has odd seconds a second is a change.
func TestTimesOfFAT(t *testing.T) {
	for name, fat := range map[string]bool{"FAT": true, "another": false} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.once = true
			old := noon.Add(-100 * time.Hour)
			var shown []remote.Entry
			for i := range 20 {
				at := old.Add(time.Duration(2+4*i) * time.Second)
				shown = append(shown, remote.Entry{Name: fmt.Sprintf("H.2026-01-02.%d.impc.zip", i+1), Size: 5, ModTime: at, Precision: time.Second})
			}
			if !fat {
				shown[19].ModTime = shown[19].ModTime.Add(time.Second)
			}
			looks := 20
			for _, step := range []struct {
				about   string
				happens func(e *remote.Entry)
				fresh   int // looks, where the disk has FAT
				another int // and where it hasn't
			}{
				{"the first listing", func(*remote.Entry) {}, 0, 0},
				{"nothing", func(*remote.Entry) {}, 0, 0},
				{"one is overwritten, in an odd second", func(e *remote.Entry) { e.Size, e.ModTime = 6, old.Add(401*time.Second) }, 1, 1},
				{"the disk is read anew", func(e *remote.Entry) { e.ModTime = old.Add(400 * time.Second) }, 0, 1},
				{"nothing after that", func(*remote.Entry) {}, 0, 0},
				{"it is overwritten by as many bytes", func(e *remote.Entry) { e.ModTime = old.Add(402 * time.Second) }, 1, 1},
				{"daylight saving begins", func(*remote.Entry) {
					for i := range shown {
						shown[i].ModTime = shown[i].ModTime.Add(time.Hour)
					}
				}, 0, 0},
			} {
				step.happens(&shown[3])
				b.server.dirs["add"] = append([]remote.Entry(nil), shown...)
				b.now = b.now.Add(time.Hour)
				if got := b.listing(); got != "complete" {
					t.Fatalf("%s: the poll ended %s", step.about, got)
				}
				if looks += step.another; fat {
					looks += step.fresh - step.another
				}
				if got := b.text("SELECT count(*) FROM control.look"); got != fmt.Sprint(looks) {
					t.Errorf("%s: there are %s looks, want %d", step.about, got, looks)
				}
			}
			said := b.text("SELECT (clock->>'precision')::bigint / 1000000 FROM control.source")
			if want := map[bool]string{true: "2000", false: "1000"}[fat]; said != want {
				t.Errorf("times are exact to %s ms, want %s", said, want)
			}
		})
	}
}
