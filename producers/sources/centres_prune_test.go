package sources

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"tributary/internal/config"
)

// A list of centres prunes what people have added and it lacks, and nothing that the
// configuration lists or the profile brings along. Where one of them can't be removed,
// nothing is changed.
func TestCentresArePruned(t *testing.T) {
	b := newBench(t)
	apply := func(prune bool, all ...config.Centre) (string, error) {
		return b.tryCentres(func(ctx context.Context, tx pgx.Tx) ([]Change, error) {
			return b.ApplyCentres(ctx, tx, all, prune, byMe)
		})
	}
	b.lists(config.Centre{ShortName: "Own", Email: "own@example.org"})
	other := config.Centre{ShortName: "Other"}
	must(b.putCentres(uni, other, config.Centre{ShortName: "H", Email: "h@example.org"}))
	b.toldCentres()
	for _, tt := range []struct {
		prune bool
		all   []config.Centre
		said  string
		told  string
	}{
		{false, []config.Centre{other}, "Other unchanged\n", ""},
		{true, []config.Centre{other, uni}, "Other unchanged\nUni unchanged\n", ""},
		{true, []config.Centre{other}, "Other unchanged\nUni removed\n", "Uni|person|false|true|A university|data@example.org||removed by me: why"},
		{true, nil, "Other removed\n", "Other|person|false|true||||removed by me: why"},
		{true, nil, "", ""},
	} {
		said, err := apply(tt.prune, tt.all...)
		if err != nil || said != tt.said {
			t.Errorf("it says %q, %v; want %q", said, err, tt.said)
		}
		if got := strings.Join(b.toldCentres(), "\n"); got != tt.told {
			t.Errorf("events %q, want %q", got, tt.told)
		}
	}
	for name, want := range map[string]string{"Own": `("configuration t  own@example.org")`, "H": `("person t MRC Harwell h@example.org")`, "Uni": "", "Other": ""} {
		if got := b.centre(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	must(b.putCentres(uni, other))
	must(b.put(config.Source{ID: "x", Centre: "Uni", URL: "file:///x"}))
	b.toldCentres()
	if _, err := apply(true, config.Centre{ShortName: "New"}); !errors.Is(err, ErrCentreUsed) || !strings.Contains(err.Error(), "Uni: sources belong to it or host its files (x)") || !strings.Contains(err.Error(), "active: false") {
		t.Errorf("one that runs a source is pruned: %v", err)
	}
	if b.centre("New") != "" || b.centre("Other") == "" || len(b.toldCentres()) > 0 {
		t.Error("something is changed by what is refused")
	}
}
