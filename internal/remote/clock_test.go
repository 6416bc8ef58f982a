package remote

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// What an answer says of the server's clock counts between question and answer; of
// several the narrowest, and of none that lay in a cache.
func TestClocksThatTell(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	answer := func(date, age string) http.Header {
		h := http.Header{}
		h.Set("Date", date)
		h.Set("Age", age)
		return h
	}
	ahead := noon.Add(time.Hour).Format(http.TimeFormat)
	c := &Clock{}
	for _, h := range []http.Header{{}, answer("yesterday", ""), answer(ahead, "30")} {
		c.Hear(h, noon, noon)
		if least, most, told := c.Told(); told {
			t.Errorf("%v tells %s to %s", h, least, most)
		}
	}
	for _, step := range []struct{ took, least, most time.Duration }{
		{3 * time.Second, time.Hour - 3*time.Second, time.Hour + time.Second},
		{time.Second, time.Hour - time.Second, time.Hour + time.Second},
		{9 * time.Second, time.Hour - time.Second, time.Hour + time.Second},
	} {
		c.Hear(answer(ahead, "0"), noon, noon.Add(step.took))
		if least, most, told := c.Told(); !told || least != step.least || most != step.most {
			t.Errorf("after %s: %v, %s to %s", step.took, told, least, most)
		}
	}
}

// Differences that are none of a zone are not learned, and no more than four are.
func TestZonesAreFew(t *testing.T) {
	c := &Clock{}
	for _, z := range []time.Duration{time.Hour, 7 * time.Minute, 15 * time.Hour, time.Hour, -30 * time.Minute, 0, 2 * time.Hour, 3 * time.Hour} {
		c.Learn(z)
	}
	if d := cmp.Diff([]time.Duration{time.Hour, -30 * time.Minute, 0, 2 * time.Hour}, c.Zones()); d != "" {
		t.Error(d)
	}
}
