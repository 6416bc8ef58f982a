package past

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/go-cmp/cmp"

	"tributary/queries/asof"
	"tributary/queries/report"
)

func noon() time.Time { return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) }

// name is that of a problem; empty: it is none.
func name(err error) string {
	var p *Problem
	if !errors.As(err, &p) {
		return ""
	}
	return p.Name
}

func TestMoment(t *testing.T) {
	for text, want := range map[string]time.Time{"2h": noon().Add(-2 * time.Hour), "0s": noon(), "2026-11-21": noon().Add(-12 * time.Hour), "2026-11-21T12:00:00Z": noon()} {
		if at, err := Moment("as_of", text, noon()); err != nil || !at.Equal(want) {
			t.Errorf("%s: %v, %v", text, at, err)
		}
	}
	for _, text := range []string{"", "soon", "-2h", "2026-11-21T12:00:00.000001Z", "9999-12-31", "\xff", "\x00", strings.Repeat("1", 1<<20)} {
		_, err := Moment("from", text, noon())
		if name(err) != "bad_moment" || !strings.HasPrefix(err.Error(), "from: ") || len(err.Error()) > 300 {
			t.Errorf("%.40q: %v", text, err)
		}
	}
}

func TestBefore(t *testing.T) {
	for _, x := range []struct {
		since, at time.Time
		want      string
	}{{time.Time{}, noon(), "before_history"}, {noon(), noon(), ""}, {noon(), noon().Add(-time.Microsecond), "before_history"}, {noon(), noon().Add(time.Hour), ""}} {
		if err := began(asof.Filled{Since: x.since}, x.at, "to"); name(err) != x.want {
			t.Errorf("%v from %v on: %v", x.at, x.since, err)
		}
	}
}

// So many answers are made at once and no more; those that can't be made are problems, and
// other errors what they are.
func TestBounds(t *testing.T) {
	r := New(asof.Reader{})
	if r.from.MaxEvents != MaxEvents || r.from.MaxMemory != maxMemory {
		t.Errorf("%d events and %d bytes are allowed", r.from.MaxEvents, r.from.MaxMemory)
	}
	other := errors.New("something else")
	over, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	for _, x := range []struct {
		ctx  context.Context
		err  error
		want string
	}{
		{t.Context(), nil, ""}, {t.Context(), other, ""}, {t.Context(), fmt.Errorf("count: %w", &asof.TooLargeError{Events: 9, Max: 5}), "past_too_large"},
		{t.Context(), &clickhouse.Exception{Code: 241}, "past_too_large"}, {t.Context(), &clickhouse.Exception{Code: 60}, ""}, {over, other, "past_too_slow"}, {over, nil, ""},
	} {
		var err error
		for ran := false; !ran; { // over may be noticed before it is begun
			err = r.hold(x.ctx, func() error { ran = true; return x.err })
		}
		if name(err) != x.want || x.want == "" && !errors.Is(err, x.err) {
			t.Errorf("%v became %v", x.err, err)
		}
	}
	if got := atOnceIn(t, r); got != atOnce {
		t.Errorf("%d are made at once, want %d", got, atOnce)
	}
	var nobody *Reader
	if err := nobody.At(t.Context(), noon(), asof.Scope{}, nil); name(err) != "no_history" {
		t.Errorf("without a history: %v", err)
	}
}

// atOnceIn is how many answers are made within one another until there is no room.
func atOnceIn(t *testing.T, r *Reader) (n int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var within func() error
	within = func() error {
		if n++; n == atOnce {
			cancel()
		}
		if n > atOnce {
			return nil
		}
		return r.hold(ctx, within)
	}
	if err := r.hold(ctx, within); name(err) != "past_busy" {
		t.Errorf("one too many: %v", err)
	}
	return n
}

func TestAsk(t *testing.T) {
	for query, want := range map[string]struct {
		asked   Asked
		command string
	}{
		"from=2h": {Asked{From: noon().Add(-2 * time.Hour), To: noon(), Narrowed: asof.Narrowed{Limit: report.DefaultPage}}, "tributary diff --from 2026-11-21T10:00:00Z --to 2026-11-21T12:00:00Z"},
		"from=2h&to=1h&file=a*&centre=it's&kind=file&change=new&limit=7": {Asked{From: noon().Add(-2 * time.Hour), To: noon().Add(-time.Hour), File: "a*", Centre: "it's", Narrowed: asof.Narrowed{Kind: "file", Change: "new", Limit: 7}},
			`tributary diff --from 2026-11-21T10:00:00Z --to 2026-11-21T11:00:00Z --file 'a*' --centre 'it'\''s'`},
	} {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		asked, err := Ask(values, noon())
		if diff := cmp.Diff(want.asked, asked); err != nil || diff != "" || asked.Command() != want.command {
			t.Errorf("%s: %v %s\n%s", query, err, asked.Command(), diff)
		}
	}
	for query, want := range map[string]string{"limit=0": "limit", "limit=1001": "limit", "kind=x": "kind", "change=x": "change", "after=x": "after", "file=%00": "name", "centre=%ff": "centre"} {
		values, err := url.ParseQuery("from=2h&" + query)
		if err != nil {
			t.Fatal(err)
		}
		_, err = Ask(values, noon())
		var bad *report.FilterError
		if !errors.As(err, &bad) || bad.Filter != want {
			t.Errorf("%s: %v", query, err)
		}
	}
	if err := New(asof.Reader{}).Diff(t.Context(), noon(), noon(), asof.Scope{}, nil); name(err) != "bad_moment" {
		t.Errorf("nothing is between a moment and itself: %v", err)
	}
}
