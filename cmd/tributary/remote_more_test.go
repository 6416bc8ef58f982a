//go:build !race

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tributary/internal/centres"
	"tributary/internal/pg"
	"tributary/queries/report/reporttest"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/web/access"
)

// tokenOf is a token with a role.
func (w *world) tokenOf(t *testing.T, role access.Role, centre string) string {
	t.Helper()
	token, err := access.Accounts{Pool: w.pool, Now: now}.AddToken(t.Context(), access.Person{Name: role.String(), Role: role, Centre: centre}, time.Hour, access.Order{By: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// centre lets control know the centre whose files the story tells of.
func (w *world) centre(t *testing.T) {
	t.Helper()
	if err := pg.InTx(t.Context(), w.pool, func(tx pgx.Tx) error {
		_, err := control.PutCentre(t.Context(), tx, centres.Centre{ShortName: "H", FullName: "MRC Harwell", Active: true}, 1)
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// asked runs a line where the stores are, and by a server with a token.
func (w *world) asked(t *testing.T, token, line string) (beside, byServer []any) {
	t.Helper()
	code, out, errs := tributary(t, w.config, strings.Fields(line)...)
	rcode, rout, rerrs := remotely(t, []string{envToken + "=" + token}, append(strings.Fields(line), "--server", w.server.URL+"/t/", "--ca-file", w.ca)...)
	return []any{code, out, errs}, []any{rcode, rout, rerrs}
}

// Commands that tell how things are defined, and that only try, print the same, whether they
// ask the stores or a server.
func TestServerAnswersTheSameToOperators(t *testing.T) {
	w := newWorld(t)
	operator := w.tokenOf(t, access.Operator, "")
	if _, err := w.pool.Exec(t.Context(), "INSERT INTO control.file (id, action, name, held_at, held_by, held_why) VALUES ($1, 'add', $2, '2026-11-21T10:00:00Z', 'ada', 'mice')", schemas.FileID("add", reporttest.GoodZip), reporttest.GoodZip); err != nil {
		t.Fatal(err)
	}
	w.centre(t)
	if _, err := w.pool.Exec(t.Context(), "UPDATE control.source SET ignored = 2"); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := tributary(t, w.config, "sources", "add", "folder", "centre=H", "url=file://"+t.TempDir()); code != exitOK {
		t.Fatal(code, out, errs)
	}
	document := "add/" + reporttest.GoodZip + "/H.2012-10-02.1.experiment.impc.xml"
	loaded := "add/" + reporttest.GoodZip + "/H.2012-10-02.1.specimen.impc.xml"
	varies := regexp.MustCompile(`"ms":\d+|\(\d+ ms\)|\d+ ms|as of \S+|\d\d:\d\d:\d\d\S*`)
	for _, line := range []string{
		"centres find har", "centres find h nowhere -o json", "centres show H", "centres show h -o json", "centres show nobody", "centres export", "centres export H J", "centres export nobody",
		"centres links", "centres links H -o json", "centres report H", "centres report h -o html --errors 1", "centres report nobody", "centres report H --since soon",
		"sources expect", "sources expect harwell -o json", "sources expect nowhere", "sources expect --strict -o csv", "files held", "files held -o json",
		"sources export", "sources export harwell", "sources export nowhere", "sources check folder", "sources check folder -o json",
		"sources test-filter harwell", "sources test-filter harwell filters=[{exclude:*.tmp}] -o json", "sources test-filter harwell min_size=1kB max_age=48h", "sources test-filter harwell latest_only=true done_file=*.ok", "sources test-filter harwell min_size=1kB max_size=1", "sources test-filter nowhere", "sources test-filter harwell filters=[{colour:red}]",
		"files announce folder add/none.zip", "files announce folder add/none.zip x -o json --reason mice", "files announce nowhere add/none.zip", "sources apply -f nothing.yaml", "centres apply",
		"documents show " + document, "documents show " + document + " -o json", "documents show add/none.zip/a.xml", "documents show none",
		"documents qc accept " + loaded + " --dry-run", "documents qc hold " + loaded + " --reason mice --dry-run -o json", "documents qc question " + document + " --reason mice", "documents qc hold " + loaded, "documents qc accept add/none.zip/a.xml",
		"dlq retry insert:0:5 --dry-run", "dlq retry insert:0:5 --dry-run -o json", "dlq retry insert:0:6", "dlq retry x", "dlq retry --where state=failed", "dlq drop --where centre=none --reason r", "dlq drop insert:0:5",
		"sql --store tracker SELECT/**/file,action/**/FROM/**/file/**/ORDER/**/BY/**/1,2", "sql --store tracker SELECT/**/1/**/AS/**/one,NULL/**/AS/**/two -o json", "sql --store warehouse SELECT/**/'=1'/**/AS/**/a -o csv --escape-formulas",
		"sql --store tracker DROP/**/TABLE/**/file", "sql --store tracker SELECT/**/nothing", "sql --store attic SELECT/**/1",
		"replay --stale --dry-run", "replay --stale --dry-run -o json", "replay --stale --from data --dry-run", "replay --stale --where file='none' --dry-run -o json", "replay --stale --where file='none'", "report", "report -o json", "report rejected --since soon", "report nothing", "diff",
	} {
		beside, byServer := w.asked(t, operator, line)
		for _, said := range [][]any{beside, byServer} {
			for i := 1; i < len(said); i++ {
				text, _ := said[i].(string)
				said[i] = varies.ReplaceAllString(text, "VARIES")
			}
		}
		if d := cmp.Diff(beside, byServer); d != "" {
			t.Errorf("tributary %s (-stores +server):\n%s", line, d)
		}
	}
	for _, line := range []string{"sql --store tracker --timeout 1s SELECT/**/1", "report rejected --timeout 1s", "report rejected --explain", "diff --from 1h --max-events 1", "sources check -f x.yaml", "sources check folder --timeout 1s", "files announce folder add/none.zip --timeout 1s", "sources apply"} {
		if _, said := w.asked(t, operator, line); said[0] != exitUsage || !strings.Contains(said[2].(string), "without --server") && !strings.Contains(said[2].(string), "with --server") {
			t.Errorf("tributary %s: %v", line, said)
		}
	}
}

// Questions to the history are answered by a server as where the stores are, and those to
// which it has no answer are refused with the same exit codes.
func TestServerTellsFromTheHistory(t *testing.T) {
	w := newWorldOf(t, reporttest.History(t))
	for _, c := range []struct {
		line string
		code int
		says string
	}{
		{"sql --store history SELECT/**/count()/**/AS/**/n/**/FROM/**/event -o csv", exitOK, "n\n"},
		{"report rejected --centre H -o csv", exitOK, "rank,centre,"},
		{"report rejected --centre H -o json", exitOK, ""},
		{"report rejected --centre nobody", exitUsage, "nobody"},
		{"report throughput --plot", exitOK, ""},
		{"diff --from 2026-11-21T10:00:08.5Z --to 2026-11-21T10:00:16.5Z", exitOK, "from the history"},
		{"diff --from 2026-11-21T10:00:08.5Z --to 2026-11-21T10:00:16.5Z -o json", exitOK, `"change":"moved"`},
		{"diff --from 2026-11-21T10:00:08.5Z --to 2026-11-21T10:00:16.5Z -o json --limit 1", exitOK, `"filled_until":"2026-11-21T10:00:2`},
		{"diff --from 2026-11-21T10:00:08.5Z --centre nobody", exitUsage, "nobody"},
		{"diff --from 2026-11-20T10:00:00Z --to 2026-11-20T11:00:00Z", exitFailed, "the history begins at"},
		{"documents show add/" + reporttest.GoodZip + "/H.2012-10-02.1.experiment.impc.xml --as-of 2026-11-21T10:00:20Z", exitOK, "as of 2026-11-21T10:00:20Z"},
	} {
		code, out, errs := remotely(t, []string{envToken + "=" + w.token}, append(strings.Fields(c.line), "--server", w.server.URL+"/t/", "--ca-file", w.ca)...)
		if code != c.code || !strings.Contains(out+errs, c.says) {
			t.Errorf("tributary %s: %d %s%s, want %d and %q", c.line, code, out, errs, c.code, c.says)
		}
		if strings.HasSuffix(c.line, "--limit 1") && strings.Count(out, "\n") != 2 {
			t.Errorf("tributary %s: %s", c.line, out)
		}
	}
}

// What no server can do is refused by name.
func TestCommandsThatAskNoServer(t *testing.T) {
	for _, line := range []string{"up", "serve", "run plan", "engines", "warehouse rebuild", "tracker verify"} {
		code, _, errs := remotely(t, nil, append(strings.Fields(line), "--server", "https://tracker.example.org")...)
		if code != exitUsage || !strings.Contains(errs, "asks no server") {
			t.Errorf("tributary %s: %d %s", line, code, errs)
		}
	}
}

// What people define and decide is done by a server with the words that are said where the
// stores are, by whom the token is.
func TestServerDefinesAndDecides(t *testing.T) {
	w := newWorld(t)
	tokens := map[access.Role]string{access.Reader: w.token, access.Wrangler: w.tokenOf(t, access.Wrangler, ""), access.Operator: w.tokenOf(t, access.Operator, "")}
	file := filepath.Join(t.TempDir(), "many.yaml")
	if err := os.WriteFile(file, []byte("centres: [{short_name: Zzz}]\nsources:\n- {id: many, centre: Zzz, url: 'file:///in'}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := w.pool.Exec(t.Context(), "UPDATE control.source SET state = 'suspended'"); err != nil {
		t.Fatal(err)
	}
	w.centre(t)
	stands := func(state string) {
		reporttest.Add(t, w.pool, schemas.StatusChanged{Entity: schemas.EntitySource, Scope: schemas.Scope{Centre: "H", Source: "harwell"}, Attributes: map[string]string{"state": state}})
	}
	stands("suspended")
	loaded := "add/" + reporttest.GoodZip + "/H.2012-10-02.1.specimen.impc.xml"
	for _, c := range []struct {
		role access.Role
		line string
		code int
		says string
	}{
		{access.Wrangler, "centres add Yyy", exitFailed, "a wrangler"},
		{access.Operator, "centres add Yyy full_name=The_Y:_1 --reason new -o csv", exitOK, "Yyy,added,"},
		{access.Operator, "centres add Yyy", exitUsage, "Yyy"},
		{access.Operator, "centres edit Yyy full_name= active=false -o json", exitOK, `"centre":"Yyy","done":"changed"`},
		{access.Operator, "centres edit Yyy colour=red", exitUsage, "colour"},
		{access.Operator, "centres show yyy", exitOK, "active: false"},
		{access.Operator, "centres remove Yyy --reason over -o csv", exitOK, "Yyy,removed,"},
		{access.Operator, "centres remove Yyy", exitUsage, "there is no such centre"},
		{access.Operator, "sources apply -f " + file + " --dry-run -o csv", exitOK, "many,added,"},
		{access.Operator, "sources show many", exitUsage, "many"},
		{access.Operator, "sources apply -f " + file + " --reason many -o csv", exitOK, "centre Zzz,added,"},
		{access.Operator, "sources apply -f " + file + " -o csv", exitOK, "many,unchanged,"},
		{access.Operator, "centres apply -f " + file, exitUsage, "lists sources too"},
		{access.Reader, "sources apply -f " + file, exitFailed, "a reader"},
		{access.Reader, "centres link H", exitFailed, "a reader"},
		{access.Wrangler, "centres link nobody", exitUsage, "nobody"},
		{access.Wrangler, "centres link H --expires 2d --reason pat", exitOK, access.CentrePath + "/"},
		{access.Wrangler, "centres links h -o csv", exitOK, "1,H,token:wrangler,"},
		{access.Wrangler, "centres unlink 1 --reason gone -o csv", exitOK, "centre-link:1,link revoked: H"},
		{access.Wrangler, "centres unlink 1", exitUsage, "it was revoked"},
		{access.Wrangler, "centres unlink 9", exitUsage, "no number of a link"},
		{access.Operator, "sources resume --all -o csv", exitOK, "harwell,true,"},
		{access.Operator, "sources resume --all -o csv", exitOK, "source,resumed,detail\n"},
		{access.Reader, "dlq drop insert:0:5 --reason r", exitFailed, "a reader"},
		{access.Wrangler, "dlq drop --where centre=J --reason r -o csv", exitOK, "insert:0:5,"},
		{access.Wrangler, "dlq drop --where centre=J --reason r", exitOK, "0 dead letters of 0 files dropped, 0 refused"},
		{access.Wrangler, "dlq retry insert:0:5", exitFailed, "1 refused"},
		{access.Reader, "documents qc accept " + loaded, exitFailed, "a reader"},
	} {
		code, out, errs := remotely(t, []string{envToken + "=" + tokens[c.role]}, append(strings.Fields(c.line), "--server", w.server.URL+"/t/", "--ca-file", w.ca)...)
		if said := out + errs; code != c.code || !strings.Contains(said, c.says) {
			t.Errorf("%s: %d %s, want %d and %q", c.line, code, said, c.code, c.says)
		}
		if c.line == "sources resume --all -o csv" { // told to the tracker, which no role does here
			stands("available")
		}
	}
}

// A centre is told of what is its own by its link, by a producer's token, and beside the
// stores, in the same words; its link is named nowhere.
func TestOwnByLink(t *testing.T) {
	w := newWorld(t)
	w.centre(t)
	code, path, errs := tributary(t, w.config, "centres", "link", "H", "--reason", "pat")
	if code != exitOK {
		t.Fatal(code, errs)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.WriteFile(link, []byte(w.server.URL+"/t"+path), 0o600); err != nil {
		t.Fatal(err)
	}
	good := "add/" + reporttest.GoodZip
	producer := w.tokenOf(t, access.Producer, "H")
	for _, line := range []string{
		"own", "own -o json", "own --week 2020-W01", "own files", "own files -o json", "own files --limit 1 -o csv", "own files --status done --q " + reporttest.GoodZip[:3], "own documents", "own documents --exception xsd_invalid -o json",
		"own show " + good, "own show " + good + " -o json", "own show " + good + "/H.2012-10-02.1.experiment.impc.xml", "own show " + good + "/none.xml", "own show add/none.zip", "own show none",
	} {
		code, out, errs := tributary(t, w.config, append(strings.Fields(line), "--centre", "H")...)
		want := []any{code, out, errs}
		code, out, errs = remotely(t, nil, append(strings.Fields(line), "--link-file", link, "--ca-file", w.ca)...)
		if d := cmp.Diff(want, []any{code, out, errs}); d != "" {
			t.Errorf("tributary %s (-stores +link):\n%s", line, d)
		}
		code, out, errs = remotely(t, []string{envToken + "=" + producer}, append(strings.Fields(line), "--server", w.server.URL+"/t", "--ca-file", w.ca)...)
		if d := cmp.Diff(want, []any{code, out, errs}); d != "" {
			t.Errorf("tributary %s (-stores +token):\n%s", line, d)
		}
	}
	if code, _, errs := remotely(t, []string{envToken + "=" + producer}, "files", "--server", w.server.URL+"/t", "--ca-file", w.ca); code != exitFailed || !strings.Contains(errs, "a producer") {
		t.Errorf("a producer lists all files: %d %s", code, errs)
	}
	secret := strings.TrimPrefix(strings.TrimSpace(path), access.CentrePath+"/")
	for _, c := range []struct {
		text string // of the link's file
		args []string
		code int
		says string
	}{
		{"", []string{"own"}, exitUsage, "whose?"},
		{w.server.URL + "/t" + path, []string{"own", "--link-file", link, "--centre", "H"}, exitUsage, "--centre goes without a server"},
		{w.server.URL + "/t" + path, []string{"own", "--link-file", link, "--server", w.server.URL}, exitUsage, "leave out --server"},
		{w.server.URL + "/t", []string{"own", "--link-file", link}, exitUsage, "this is no centre's link"},
		{"http://tracker.example.org" + path, []string{"own", "--link-file", link}, exitUsage, "would be read on the way"},
		{w.server.URL + "/t" + path, []string{"own", "--link-file", link}, exitFailed, "name it with --ca-file"},
		{"https://127.0.0.1:1" + path, []string{"own", "--link-file", link}, exitFailed, "can't be reached"},
		{w.server.URL + "/t/c/" + strings.Repeat("a", len(secret)), []string{"own", "--link-file", link, "--ca-file", w.ca}, exitFailed, "It has ended, was revoked, or was not copied whole"},
	} {
		if err := os.WriteFile(link, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		code, out, errs := remotely(t, nil, c.args...)
		if code != c.code || !strings.Contains(errs, c.says) || strings.Contains(out+errs, secret) {
			t.Errorf("%v %s: %d %s%s, want %d and %q", c.args, c.text, code, out, errs, c.code, c.says)
		}
	}
}
