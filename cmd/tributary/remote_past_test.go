//go:build !race

package main

import (
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/queries/report/reporttest"
	"tributary/web"
	"tributary/web/access"
	"tributary/web/live"
)

// Of a moment a server tells what it told then, and how far its history goes, where the
// command says so that asks the stores.
func TestServerTellsThePast(t *testing.T) {
	a := pagesOf(t)
	pool := reporttest.Filled(t)
	a.stores.Tracker, a.stores.ClickHouse = pool, reporttest.History(t)
	token, err := access.Accounts{Pool: a.stores.Control, Now: now}.AddToken(t.Context(), access.Person{Name: "monitor", Role: access.Reader}, time.Hour, access.Order{By: "test"})
	if err != nil {
		t.Fatal(err)
	}
	deps, err := a.serves(live.New(live.Config{}, live.Deps{Position: a.stands(), Log: slog.New(slog.DiscardHandler)}))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(web.New(web.Config{}, deps).Handler())
	t.Cleanup(server.Close)
	const at = "2026-11-21T10:00:08.5Z"
	for _, c := range []struct {
		line string
		code int
		out  string // what stdout has, and stderr
		errs string
	}{
		{"files --as-of " + at, exitOK, "as of " + at + ", from the history", ""},
		{"files -o csv --as-of " + at, exitOK, "," + at, "as of " + at},
		{"files -o json --as-of " + at, exitOK, `"as_of":"` + at + `"`, "as of " + at},
		{"documents --as-of " + at, exitOK, "as of " + at, ""},
		{"status --as-of " + at, exitOK, "as of " + at, ""},
		{"show " + reporttest.GoodZip + " --as-of " + at, exitOK, "as of " + at, ""},
		{"show " + reporttest.BrokenZip + " --as-of " + at, exitFailed, "", "list those known"},
		{"status --as-of tomorrow", exitUsage, "", "--as-of"},
		{"status --as-of 2026-11-20", exitFailed, "", "the history begins at"},
	} {
		code, out, errs := remotely(t, []string{envToken + "=" + token}, append(strings.Fields(c.line), "--server", server.URL)...)
		if code != c.code || !strings.Contains(out, c.out) || !strings.Contains(errs, c.errs) || strings.Contains(out, "2999") {
			t.Errorf("tributary %s: %d %s%s", c.line, code, out, errs)
		}
		if c.code == exitOK && strings.Count(out+errs, "from the history") != 1 {
			t.Errorf("tributary %s: how far the history goes is not said once: %s", c.line, cmp.Diff("", out+errs))
		}
	}
}
