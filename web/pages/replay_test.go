package pages_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/uuid"

	"tributary/queries/report/reporttest"
	"tributary/recovery/replay"
	"tributary/recovery/shadow"
	"tributary/recovery/shadow/shadowtest"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/sql/outbox"
	"tributary/web"
	"tributary/web/access"
	"tributary/web/compared"
	"tributary/web/order"
	"tributary/web/pages"
	"tributary/web/pages/pagestest"
)

// A shadow is watched, compared and promoted on its pages: they say what would change,
// refuse to promote before it is done and a second time, and ask why.
func TestAShadowIsComparedAndPromoted(t *testing.T) {
	pool := reporttest.Filled(t)
	if err := control.Migrate(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	r := shadowtest.New(t, pool)
	r.File("requested", shadowtest.Judged(shadowtest.Documents{"<b>": shadowtest.Refused(2), "c": shadowtest.Refused(1)}), shadowtest.Judged(shadowtest.Documents{"<b>": shadowtest.Valid(), "c": shadowtest.Refused(1)}))
	r.File("requested", shadowtest.Judged(shadowtest.Documents{"a": shadowtest.Refused(1)}), shadowtest.Judged(shadowtest.Documents{"a": shadowtest.Refused(1)}))
	is := pagestest.Site(t, pool)
	is.Shadows = compared.New(pool, func(context.Context, bool) (*shadow.Comparer, func(), error) {
		return &shadow.Comparer{Control: pool, Tracker: pool, Warehouse: pool, Mapping: is.Mapping, Versions: shadowtest.Profile(t), Codec: r.Codec}, func() {}, nil
	}, 1)
	is.ReplayTold = func(ctx context.Context, name string) (*replay.Status, error) {
		run, err := control.ReadReplayRun(ctx, pool, name)
		if err != nil {
			return nil, err
		}
		return replay.ReadStatus(ctx, pool, &run)
	}
	is.Replays = func(ctx context.Context, _ int) ([]*replay.Status, error) {
		one, err := is.ReplayTold(ctx, "try")
		return []*replay.Status{one}, err
	}
	is.Orders = order.New(order.Deps{Control: pool, Tracker: pool, Outbox: outbox.Outbox{Schema: control.Schema, Codec: r.Codec}, Shadows: is.Shadows, Run: func(bool) (*control.ReplayRun, error) {
		return &control.ReplayRun{ID: uuid.NewString(), Versions: []byte(shadowtest.Versions)}, nil
	}})
	site, err := pages.New(is)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(web.New(web.Config{Prefix: "/t"}, web.Deps{Guard: as{Name: "ann", Role: access.Wrangler}, Routes: site.Routes(), Static: fstest.MapFS{}, Log: slog.New(slog.DiscardHandler)}).Handler())
	t.Cleanup(server.Close)

	answers(t, server, "/replays", http.StatusOK, `<a href="/t/replays/1">1</a>`)
	answers(t, server, "/replays/1", http.StatusOK, "The shadow try is under way: 2 of 2 have ended.", "/t/replays/1/compare", "tributary replay show 1")
	answers(t, server, "/replays/7", http.StatusNotFound, "there is no such replay")
	for _, path := range []string{"/replays/%00", "/replays/%ff", "/replays/%00/compare"} {
		answers(t, server, path, http.StatusNotFound, "There is nothing here.")
	}
	answers(t, server, "/replays/7/compare", http.StatusNotFound, "there is no such replay")
	answers(t, server, "/replays/try/compare?after=x", http.StatusBadRequest, "after is the number")
	answers(t, server, "/replays/try/compare?as_of=1h", http.StatusBadRequest, "")
	answers(t, server, "/replays/try/compare", http.StatusOK, "1 of the 3 documents of the shadow would change.", "the shadow is running: 0 files have not ended", "tributary replay compare 1")
	if _, body := get(t, server, "/replays/1/compare?after=1"); strings.Contains(body, "f1.zip") || strings.Contains(body, "By exception") || !strings.Contains(body, "None more.") {
		t.Errorf("the part after the file:\n%s", body)
	}
	answers(t, server, "/replays/try/promote", http.StatusOK, "It is refused:", "the shadow is not done")
	r.Exec("UPDATE control.replay SET state = 'done' WHERE shadow = 'try'")
	answers(t, server, "/replays/1", http.StatusOK, "nothing of it is live. Compare it", `href="/t/replays/1/promote">Promote shadow …`)
	answers(t, server, "/replays/1/promote", http.StatusOK, "of H, 1 files with 0 documents are processed again from unzip", "1 newly refused")
	for _, c := range []struct {
		form   url.Values
		status int
		want   string
	}{
		{nil, http.StatusBadRequest, "say why"},
		{url.Values{"reason": {"agreed"}}, http.StatusBadRequest, "what was typed to confirm it is not try"},
		{url.Values{"reason": {"agreed"}, "confirm": {"try"}}, http.StatusSeeOther, ""},
		{url.Values{"reason": {"agreed"}, "confirm": {"try"}}, http.StatusConflict, "by replay 2: it was promoted before"},
	} {
		if answer, body := send(t, server, "/replays/try/promote", c.form); answer.StatusCode != c.status || !strings.Contains(body, c.want) {
			t.Errorf("promote %v: %d, want %d and %q\n%s", c.form, answer.StatusCode, c.status, c.want, body)
		}
	}
	runs, err := control.ReplayRuns(t.Context(), pool, 0)
	if err != nil || len(runs) != 2 || runs[0].By != "ann" || runs[0].Reason != "agreed" || runs[0].Promotes != r.Asked.ID || runs[0].Phase != schemas.FromUnzip {
		t.Errorf("asked for: %+v, %v", runs, err)
	}
	answers(t, server, "/replays/try", http.StatusOK, "was made live by replay 2.")
	if _, body := get(t, server, "/replays/try"); strings.Contains(body, `/promote"`) {
		t.Error("a shadow that is promoted is offered to be promoted")
	}
}

// Who compares takes a place of few, and says so where there is none.
func TestComparingIsBounded(t *testing.T) {
	r := compared.New(nil, func(context.Context, bool) (*shadow.Comparer, func(), error) { return nil, func() {}, nil }, 1)
	err := r.With(t.Context(), false, func(*shadow.Comparer) error {
		return r.With(t.Context(), true, func(*shadow.Comparer) error { return nil })
	})
	if !errors.Is(err, compared.ErrBusy) {
		t.Errorf("two at once: %v", err)
	}
	if err := r.With(t.Context(), false, func(*shadow.Comparer) error { return nil }); err != nil {
		t.Errorf("after the first: %v", err)
	}
}
