package poll

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/config"
)

// A source is what its newest text says, whatever was read of it, or of another, before.
func TestDefinitionsAreThoseOfTheNewestText(t *testing.T) {
	var d definitions
	url := func(id, text string) string {
		t.Helper()
		src, err := d.parse(id, text)
		if err != nil {
			return "refused"
		}
		if want, err := config.ParseDefinition(text); err != nil || !cmp.Equal(want.URL, src.URL) || want.ID != src.ID {
			t.Errorf("%s was read as %+v, not as %+v (%v)", text, src, want, err)
		}
		return src.URL
	}
	const old, moved = `{"id": "a", "centre": "H", "url": "file:///old"}`, `{"id": "a", "centre": "H", "url": "file:///moved"}`
	var got []string
	for _, asked := range [][2]string{{"a", old}, {"b", moved}, {"a", old}, {"a", moved}, {"a", `{"newer": 1}`}, {"a", moved}, {"a", old}} {
		got = append(got, url(asked[0], asked[1]))
	}
	if d := cmp.Diff([]string{"file:///old", "file:///moved", "file:///old", "file:///moved", "refused", "file:///moved", "file:///old"}, got); d != "" {
		t.Errorf("read (- want, + got):\n%s", d)
	}
}
