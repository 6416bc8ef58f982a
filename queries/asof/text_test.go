package asof

import (
	"testing"
	"time"
)

// It is said how far the history goes, where that is not as far as the moment.
func TestHowFarTheHistoryGoesIsSaid(t *testing.T) {
	at := start()
	since, until := at.Add(-time.Hour), at.Add(time.Hour)
	for _, x := range []struct {
		filled Filled
		want   string
	}{
		{Filled{Since: since, Until: until}, ""},
		{Filled{Since: since, Until: at}, ""},
		{Filled{Since: at, Until: until}, ""},
		{Filled{}, ", which is empty"},
		{Filled{Behind: 3}, ", which has not been filled yet: it lacks 3 records of the log that the tracker has read"},
		{Filled{Since: until, Until: until}, ", which begins at 2026-11-21T11:00:00Z only"},
		{Filled{Since: since, Until: since}, ", which is filled up to 2026-11-21T09:00:00Z"},
		{Filled{Since: since, Until: since, Behind: 2, Lost: 4}, ", which is filled up to 2026-11-21T09:00:00Z only: it lacks 2 records of the log that the tracker has read" +
			"; the log's first 4 records are not in it any more, and what they told is missing"},
	} {
		if got, want := x.filled.Said(at), "as of 2026-11-21T10:00:00Z, from the history"+x.want; got != want {
			t.Errorf("%+v: %q, want %q", x.filled, got, want)
		}
	}
}
