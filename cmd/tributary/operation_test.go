//go:build !race

package main

import (
	"archive/zip"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"tributary/internal/config"
	"tributary/internal/engine"
	"tributary/internal/engine/enginetest"
	"tributary/queries/lineage"
)

// mice is a specimen document with mice of the given strain.
func mice(strain string, ids ...string) string {
	out := `<centreSpecimenSet xmlns="http://www.mousephenotype.org/dcc/exportlibrary/datastructure/core/specimen">` + "\n<centre centreID=\"H\">\n"
	for _, id := range ids {
		out += fmt.Sprintf(`<mouse DOB="2012-01-01" specimenID="%s" strainID="%s" isBaseline="true" gender="male" zygosity="homozygous" litterId="L" pipeline="IMPC_001" project="MGP" phenotypingCentre="H" productionCentre="H"/>`+"\n", id, strain)
	}
	return out + "</centre>\n</centreSpecimenSet>\n"
}

func writeZip(t *testing.T, path, entry, text string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	w, err := z.Create(entry)
	if err == nil {
		_, err = w.Write([]byte(text))
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// filledPlace is a place with what three files have brought: two mice, an edit
// of one, the deletion of the other.
func filledPlace(t *testing.T) (path string) {
	t.Helper()
	found, err := engine.Locate("")
	if err != nil {
		t.Fatal(err)
	}
	if missing := found.Missing(); len(missing) > 0 {
		enginetest.Missing(t, strings.Join(missing, ", "))
	}
	_, path = place(t)
	dir := filepath.Join(filepath.Dir(path), "source")
	for _, action := range []string{"add", "edit", "delete"} {
		if err := os.MkdirAll(filepath.Join(dir, action), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	writeZip(t, filepath.Join(dir, "add", "H.2012-10-01.01.impc.zip"), "H.2012-10-01.1.specimen.impc.xml", mice("S1", "77", "78"))
	writeZip(t, filepath.Join(dir, "edit", "H.2012-10-02.01.impc.zip"), "H.2012-10-02.1.specimen.impc.xml", mice("S2", "77"))
	writeZip(t, filepath.Join(dir, "delete", "H.2012-10-03.01.impc.zip"), "H.2012-10-03.1.specimen.impc.xml", mice("S1", "78"))
	text := "data_dir: data\nlog: {level: error}\nsources:\n  - {id: harwell, centre: H, url: 'file://" + dir + "'}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, stdout, stderr := at(t, path, "up", "--once"); code != exitOK {
		t.Fatalf("up --once: exit code %d\n%s%s", code, stdout, stderr)
	}
	return path
}

// serving serves a broker and Postgres from the place, as tributary engines does.
func serving(t *testing.T, path string) {
	t.Helper()
	serve(t, path, engine.Options{Broker: true, Postgres: true})
}

// serve serves these engines from the place.
func serve(t *testing.T, path string, o engine.Options) {
	t.Helper()
	cfg, err := config.Load(path, nil, config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o.DataDir, o.Logger = cfg.DataDir, slog.New(slog.DiscardHandler)
	e, err := engine.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
}

// claims are those on a mouse's key, the greatest first.
func claims(t *testing.T, path, mouse string, flags ...string) (code int, claims []lineage.Claim) {
	t.Helper()
	code, stdout, stderr := at(t, path, append([]string{"lineage", "specimen", "H", mouse, "-o", "json"}, flags...)...)
	var l lineage.Lineage
	if err := json.Unmarshal([]byte(stdout), &l); err != nil {
		t.Fatalf("exit code %d: %v\n%s", code, err, stderr)
	}
	return code, l.Claims
}

// holds is the state of each claim on a mouse's key, the greatest first.
func holds(t *testing.T, path, mouse string, flags ...string) string {
	t.Helper()
	code, all := claims(t, path, mouse, flags...)
	var out []string
	for _, c := range all {
		word := c.State
		if c.Verification != nil {
			word += fmt.Sprintf(" %v", c.Verification.OK)
		}
		out = append(out, word)
	}
	return fmt.Sprintf("%d %s", code, strings.Join(out, ", "))
}

// The story of a place from the first look to what is retracted.
func TestTraceExportUnloadAndLoad(t *testing.T) {
	path := filledPlace(t)
	serving(t, path)
	const edit = "H.2012-10-02.01.impc.zip"
	if got, want := holds(t, path, "77", "--verify"), "0 current true, superseded true"; got != want {
		t.Errorf("mouse 77: %s, want %s", got, want)
	}
	if got, want := holds(t, path, "78"), "0 tombstone, superseded"; got != want {
		t.Errorf("mouse 78: %s, want %s", got, want)
	}
	for _, tc := range []struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		{[]string{"lineage", "--file", "edit/" + edit}, exitOK, "1 records: 1 current", ""},
		{[]string{"lineage", "specimen", "H", "79"}, exitFailed, "", "no document that was loaded claims this key"},
		{[]string{"lineage", "specimen"}, exitUsage, "", "a key is missing behind specimen"},
		{[]string{"lineage", "--file", edit, "--verify"}, exitUsage, "", "--verify is for a key"},
		{[]string{"warehouse", "export", edit + "/H.2012-10-02.1.specimen.impc.xml"}, exitOK, `strainID="S2"`, ""},
		{[]string{"warehouse", "export", "99"}, exitFailed, "", "no such document was loaded"},
		{[]string{"warehouse", "unload", edit, "--dry-run"}, exitOK, "1 records retracted, of which 1 hold now; 1 records of other documents would hold again", ""},
		{[]string{"warehouse", "unload", "no.zip"}, exitFailed, "", "no.zip"},
		{[]string{"warehouse", "unload", edit, "--action", "eat"}, exitUsage, "", "use add, edit, delete"},
		{[]string{"warehouse", "unload", edit, "--version", "00"}, exitFailed, "", "its versions are"},
		{[]string{"centres", "report", "h"}, exitOK, "edit/" + edit, ""},
		{[]string{"centres", "report", "h", "-o", "html"}, exitOK, "<!DOCTYPE html>", ""},
		{[]string{"centres", "report", "nobody"}, exitFailed, "", "no such centre"},
		{[]string{"reference", "list", "-o", "csv"}, exitOK, "strain,not loaded,,1 off,", ""},
		{[]string{"reference", "load", "nothing", path}, exitUsage, "", "it has parameter, strain"},
		{[]string{"reference", "load", "strain", path + ".csv"}, exitUsage, "", "there is no file"},
		{[]string{"reference", "load", "strain", path}, exitFailed, "", "nothing was changed"},
	} {
		if code, stdout, stderr := at(t, path, tc.args...); code != tc.code || !strings.Contains(stdout, tc.stdout) || !strings.Contains(stderr, tc.stderr) {
			t.Errorf("%v: exit code %d, want %d\n%s%s", tc.args, code, tc.code, stdout, stderr)
		}
	}

	// What the dry run said comes true: 77 is as it was, and the file's rows are
	// withdrawn.
	if code, stdout, stderr := at(t, path, "warehouse", "unload", edit, "--reason", "test"); code != exitOK || !strings.Contains(stdout, "is unloaded") {
		t.Fatalf("unload: exit code %d\n%s%s", code, stdout, stderr)
	}
	if got, want := holds(t, path, "77"), "0 withdrawn, current"; got != want {
		t.Errorf("mouse 77 after the unload: %s, want %s", got, want)
	}
	if code, stdout, _ := at(t, path, "warehouse", "unload", "H.2012-10-03.01.impc.zip"); code != exitOK {
		t.Errorf("unload of the deletion: exit code %d\n%s", code, stdout)
	}
	if got, want := holds(t, path, "78"), "0 withdrawn, current"; got != want {
		t.Errorf("mouse 78 after the unload: %s, want %s", got, want)
	}

	// The check that needs the strains finds what they lack, at once, and what
	// it says reaches the tracker, which the report asks.
	csv := filepath.Join(filepath.Dir(path), "strains.csv")
	if err := os.WriteFile(csv, []byte("strain_id,name\nS9,nine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, stdout, stderr := at(t, path, "reference", "load", "strain", csv); code != exitOK || !strings.Contains(stdout, "1 rows") {
		t.Fatalf("reference load: exit code %d\n%s%s", code, stdout, stderr)
	}
	if _, stdout, _ := at(t, path, "centres", "report", "H"); !strings.Contains(stdout, "add/H.2012-10-01.01.impc.zip (data, failed)") || strings.Count(stdout, "error specimen_strain_unknown") != 2 {
		t.Errorf("the report after the strains were loaded:\n%s", stdout)
	}
	if _, stdout, _ := at(t, path, "reference", "list", "-o", "csv"); !strings.Contains(stdout, "strain,1,strains.csv,1 on,") {
		t.Errorf("reference list:\n%s", stdout)
	}
}

// Where nothing runs, commands start what they need and stop it again. A file
// is written whole or not at all, and never over another.
func TestExportAndUnloadWithoutASystem(t *testing.T) {
	path := filledPlace(t)
	to := filepath.Join(filepath.Dir(path), "out.xml")
	var position string // each file may be a part of the batch by itself, in any order
	_, all := claims(t, path, "78")
	for _, c := range all {
		if !c.Deletes {
			position = strconv.FormatInt(c.Position, 10)
		}
	}
	for _, want := range []int{exitOK, exitUsage} {
		if code, stdout, stderr := at(t, path, "warehouse", "export", position, "--to", to); code != want || stdout != "" {
			t.Errorf("exit code %d, want %d\n%s%s", code, want, stdout, stderr)
		}
	}
	if code, stdout, stderr := at(t, path, "warehouse", "unload", "H.2012-10-02.01.impc.zip", "-o", "json"); code != exitOK || !strings.Contains(stdout, `"state":"done"`) {
		t.Errorf("unload: exit code %d\n%s%s", code, stdout, stderr)
	}
	if text, err := os.ReadFile(to); err != nil || !strings.Contains(string(text), `specimenID="78"`) {
		t.Errorf("%v\n%s", err, text)
	}
}

// What is not done in time stays asked for, and is done with the next thing.
func TestOperationsStayAskedFor(t *testing.T) {
	path := filledPlace(t)
	serving(t, path)
	if code, _, stderr := at(t, path, "warehouse", "unload", "H.2012-10-02.01.impc.zip", "--timeout", "1ns"); code != exitFailed || !strings.Contains(stderr, "stays asked for") {
		t.Errorf("no time: exit code %d\n%s", code, stderr)
	}
	if got, want := holds(t, path, "77"), "0 current, superseded"; got != want {
		t.Errorf("before it is done: %s, want %s", got, want)
	}
	// Whoever asks again waits for the first wish, and is refused once it is done.
	if code, stdout, stderr := at(t, path, "warehouse", "unload", "H.2012-10-02.01.impc.zip"); code != exitOK {
		t.Errorf("asked for twice: exit code %d\n%s%s", code, stdout, stderr)
	}
	if code, stdout, stderr := at(t, path, "warehouse", "unload", "H.2012-10-02.01.impc.zip"); code != exitFailed || !strings.Contains(stderr, "unloaded already") {
		t.Errorf("asked for thrice: exit code %d\n%s%s", code, stdout, stderr)
	}
	if got, want := holds(t, path, "77"), "0 withdrawn, current"; got != want {
		t.Errorf("once somebody works: %s, want %s", got, want)
	}
}
