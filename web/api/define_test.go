package api

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tributary/internal/config"
	"tributary/internal/profile"
	"tributary/producers/plan/plantest"
	"tributary/producers/sources"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/sql/outbox/outboxtest"
	"tributary/web/access"
	"tributary/web/order"
)

// Programs define sources and centres as people do, once for each key, and check them
// before.
func TestDefine(t *testing.T) {
	p := plantest.New(t)
	known, err := profile.Builtin("impc")
	if err != nil {
		t.Fatal(err)
	}
	cfg := config.Default()
	cfg.Path = filepath.Join(t.TempDir(), "tributary.yaml")
	deps := &order.Deps{Control: p.Pool, Outbox: p.Outbox, Checking: make(chan struct{}, 1), Log: slog.New(slog.DiscardHandler),
		Registry: &sources.Registry{Config: cfg, Profile: known, Outbox: p.Outbox, Now: func() time.Time { return p.Clock }, Options: config.Options{WithoutSourceSecrets: true}}}
	a := New(Deps{Control: p.Pool, Orders: order.New(*deps), Definitions: deps, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return p.Clock }})
	const announced = "H.2026-01-01.01.impc.zip"
	folder := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(folder, "add"), 0o755), os.WriteFile(filepath.Join(folder, "add", announced), []byte("zip"), 0o644)); err != nil {
		t.Fatal(err)
	}
	source := `{"id": "new", "keys": {"centre": "H", "url": "file://` + folder + `", "priority": 0, "hosts": ["J"], "description": "yes: \"no\""}, "reason": "moved"}`
	for i, c := range []struct {
		path, key, body string
		status          int
		want            string
	}{
		{"/sources", "", strings.Replace(source, `"reason"`, `"dry_run": true, "reason"`, 1), 200, `"done":"added"`},
		{"/sources/new/edit", "", `{"keys": {"priority": 3}}`, 400, "there is no such source"},
		{"/sources", "1", source, 200, `"done":"added"`},
		{"/sources", "1", source, 200, `"done":"added"`}, // as before
		{"/sources", "1", `{"id": "other", "keys": {}}`, 422, "/problems/key_used"},
		{"/sources", "2", source, 400, "there is such a source already"},
		{"/sources", "", `{"id": "x", "keys": {"colour": 1}}`, 400, "/problems/bad_order"},
		{"/sources", "", `{"keys": {"centre": "H"}}`, 422, "validation failed"},
		{"/sources/new/edit", "3", `{"keys": {"priority": null, "interval": "2h"}}`, 200, "interval: default"},
		{"/sources/new/edit", "", `{"keys": {"password": "hunter2"}}`, 400, "password"},
		{"/sources/new/check", "", `{}`, 200, `"passed":true`},
		{"/sources/new/check", "", `{"keys": {"url": "file:///nowhere/at/all"}}`, 200, `"passed":false`},
		{"/sources/none/check", "", `{}`, 400, "there is no such source"},
		{"/sources/new/test-filter", "", `{"keys": {"filters": [{"exclude": "*.tmp"}]}}`, 200, `"taken":true`},
		{"/sources/new/test-filter", "", `{"keys": {"min_size": "1kB", "max_age": "48h"}}`, 200, `{"filter":"min_size: 1kB","taken":false,"entries":0,"first":""},{"filter":"max_age: 48h",`},
		{"/sources/new/announce", "5", `{"paths": ["add/` + announced + `", "add/none.zip"], "reason": "mice"}`, 200, `[{"path":"add/` + announced + `","announced":true,"size":3,"detail":""},{"path":"add/none.zip","announced":false,`},
		{"/sources/new/announce", "5", `{"paths": ["add/` + announced + `", "add/none.zip"], "reason": "mice"}`, 200, `"announced":true`}, // as before
		{"/sources/new/announce", "", `{"paths": []}`, 422, "validation failed"},
		{"/sources/none/announce", "", `{"paths": ["add/a.zip"]}`, 400, "there is no such source"},
		{"/sources", "", `{"id": "away", "keys": {"centre": "H", "url": "http://127.0.0.1:1/"}}`, 200, `"done":"added"`},
		{"/sources/away/announce", "", `{"paths": ["add/a.zip"]}`, 409, "/problems/order_refused"},
		{"/sources/away/maintain", "", `{}`, 200, `"done":true`},
		{"/sources/away/announce", "", `{"paths": ["add/a.zip"]}`, 400, "away is maintenance, so nothing is fetched from it"},
		{"/sources/new/remove", "", `{"reason": "moved"}`, 200, "it is removed"},
		{"/sources/new/remove", "", `{}`, 409, "there is no such source"},
		{"/centres", "4", `{"id": "Zzz", "keys": {"full_name": "The \"Z\": 1", "active": false}}`, 200, `"done":"added"`},
		{"/centres/Zzz/edit", "", `{"keys": {"full_name": null, "active": true}}`, 200, `"done":"changed"`},
		{"/centres/Zzz/edit", "", `{"keys": {"email": ["a"]}}`, 400, "neither a text"},
		{"/centres/Zzz/remove", "", `{}`, 200, "it is removed"},
	} {
		status, text := sentText(t, a, "ann", c.path, c.key, c.body)
		if status != c.status || !strings.Contains(string(text), c.want) {
			t.Errorf("%d: %s %s: %d %s, want %d %s", i, c.path, c.body, status, text, c.status, c.want)
		}
	}
	ordered := 0
	for _, m := range outboxtest.Events(t, p.Pool, control.Schema, p.Outbox.Codec) {
		if e, ok := m.Body.(*schemas.StatusChanged); ok && e.Entity == schemas.EntityAnnouncement && e.Attributes["by"] == "ann" && e.Attributes["reason"] == "mice" && e.FileName == announced {
			ordered++
		}
	}
	if ordered != 1 {
		t.Errorf("%d events tell who announced the file, want 1", ordered)
	}
	all, err := control.Standings(t.Context(), p.Pool, "new")
	if err != nil || len(all) != 1 || all[0].State != control.SourceRemoved || !strings.Contains(all[0].Definition, `"interval": "2h`) || strings.Contains(all[0].Definition, "priority") || !strings.Contains(all[0].Definition, `yes: \"no\"`) {
		t.Errorf("%+v, %v", all, err)
	}
	// An edit says what it was made on: a second one of the same is told that it was overtaken.
	for path, body := range map[string]string{"/sources": strings.Replace(source, "new", "two", 1), "/centres": `{"id": "two", "keys": {}}`} {
		if status, text := sentText(t, a, "ann", path, "", body); status != 200 {
			t.Fatalf("%s: %d %s", path, status, text)
		}
	}
	for path, key := range map[string]string{"/sources/two": "description", "/centres/two": "full_name"} {
		etag := tagOf(t, a, path+"/definition")
		for i, c := range []struct {
			match, body string
			status      int
			want        string
		}{
			{"", `{"keys": {"%s": "a"}}`, 428, "/problems/match_required"},
			{"", `{"keys": {"%s": "a"}, "dry_run": true}`, 200, `"done":"changed"`},
			{etag, `{"keys": {"%s": "a"}, "dry_run": true}`, 200, `"done":"changed"`},
			{`"0"`, `{"keys": {"%s": "a"}}`, 412, "/problems/definition_changed"},
			{"W/" + etag, `{"keys": {"%s": "a"}}`, 412, "/problems/definition_changed"},
			{etag, `{"keys": {"%s": "a"}}`, 200, `"done":"changed"`},
			{etag, `{"keys": {"%s": "b"}}`, 412, "was defined otherwise meanwhile"},
			{"*", `{"keys": {"%s": "b"}}`, 200, `"done":"changed"`},
		} {
			if status, text := sentMatching(t, a, c.match, "ann", path+"/edit", "", fmt.Sprintf(c.body, key)); status != c.status || !strings.Contains(string(text), c.want) {
				t.Errorf("%s %d: %d %s, want %d %s", path, i, status, text, c.status, c.want)
			}
		}
		if tagOf(t, a, path+"/definition") == etag {
			t.Errorf("%s: another definition has the same tag", path)
		}
	}
	if tag := tagOf(t, a, "/sources/nowhere/definition"); tag != "" {
		t.Errorf("a source that is not there has the tag %s", tag)
	}
	deps.Checking <- struct{}{}
	if status, text := sentText(t, a, "ann", "/sources/own/check", "", `{"keys": {"centre": "H", "url": "file:///x"}}`); status != 503 || !strings.Contains(string(text), "/problems/busy") {
		t.Errorf("while others are checked: %d %s", status, text)
	}
	a = New(Deps{Control: p.Pool, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return p.Clock }})
	if status, text := sentText(t, a, "ann", "/sources", "", source); status != 503 || !strings.Contains(string(text), "/problems/not_here") {
		t.Errorf("where nobody defines: %d %s", status, text)
	}
}

