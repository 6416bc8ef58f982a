//go:build !race

package poll

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/remote"
)

// A poll tells how many bytes it took up, as listed, and, if there are any, how large
// the largest of these files is. Whatever sizes a
// server shows, no sum of them is negative.
func TestAPollTellsHowManyBytesAreNew(t *testing.T) {
	b := newBench(t)
	b.once = true
	const third, fourth = "H.2026-01-02.3.impc.zip", "H.2026-01-02.4.impc.zip"
	for i, step := range []struct {
		shown map[string]int64
		want  map[string]string
	}{
		{map[string]int64{good: 0}, map[string]string{"new": "1", "changed": "0", "taken_bytes": "0", "largest": "0"}},
		{map[string]int64{good: 0, good2: 30, third: 12}, map[string]string{"new": "2", "changed": "0", "taken_bytes": "42", "largest": "30"}},
		{map[string]int64{good: 0, good2: 30, third: 12}, map[string]string{"new": "0", "changed": "0", "taken_bytes": "0", "largest": ""}},
		{map[string]int64{good: 7, good2: 30, third: 12}, map[string]string{"new": "0", "changed": "1", "taken_bytes": "7", "largest": "7"}},
		{map[string]int64{good: 7, good2: 30, third: math.MaxInt64, fourth: math.MaxInt64}, map[string]string{"new": "1", "changed": "1",
			"taken_bytes": "9223372036854775807", "largest": "9223372036854775807"}},
	} {
		b.now = noon.Add(time.Duration(i) * time.Hour)
		b.server.dirs["add"] = nil
		for name, size := range step.shown {
			b.server.dirs["add"] = append(b.server.dirs["add"], remote.Entry{Name: name, Size: size, ModTime: noon, Precision: time.Second})
		}
		b.listing()
		e, got := b.task(), map[string]string{}
		for name := range step.want {
			got[name] = e.Attributes[name]
		}
		if d := cmp.Diff(step.want, got); d != "" {
			t.Errorf("poll %d tells otherwise (- want, + got):\n%s", i+1, d)
		}
		b.clear()
	}
}
