//go:build !race

package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/queries/report/reporttest"
	"tributary/schemas"
	"tributary/web/access"
)

// Sources and files are ordered about by a server with the words that are said where the
// stores are, and by whom the token is.
func TestServerOrders(t *testing.T) {
	w := newWorld(t)
	tokens := map[access.Role]string{}
	for _, role := range []access.Role{access.Wrangler, access.Operator} {
		token, err := access.Accounts{Pool: w.pool, Now: now}.AddToken(t.Context(), access.Person{Name: role.String(), Role: role}, time.Hour, access.Order{By: "test"})
		if err != nil {
			t.Fatal(err)
		}
		tokens[role] = token
	}
	if _, err := w.pool.Exec(t.Context(), "INSERT INTO control.file (id, action, name) VALUES ($1, 'add', $2)", schemas.FileID("add", reporttest.GoodZip), reporttest.GoodZip); err != nil {
		t.Fatal(err)
	}
	if _, err := w.pool.Exec(t.Context(), "WITH s AS (UPDATE control.source SET ignored = 2) INSERT INTO control.ignored (source, ordinal, directory, name, reason) VALUES ('harwell', 1, 'add', 'README', 'not_zip')"); err != nil {
		t.Fatal(err)
	}
	good := "add/" + reporttest.GoodZip
	for _, c := range []struct {
		role access.Role
		line string
		code int
		says string // =: the same as where the stores are
	}{
		{access.Wrangler, "sources maintain harwell", exitFailed, "a wrangler"},
		{access.Operator, "sources maintain harwell --until yesterday", exitUsage, "--until"},
		{access.Operator, "sources maintain harwell nowhere --until 6h --reason disks -o csv", exitOK, `harwell,true,"it is left alone until`},
		{access.Operator, "sources maintain harwell nowhere --until 6h -o csv", exitOK, "nowhere,false,"},
		{access.Operator, "sources poll harwell -o csv", exitOK, `harwell,false,"it is in maintenance`},
		{access.Operator, "sources resume --all -o csv", exitOK, "source,resumed,detail"},
		{access.Operator, "sources resume harwell -o json", exitOK, `"resumed":true,"source":"harwell"}`},
		{access.Operator, "sources poll harwell -o json", exitOK, `"due":true`},
		{access.Wrangler, "sources add new centre=H url=file:///srv/in", exitFailed, "a wrangler"},
		{access.Operator, "sources add new centre=H url=file:///srv/in max_sessions=2 hosts=[J] --reason more -o csv", exitOK, "new,added,"},
		{access.Operator, "sources add new centre=H url=file:///srv/in", exitUsage, "new"},
		{access.Operator, "sources add other centre", exitUsage, "is not KEY=VALUE"},
		{access.Operator, "sources add other centre=[ url=file:///srv/in", exitUsage, "centre"},
		{access.Operator, "sources edit new hosts=[Ucd] max_sessions= --update append -o csv", exitOK, "new,changed,"},
		{access.Operator, "sources edit new colour=red", exitUsage, "colour"},
		{access.Operator, "sources show new", exitOK, "Ucd"},
		{access.Operator, "sources remove new --reason over -o csv", exitOK, "new,removed,"},
		{access.Operator, "sources remove nowhere", exitUsage, "nowhere"},
		{access.Operator, "sources ignored harwell", exitOK, "="},
		{access.Operator, "sources ignored -o json", exitOK, `"name":"README"`},
		{access.Operator, "sources ignored nowhere", exitUsage, "nowhere"},
		{access.Wrangler, "files hold " + good + " --dry-run", exitOK, "true"},
		{access.Wrangler, "files hold " + reporttest.GoodZip + " --reason mice -o csv", exitOK, good + ",true,"},
		{access.Wrangler, "files hold " + good + " -o csv", exitFailed, "it is held already: held by token:wrangler: mice"},
		{access.Wrangler, "files retry " + good, exitFailed, "it is held"},
		{access.Wrangler, "files priority " + good + " 9", exitFailed, "it is held"},
		{access.Wrangler, "files priority " + good + " 10", exitUsage, "it is a number from 0"},
		{access.Wrangler, "files cancel " + good, exitFailed, "="},
		{access.Wrangler, "files release " + good + " --reason again -o json", exitOK, `"done":true`},
		{access.Wrangler, "files release " + good, exitFailed, "="},
		{access.Wrangler, "files release add/none.zip", exitFailed, "="},
		{access.Wrangler, "files release none.zip", exitFailed, "knows no such file"},
		{access.Wrangler, "files release no*.zip", exitFailed, "knows no such file"},
	} {
		code, out, errs := remotely(t, []string{envToken + "=" + tokens[c.role]}, append(strings.Fields(c.line), "--server", w.server.URL+"/t/", "--ca-file", w.ca)...)
		if c.says == "=" {
			lcode, lout, lerrs := tributary(t, w.config, strings.Fields(c.line)...)
			if d := cmp.Diff([]any{lcode, lout, lerrs}, []any{code, out, errs}); d != "" {
				t.Errorf("%s (-stores +server):\n%s", c.line, d)
			}
			continue
		}
		if said := out + errs; code != c.code || !strings.Contains(said, c.says) {
			t.Errorf("%s: %d %s, want %d and %q", c.line, code, said, c.code, c.says)
		}
	}
}
