package pages_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"tributary/internal/config"
	"tributary/internal/profile"
	"tributary/producers/plan/plantest"
	"tributary/producers/sources"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/web"
	"tributary/web/access"
	"tributary/web/order"
	"tributary/web/pages"
)

// defining serves the forms by which a control's sources and centres are defined.
func defining(t *testing.T, p *plantest.Plane, role access.Role) *httptest.Server {
	t.Helper()
	known, err := profile.Builtin("impc")
	if err != nil {
		t.Fatal(err)
	}
	cfg := config.Default()
	cfg.Path = filepath.Join(t.TempDir(), "tributary.yaml")
	deps := &order.Deps{Control: p.Pool, Outbox: p.Outbox, Checking: make(chan struct{}, 1),
		Registry: &sources.Registry{Config: cfg, Profile: known, Outbox: p.Outbox, Now: func() time.Time { return p.Clock }, Options: config.Options{WithoutSourceSecrets: true}}}
	site, err := pages.New(pages.Site{Prefix: "/t", Name: "test", Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return p.Clock }, Orders: order.New(*deps), Definitions: deps})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(web.New(web.Config{Prefix: "/t"}, web.Deps{Guard: as{Name: "ann", Role: role}, Routes: site.Routes(), Static: fstest.MapFS{}, Log: slog.New(slog.DiscardHandler)}).Handler())
	t.Cleanup(server.Close)
	return server
}

