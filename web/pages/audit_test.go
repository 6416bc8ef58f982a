package pages_test

import (
	"html"
	"net/http"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
	"tributary/queries/report/reporttest"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/web/access"
	"tributary/web/pages/pagestest"
)

// Who ordered what, the newest first, with what it is about; who changed accounts is for
// operators, and readers see nothing of it.
func TestAudit(t *testing.T) {
	pool := reporttest.Filled(t)
	by := func(who, why string, more ...string) map[string]string {
		m := map[string]string{"by": who, "reason": why}
		for i := 0; i < len(more); i += 2 {
			m[more[i]] = more[i+1]
		}
		return m
	}
	ref := schemas.FileRef{File: schemas.FileID("add", reporttest.GoodZip), FileName: reporttest.GoodZip, Action: "add"}
	const entry = "H.2012-10-02.1.specimen.impc.xml"
	reporttest.Add(t, pool,
		schemas.StatusChanged{Entity: schemas.EntitySource, Scope: schemas.Scope{Centre: "H", Source: "harwell"}, Revision: 1, Message: "changed by ann: slower", Attributes: by("ann", "slower", "changed", "interval: 1h → 2h", "state", "available")},
		schemas.StatusChanged{Entity: schemas.EntityFile, FileRef: ref, Note: "held", Message: "held by ben: " + reporttest.HostileText, Attributes: by("ben", reporttest.HostileText)},
		schemas.StatusChanged{Entity: schemas.EntityQuality, FileRef: ref, DocumentRef: schemas.DocumentRef{Entry: entry, SHA256: "aa"}, Note: "questioned", Revision: 1, Attributes: by("will", "")},
		schemas.StatusChanged{Entity: schemas.EntityCentre, Scope: schemas.Scope{Centre: "H"}, Message: "changed by eve", Attributes: by("eve", strings.Repeat("long ", 800)+"end")},
		schemas.StatusChanged{Entity: schemas.EntityReplay, Scope: schemas.Scope{Run: "00000000-0000-4000-8000-00000000000a"}, Number: 3, Note: schemas.ReplayRequested, Status: "running", Attributes: by("will", "again", "from", "xsd")},
		schemas.StatusChanged{Entity: schemas.EntityMember, Message: "told to stop by olga: upgrade", Attributes: by("olga", "upgrade", "member", "m1", "roles", "poll")})
	if err := control.Migrate(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	if err := pg.InTx(t.Context(), pool, func(tx pgx.Tx) error {
		return control.NoteAccountChange(t.Context(), tx, control.AccountChange{ChangedAt: reporttest.Start(), ChangedBy: "olga", Subject: "token:nightly", What: "revoked", Reason: reporttest.HostileText})
	}); err != nil {
		t.Fatal(err)
	}
	s := pagestest.Site(t, pool)
	s.Control = pool
	operator, wrangler, reader := servedTo(t, s, access.Operator), servedTo(t, s, access.Wrangler), servedTo(t, s, access.Reader)
	good := "/t/files/add/" + reporttest.GoodZip
	answers(t, operator, "/audit", http.StatusOK, "The last order was given by olga, ", `aria-current="page">Audit log`, `<a href="/t/audit?by=ben"><bdi>ben</bdi></a>`,
		`<a href="/t/sources/harwell"><bdi>harwell</bdi></a>`, "interval: 1h → 2h", `<a href="`+good+`"><bdi>add/`+reporttest.GoodZip+`</bdi></a>`, "⟨U&#43;202E⟩exe.txt",
		`<a href="`+good+`/documents/`+entry+`">`, `<a href="/t/replays/3"><bdi>3</bdi></a>`, "from xsd", "told to stop", "token:nightly", "tributary audit</code>", `<a href="/t/audit?kind=dead_letter">`)
	answers(t, operator, "/audit?by=will&kind=document&since=1d", http.StatusOK, "The last of these orders was given by will", "tributary audit --by will --kind document --since 1d", `href="/t/audit?by=will&amp;since=1d"`)
	answers(t, operator, "/audit?q=NIGHTLY&kind=account", http.StatusOK, "revoked")
	_, page := get(t, operator, "/audit?by=eve")
	if begin, whole, more := strings.Cut(page, "…</bdi><details"); !more || strings.Count(begin, "long ") != 60 || strings.Count(whole, "long ") != 800 || !has(whole, "end</bdi></details>") {
		t.Errorf("a long reason:\n%s", page)
	}
	answers(t, operator, "/audit?by=nobody", http.StatusOK, "Nobody has ordered such a thing.")
	answers(t, wrangler, "/audit", http.StatusOK, "told to stop")
	if _, body := get(t, wrangler, "/audit"); has(body, "nightly") || has(body, "kind=account") {
		t.Error("a wrangler sees who changed accounts")
	}
	if status, body := get(t, reader, "/audit"); status != http.StatusForbidden || has(body, "olga") {
		t.Errorf("a reader: %d", status)
	}
	if _, body := get(t, reader, "/files"); has(body, "/t/audit") {
		t.Error("a reader is led to the audit log")
	}
	answers(t, operator, "/audit?kind=wish", http.StatusBadRequest, "there is none of that name")
	answers(t, operator, "/audit?after=x", http.StatusBadRequest, "begin with the first one")
	answers(t, operator, "/audit?as_of=1h", http.StatusBadRequest, "can&#39;t be shown as of a moment")
	answers(t, servedTo(t, pagestest.Site(t, reporttest.Told(t, nil)), access.Operator), "/audit", http.StatusOK, "Nobody has ordered anything yet.")
}

// The list goes on page by page.
func TestAuditPages(t *testing.T) {
	pool := reporttest.Told(t, nil)
	if _, err := pool.Exec(t.Context(), `INSERT INTO tracker.ordered (id, ordered_at, ordered_by, kind, subject, what)
		SELECT md5(i::text)::uuid, '2026-11-21T10:00:00Z'::timestamptz - i * interval '1 second', 'ann', 'source', 'no' || i || '.', 'resumed' FROM generate_series(0, 50) i`); err != nil {
		t.Fatal(err)
	}
	server := servedTo(t, pagestest.Site(t, pool), access.Wrangler)
	_, first := get(t, server, "/audit?by=ann")
	next := between(first, `<a class="btn" href="/t`, `"`)
	if !has(first, "no49.") || has(first, "no50.") || !has(next, "/audit?after=") {
		t.Errorf("the first page leads to %q", next)
	}
	answers(t, server, next, http.StatusOK, "no50.", "What was ordered before 21 Nov 2026, 09:59:10 UTC.", "This is the last page", `href="/t/audit?by=ann">First page`)
}

func has(body, part string) bool { return strings.Contains(body, part) }

// between is the text between two others, as an attribute says it.
func between(body, begin, end string) string {
	_, after, _ := strings.Cut(body, begin)
	text, _, _ := strings.Cut(after, end)
	return html.UnescapeString(text)
}
