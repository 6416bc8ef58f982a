package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"tributary/internal/engine"
	"tributary/internal/engine/sharedlib"
	"tributary/sql/control"
)

// TestMain lets this test binary be the ClickHouse child, as the program is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == engine.ChildCommand {
		if err := engine.RunClickHouseChild(context.Background(), os.Args[2:], sharedlib.Bind); err != nil {
			os.Exit(exitFailed)
		}
		os.Exit(exitOK)
	}
	os.Exit(m.Run())
}

// tributary runs a command line with a configuration file of the given text.
func tributary(t *testing.T, text string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tributary.yaml")
	if text != "" {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out, errs bytes.Buffer
	code = run(t.Context(), newCLI(strings.NewReader(""), &out, &errs, []string{"TRIBUTARY_CONFIG=" + path}), args)
	return code, strings.ReplaceAll(out.String(), filepath.Dir(path), "DIR"), strings.ReplaceAll(errs.String(), filepath.Dir(path), "DIR")
}

const local = "sources:\n  - {id: a, centre: H, url: 'file:///'}\n"

func TestCommandLine(t *testing.T) {
	tests := map[string]struct {
		config         string
		args           []string
		code           int
		stdout, stderr string // contained
	}{
		"no command shows help":        {"", nil, 0, "Available Commands", ""},
		"group shows help":             {"", []string{"topics"}, 0, "plan", ""},
		"unknown command":              {"", []string{"topic"}, 2, "", `unknown command "topic" for "tributary"; did you mean topics?`},
		"unknown subcommand":           {"", []string{"topics", "pln"}, 2, "", "did you mean plan?"},
		"unknown flag":                 {"", []string{"version", "--nope"}, 2, "", "unknown flag: --nope"},
		"too many arguments":           {"", []string{"version", "x"}, 2, "", "unknown command"},
		"unknown format":               {"", []string{"version", "-o", "xml"}, 2, "", `--output "xml" is not known: use table, json`},
		"no configuration":             {"", []string{"config", "check"}, 2, "", "tributary init"},
		"good configuration":           {local, []string{"config", "check"}, 0, "is good: 1 sources, profile impc", ""},
		"bad configuration":            {"colour: red\nlog: {level: x}\n", []string{"config", "check"}, 2, "", "tributary: DIR/tributary.yaml:1: colour: unknown key"},
		"unknown centre":               {strings.Replace(local, "H", "Nowhere", 1), []string{"config", "check"}, 2, "", `DIR/tributary.yaml:2: sources[0].centre: the centre "Nowhere"`},
		"hosts":                        {local + "  - {id: m, centre: J, url: 'file:///m', hosts: all}\n  - {id: s, centre: J, url: 'file:///s', hosts: [h, {centre: Ics, actions: [add, edit]}]}\n", []string{"config", "check"}, 0, "  a hosts files of H only\n  m hosts files of every centre\n  s hosts files of J, and of others: h, Ics/add, Ics/edit\n", ""},
		"unknown centre in hosts":      {strings.Replace(local, "'file:///'", "'file:///', hosts: [J, Nowhere]", 1), []string{"config", "check"}, 2, "", `DIR/tributary.yaml:2: sources[0].hosts[1]: the centre "Nowhere" is neither in the profile impc nor below centres`},
		"unknown profile for shadows":  {"shadow_profile: zoo\n", []string{"config", "check"}, 2, "", `DIR/tributary.yaml:1: shadow_profile: there is no built-in profile "zoo"`},
		"unknown profile":              {"profile: zoo\n", []string{"config", "check"}, 2, "", `DIR/tributary.yaml:1: profile: there is no built-in profile "zoo"`},
		"bad log level":                {local, []string{"--log-level", "loud", "topics", "plan"}, 2, "", `log.level "loud"`},
		"dump":                         {local, []string{"config", "dump"}, 0, "topic_prefix: tributary", ""},
		"init to stdout":               {"", []string{"init", "-"}, 0, "data_dir: ./data", ""},
		"init does not overwrite":      {local, []string{"init"}, 2, "", "is there already"},
		"schemas list":                 {"", []string{"schemas", "list", "-o", "json"}, 0, `{"topic":"status.changed","version":1,"id":1008,"schema":{`, ""},
		"schemas check":                {"", []string{"schemas", "check"}, 0, "15 schemas are compatible", ""},
		"version":                      {"", []string{"version", "-o", "json"}, 0, `"go":"go1`, ""},
		"no data yet":                  {local, []string{"topics", "list"}, 1, "", "there is no data in DIR/data yet: run tributary up"},
		"nobody to ask for health":     {local, []string{"healthcheck"}, 2, "", "http.listen is not set"},
		"nobody answers for health":    {local, []string{"healthcheck", "--address", "127.0.0.1:1"}, 1, "", "nobody answers"},
		"a reason too long for a file": {local, []string{"files", "hold", "a.zip", "--reason", strings.Repeat("é", control.MaxReason+1)}, 2, "", "the reason has 501 characters: more than 500 are not kept"},
		"a reason too long for a user": {local, []string{"users", "remove", "ben", "--reason", strings.Repeat("é", control.MaxReason+1)}, 2, "", "the reason has 501 characters"},
		"unknown source":               {local, []string{"sources", "check", "b"}, 2, "", `there is no source "b": configured are a`},
		"no sources":                   {"data_dir: d\n", []string{"sources", "check"}, 2, "", "has no sources"},
		"engines all configured":       {"kafka: {bootstrap_servers: ['a:1']}\npostgres: {url: 'postgres://h/d'}\nclickhouse: {url: 'clickhouse://h'}\n", []string{"engines"}, 2, "", "none to serve"},
		"sql without a store":          {local, []string{"sql", "SELECT 1"}, 2, "", "say which store"},
		"sql with no time":             {local, []string{"sql", "--store", "tracker", "--timeout", "0", "SELECT 1"}, 2, "", "--timeout: 0s is no time for a statement: give more than 0 and at most 1h"},
		"sql with less than no time":   {local, []string{"sql", "--store", "history", "--timeout", "-1s", "SELECT 1"}, 2, "", "--timeout: -1s is no time"},
		"sql with too much time":       {local, []string{"sql", "--store", "warehouse", "--timeout", "1h0m1s", "SELECT 1"}, 2, "", "--timeout: 1h0m1s is no time"},
		"report with too much time":    {local, []string{"report", "speed", "--timeout", "100h"}, 2, "", "--timeout: 100h0m0s is no time"},
		"sql of an unknown store":      {local, []string{"sql", "--store", "control", "SELECT 1"}, 2, "", `--store "control" is not known`},
		"show without a file":          {local, []string{"show"}, 2, "", "accepts 1 arg(s)"},
		"files before any data":        {local, []string{"files"}, 1, "", "there is no data in DIR/data yet"},
		"a user with no role":          {local, []string{"users", "add", "ann"}, 2, "", `there is no role ""; the roles are producer, reader, wrangler, operator`},
		"a user with no password":      {local, []string{"users", "add", "ann", "--role", "reader"}, 2, "", "the password is too short"},
		"a token for a while":          {local, []string{"tokens", "add", "x", "--role", "reader", "--expires", "soon"}, 2, "", `--expires: "soon" is no duration`},
		"a link of nobody":             {local, []string{"login-link", "--role", "king"}, 2, "", `there is no role "king"`},
		"tail from an unknown moment":  {local, []string{"topics", "tail", "--from", "whenever"}, 2, "", `--from: "whenever" is no moment`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := tributary(t, tc.config, tc.args...)
			if code != tc.code || !strings.Contains(stdout, tc.stdout) || !strings.Contains(stderr, tc.stderr) {
				t.Errorf("exit code %d, want %d\nstdout: %s\nstderr: %s", code, tc.code, stdout, stderr)
			}
			if tc.code == 2 && stdout != "" {
				t.Errorf("data on stdout beside an error: %s", stdout)
			}
		})
	}
}