// A source is defined by a form: tried first, refused with what is wrong, checked and its
// filters tried before anything is stored, and then in control with who did it and why.
func TestDefineSource(t *testing.T) {
	p := plantest.New(t)
	server := defining(t, p, access.Operator)
	standing := func(id string) string {
		t.Helper()
		all, err := control.Standings(t.Context(), p.Pool, id)
		if err != nil || len(all) == 0 {
			return fmt.Sprint(err)
		}
		return all[0].State + " " + all[0].Definition
	}
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "add"), 0o755); err != nil {
		t.Fatal(err)
	}
	this := func(more ...string) url.Values {
		form := url.Values{"id": {"new"}, "centre": {"H"}, "url": {"file://" + folder}, "reason": {"disks <b>moved</b>"}}
		for i := 0; i+1 < len(more); i += 2 {
			form.Set(more[i], more[i+1])
		}
		return form
	}
	answers(t, server, "/new/source", http.StatusOK, `name="filters"`, "a short name that stays", "tributary sources add SOURCE KEY=VALUE")
	for _, c := range []struct {
		path   string
		form   url.Values
		status int
		want   string
	}{
		{"/new/source", this(), http.StatusOK, "It would be added"},
		{"/new/source", this("description", `yes: "no" <script>alert(1)</script>`), http.StatusOK, "It would be added"},
		{"/new/source", this("hosts", "[J, {centre: Ics, actions: [add]}]"), http.StatusOK, "It would be added"},
		{"/new/source", this("url", "gopher://h/"), http.StatusBadRequest, "It is refused"},
		{"/new/source", this("centre", "<script>alert(1)</script>"), http.StatusBadRequest, "&lt;script&gt;alert(1)"},
		{"/new/source", this("url", "sftp://a:secret@h/x"), http.StatusBadRequest, "password"},
		{"/new/source", this("password", "hunter2"), http.StatusBadRequest, "password"},
		{"/new/source", this("filters", "[{"), http.StatusBadRequest, "filters can&#39;t be read"},
		{"/new/source", this("id", "own"), http.StatusBadRequest, "there is such a source already"},
		{"/new/source", this("id", ""), http.StatusBadRequest, "It is refused"},
		{"/new/source", this("do", "check"), http.StatusOK, "All of it works."},
		{"/new/source", this("do", "check", "url", "file:///nowhere/at/all"), http.StatusOK, "It fails there"},
		{"/new/source", this("do", "check", "interval", "often"), http.StatusBadRequest, "interval"},
		{"/sources/nowhere/edit", this(), http.StatusNotFound, "there is no such source"},
		{"/sources/%3Cscript%3Ealert(1)%3C%2Fscript%3E/edit", this(), http.StatusNotFound, "there is no such source"},
	} {
		answer, body := send(t, server, c.path, c.form)
		if answer.StatusCode != c.status || !strings.Contains(body, c.want) || strings.Contains(body, "<script>alert") {
			t.Errorf("%s %v: %d, want %d and %q\n%s", c.path, c.form, answer.StatusCode, c.status, c.want, body)
		}
	}
	if is := standing("new"); is != "<nil>" {
		t.Fatalf("trying has defined %s", is)
	}
	answer, body := send(t, server, "/new/source", this("do", "save", "priority", "0"))
	if answer.StatusCode != http.StatusSeeOther || !strings.Contains(standing("new"), `"priority": 0`) {
		t.Fatalf("%d: %s\n%s", answer.StatusCode, standing("new"), body)
	}
	told := false
	for _, m := range p.Drain() {
		if e, ok := m.Body.(*schemas.StatusChanged); ok && e.Source == "new" && e.Message == "added by ann: disks <b>moved</b>" {
			told = true
		}
	}
	if !told {
		t.Error("no event says who has added it, and why")
	}

	_, body = get(t, server, "/sources/new/edit")
	seen := regexp.MustCompile(`name="seen" value="([0-9a-f]+)"`).FindStringSubmatch(body)
	if seen == nil || !strings.Contains(body, "file://"+folder) {
		t.Fatalf("the form has not what is defined:\n%s", body)
	}
	edit := func(more ...string) url.Values { return this(append(more, "seen", seen[1], "priority", "0")...) }
	if _, body := send(t, server, "/sources/new/edit", edit()); !strings.Contains(body, "It would be unchanged") {
		t.Errorf("nothing changed:\n%s", body)
	}
	if _, body := send(t, server, "/sources/new/edit", edit("filters", `[{exclude: "*_test.zip"}]`)); !strings.Contains(body, "It would be changed</b>: <bdi>filters: default →") {
		t.Errorf("filters changed:\n%s", body)
	}
	if _, body := send(t, server, "/sources/new/edit", edit("filters", `[{exclude: "*_test.zip"}]`, "do", "filters")); !strings.Contains(body, "*_test.zip</bdi>") || !strings.Contains(body, "none fits") {
		t.Errorf("filters tried:\n%s", body)
	}
	p.Exec(`INSERT INTO control.file (id, name, action, centre, file_date, file_inc) SELECT gen_random_uuid(), 'H.2026-01-0' || n || '.1.impc.zip', 'add', 'H', ('2026-01-0' || n)::date, 1 FROM generate_series(1, 2) n`)
	p.Exec(`INSERT INTO control.hosting (source, file, action, name, look, size, listed_at, settled, state) SELECT 'new', id, action, name, 1, 1, now(), true, 'present' FROM control.file WHERE name LIKE 'H.2026-01-0_.1.%'`)
	p.Exec("UPDATE control.source SET ignored = 1 WHERE id = 'new'")
	if _, body := send(t, server, "/sources/new/edit", edit("latest_only", "true", "done_file", "*.ok", "do", "filters")); !strings.Contains(body, "H.2026-01-01.1.impc.zip</bdi>, left for <bdi>H.2026-01-02.1.impc.zip") || !strings.Contains(body, "not known: of what lies beside files") {
		t.Errorf("what else leaves files, tried:\n%s", body)
	}
	if answer, _ := send(t, server, "/sources/new/edit", edit("interval", "2h", "do", "save")); answer.StatusCode != http.StatusSeeOther || !strings.Contains(standing("new"), `"interval": "2h`) {
		t.Errorf("changed: %d %s", answer.StatusCode, standing("new"))
	}
	if answer, body := send(t, server, "/sources/new/edit", edit("interval", "3h", "do", "save")); answer.StatusCode != http.StatusBadRequest || !strings.Contains(body, "defined otherwise meanwhile") {
		t.Errorf("changed by another meanwhile: %d\n%s", answer.StatusCode, body)
	}
	answers(t, server, "/sources/new/remove", http.StatusOK, "it is removed", `To confirm it, type <bdi class="mono">new</bdi>`)
	if answer, body := send(t, server, "/sources/new/remove", url.Values{"reason": {"moved"}, "confirm": {"old"}}); answer.StatusCode != http.StatusBadRequest || !strings.Contains(body, "what was typed to confirm it is not new") || strings.HasPrefix(standing("new"), "removed") {
		t.Errorf("removed by a slip: %d %s\n%s", answer.StatusCode, standing("new"), body)
	}
	if answer, _ := send(t, server, "/sources/new/remove", url.Values{"reason": {"moved"}, "confirm": {"new"}}); answer.StatusCode != http.StatusSeeOther || !strings.HasPrefix(standing("new"), "removed") {
		t.Errorf("removed: %d %s", answer.StatusCode, standing("new"))
	}
}

