//go:build !race

package poll

import (
	"fmt"
	"testing"
	"time"

	"tributary/internal/config"
)

// TestAListingThatLacksTooMuchIsNotBelieved goes through how much of a directory a
// listing may lack, and what makes it believed.
func TestAListingThatLacksTooMuchIsNotBelieved(t *testing.T) {
	for name, tc := range map[string]struct {
		held, kept int
		edit       func(*bench, *config.Source)
		want       string // how the poll ends
		gone       int
	}{
		"half is gone":        {held: 20, kept: 10, want: "complete ", gone: 10},
		"more than half":      {held: 20, kept: 9, want: "broken_off directory_shrunk"},
		"all":                 {held: 20, kept: 0, want: "broken_off directory_shrunk"},
		"all of a few":        {held: 19, kept: 0, want: "complete ", gone: 19},
		"another share":       {held: 20, kept: 10, edit: func(b *bench, _ *config.Source) { b.cfg.MaxMissingShare = 0.4 }, want: "broken_off directory_shrunk"},
		"any share":           {held: 20, kept: 0, edit: func(b *bench, _ *config.Source) { b.cfg.MaxMissingShare = 1 }, want: "complete ", gone: 20},
		"they were withdrawn": {held: 20, kept: 0, edit: func(_ *bench, s *config.Source) { s.MayBeEmpty = true }, want: "complete ", gone: 20},
		"they are filtered": {held: 40, kept: 40, edit: func(_ *bench, s *config.Source) {
			s.Filters = config.Filters{{Exclude: "*.3?.impc.zip"}, {Exclude: "*.2?.impc.zip"}}
		}, want: "complete ", gone: 20},
		"filtered, and lacking": {held: 60, kept: 11, edit: func(_ *bench, s *config.Source) { s.Filters = config.Filters{{Exclude: "*.[2-5]?.impc.zip"}} }, want: "complete ", gone: 49},
		"most of the rest":      {held: 60, kept: 9, edit: func(_ *bench, s *config.Source) { s.Filters = config.Filters{{Exclude: "*.[2-5]?.impc.zip"}} }, want: "broken_off directory_shrunk"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.once, b.cfg.GoneAfter = true, 1
			file := func(i int) string { return fmt.Sprintf("H.2026-01-02.%02d.impc.zip", i) }
			for i := range tc.held {
				b.server.show(file(i), 10)
			}
			b.listing()
			for i := tc.kept; i < tc.held; i++ {
				b.server.hide(file(i))
			}
			if tc.edit != nil {
				src := b.defined()
				tc.edit(b, &src)
				b.define(src)
			}
			b.server.show("H.2026-02-01.1.impc.zip", 10)
			b.now = b.now.Add(time.Hour)
			b.listing()
			if got := b.ended(); got != tc.want {
				t.Errorf("the poll ended %s, want %s", got, tc.want)
			}
			if got := b.text("SELECT count(*) FILTER (WHERE state = 'gone'), count(*) FILTER (WHERE name LIKE '%02-01%' AND state = 'present'), max(misses) * $1 FROM control.hosting", 1-min(tc.gone, 1)); got != fmt.Sprintf("%d 1 0", tc.gone) {
				t.Errorf("gone, new and missed: %s", got)
			}
		})
	}
}