func TestInitThenCheck(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new.yaml")
	var out, errs bytes.Buffer
	c := newCLI(strings.NewReader(""), &out, &errs, nil)
	if code := run(t.Context(), c, []string{"--config", path, "init"}); code != 0 {
		t.Fatalf("init: %d %s", code, errs.String())
	}
	if code := run(t.Context(), c, []string{"--config", path, "config", "check"}); code != 0 {
		t.Fatalf("config check: %d %s", code, errs.String())
	}
}

func TestSourcesCheck(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "add"), 0o700); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := tributary(t, "sources:\n  - {id: a, centre: H, url: 'file://"+dir+"'}\n  - {id: b, centre: H, url: 'file://"+dir+"/none'}\n", "sources", "check")
	if code != exitFailed || !strings.Contains(stdout, "ok      list: add: 0 files") || !strings.Contains(stdout, "FAILED") {
		t.Errorf("exit code %d\nstdout: %s\nstderr: %s", code, stdout, stderr)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, _ = tributary(t, "sources:\n  - {id: a, centre: H, url: 'file://"+file+"'}\n", "sources", "check")
	if code != exitFailed || !strings.Contains(stdout, "url leads to a file") {
		t.Errorf("exit code %d\nstdout: %s", code, stdout)
	}
	code, stdout, _ = tributary(t, "sources:\n  - {id: a, centre: H, url: 'file://"+dir+"'}\n", "sources", "check", "a", "-o", "json")
	if code != exitOK || !strings.Contains(stdout, `{"source":"a","step":"list","ok":true,`) {
		t.Errorf("exit code %d\nstdout: %s", code, stdout)
	}
}

func TestParseFrom(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for s, want := range map[string]time.Time{
		"start": time.UnixMilli(0), "90m": now.Add(-90 * time.Minute), "7d": now.Add(-7 * 24 * time.Hour), "2026-11-20": time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC),
		"2026-11-20T10:00:00+01:00": time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC),
	} {
		if got, err := parseFrom(s, now); err != nil || !got.Equal(want) {
			t.Errorf("parseFrom(%q) = %v, %v; want %v", s, got, err, want)
		}
	}
}

// Every command says what it does, and no two share a line of help.
func TestEveryCommandIsDescribed(t *testing.T) {
	seen := map[string]string{}
	walk(newRoot(newCLI(nil, nil, nil, nil)), func(cmd *cobra.Command) {
		if cmd.Hidden {
			return
		}
		if cmd.Short == "" {
			t.Errorf("%s has no description", cmd.CommandPath())
		}
		if other, twice := seen[cmd.Short]; twice {
			t.Errorf("%s and %s have the same description", cmd.CommandPath(), other)
		}
		seen[cmd.Short] = cmd.CommandPath()
	})
}

func walk(cmd *cobra.Command, fn func(*cobra.Command)) {
	fn(cmd)
	for _, sub := range cmd.Commands() {
		walk(sub, fn)
	}
}