// What the configuration declares is not changed on the pages, which say how it is; and
// only operators define anything.
func TestDefineDeclared(t *testing.T) {
	p := plantest.New(t)
	p.Exec("UPDATE control.source SET declared = true WHERE id = 'own'")
	server := defining(t, p, access.Operator)
	answers(t, server, "/sources/own/edit", http.StatusOK, "the configuration declares it", `value="check"`)
	if _, body := get(t, server, "/sources/own/edit"); strings.Contains(body, `value="try"`) {
		t.Errorf("it may be changed:\n%s", body)
	}
	if answer, body := send(t, server, "/sources/own/edit", url.Values{"centre": {"H"}, "url": {"file:///x"}, "do": {"save"}}); answer.StatusCode != http.StatusBadRequest || !strings.Contains(body, "the configuration declares it, and owns") {
		t.Errorf("%d\n%s", answer.StatusCode, body)
	}
	answers(t, server, "/sources/own/remove", http.StatusOK, "It is refused", "the configuration declares it")
	wrangler := defining(t, p, access.Wrangler)
	for _, path := range []string{"/new/source", "/new/centre", "/sources/own/edit", "/centres/H/edit", "/centres/H/remove"} {
		if answer, _ := send(t, wrangler, path, nil); answer.StatusCode != http.StatusForbidden {
			t.Errorf("%s by a wrangler: %d", path, answer.StatusCode)
		}
	}
}

// A centre is defined by the same form.
func TestDefineCentre(t *testing.T) {
	p := plantest.New(t)
	server := defining(t, p, access.Operator)
	form := url.Values{"id": {"Zzz"}, "full_name": {`The "Z" <b>centre</b>: 1`}, "email": {"z@example.org"}, "do": {"save"}}
	if answer, body := send(t, server, "/new/centre", form); answer.StatusCode != http.StatusSeeOther {
		t.Fatalf("%d\n%s", answer.StatusCode, body)
	}
	answers(t, server, "/centres/Zzz/edit", http.StatusOK, "The &#34;Z&#34; &lt;b&gt;centre&lt;/b&gt;: 1", "z@example.org")
	if answer, body := send(t, server, "/centres/Zzz/edit", url.Values{"email": {""}, "active": {"perhaps"}}); answer.StatusCode != http.StatusBadRequest || !strings.Contains(body, "active") {
		t.Errorf("%d\n%s", answer.StatusCode, body)
	}
	if answer, _ := send(t, server, "/centres/Zzz/edit", url.Values{"full_name": {"Z"}, "email": {""}, "active": {"false"}, "do": {"save"}}); answer.StatusCode != http.StatusSeeOther {
		t.Errorf("edit: %d", answer.StatusCode)
	}
	if is := p.Text("SELECT full_name, email, active FROM control.centre WHERE short_name = 'Zzz'"); is != `(Z,"",f)` {
		t.Errorf("it is %s", is)
	}
	if answer, _ := send(t, server, "/centres/Zzz/remove", nil); answer.StatusCode != http.StatusSeeOther {
		t.Errorf("remove: %d", answer.StatusCode)
	}
	answers(t, server, "/centres/H/remove", http.StatusOK, "It is refused")
}