// tagOf is the tag of a definition; empty where there is none, which must be a 404.
func tagOf(t *testing.T, a *API, path string) string {
	t.Helper()
	mux := http.NewServeMux()
	for _, r := range a.Routes() {
		mux.Handle(r.Pattern, r.Handler)
	}
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequestWithContext(access.With(t.Context(), access.Person{Name: "ann", Role: access.Operator}), http.MethodGet, "/api/v1"+path, nil))
	tag := w.Header().Get("ETag")
	if (w.Code == http.StatusOK) != (tag != "") || tag == "" && w.Code != http.StatusNotFound {
		t.Errorf("%s: %d with the tag %q\n%s", path, w.Code, tag, w.Body)
	}
	return tag
}

// Many are defined at once, all or none, and written out as they can be defined again.
func TestDefineMany(t *testing.T) {
	p := plantest.New(t)
	known, err := profile.Builtin("impc")
	if err != nil {
		t.Fatal(err)
	}
	cfg := config.Default()
	cfg.Path = filepath.Join(t.TempDir(), "tributary.yaml")
	deps := &order.Deps{Control: p.Pool, Outbox: p.Outbox,
		Registry: &sources.Registry{Config: cfg, Profile: known, Outbox: p.Outbox, Now: func() time.Time { return p.Clock }, Options: config.Options{WithoutSourceSecrets: true}}}
	a := New(Deps{Control: p.Pool, Orders: order.New(*deps), Definitions: deps, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return p.Clock }})
	const many = `"of": "sources", "text": "centres: [{short_name: Zzz}]\nsources:\n- {id: new, centre: Zzz, url: 'file:///in'}\n"`
	for i, c := range []struct {
		key, body string
		status    int
		want      string
	}{
		{"", `{` + many + `, "dry_run": true}`, 200, `"done":"added"`},
		{"1", `{` + many + `, "reason": "moved"}`, 200, `"source":"new"`},
		{"1", `{` + many + `, "reason": "moved"}`, 200, `"done":"added"`}, // as before
		{"1", `{"of": "sources", "text": "sources: []"}`, 422, "/problems/key_used"},
		{"", `{` + many + `}`, 200, `"done":"unchanged"`},
		{"", `{"of": "sources", "name": "my.yaml", "text": "sources:\n- {id: x, colour: 1}"}`, 400, "my.yaml:2"},
		{"", `{"of": "centres", "text": "centres: [{short_name: Yyy}]", "reason": "more"}`, 200, `"centre":"Yyy"`},
		{"", `{"of": "centres", "text": "sources:\n- {id: x, centre: H, url: 'file:///in'}"}`, 400, "lists sources too"},
		{"", `{"of": "files", "text": "x"}`, 422, "validation failed"},
		{"", `{"of": "sources", "text": "sources: []", "prune": true, "dry_run": true}`, 200, `"done":"removed"`},
	} {
		status, answer := sentText(t, a, "ann", "/definitions", c.key, c.body)
		if status != c.status || !strings.Contains(string(answer), c.want) {
			t.Errorf("%d: %s: %d %s, want %d %s", i, c.body, status, answer, c.status, c.want)
		}
	}
	server := served(t, a)
	for path, want := range map[string]string{
		"/definitions?of=sources&name=new": `{"text":"sources:\n`,
		"/definitions?of=centres":          "short_name: Yyy",
		"/definitions?of=sources&name=a":   `"type":"/problems/unknown_source"`,
		"/definitions":                     `"location":"query.of"`,
	} {
		if _, body := ask(t, server, base+path); !strings.Contains(string(body), want) {
			t.Errorf("%s: %s, want %s", path, body, want)
		}
	}
	if by := p.Text("SELECT count(*) FROM control.source WHERE id = 'new'"); by != "(1)" {
		t.Errorf("%s sources are new", by)
	}
}
