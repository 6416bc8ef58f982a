package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/engine"
	"tributary/test/rig"
)

// timeShell times the shell pipeline, in seconds.
func timeShell(ctx context.Context, r *rig.Rig) (float64, error) {
	dir := filepath.Join(r.Dir, "peer")
	xsd, err := filepath.Abs("schemas/impc/xsd")
	if err != nil {
		return 0, err
	}
	var mirror strings.Builder
	for _, s := range r.Mirrors() {
		fmt.Fprintf(&mirror, "lftp -e %q %s\n", fmt.Sprintf("set sftp:auto-confirm yes; set sftp:connect-program 'ssh -a -x -i %s -o UserKnownHostsFile=%s'; mirror --parallel=8 %s %s/zips/%s; quit", s.Identity, s.KnownHosts, s.Path, dir, s.ID), s.Server)
	}
	script := fmt.Sprintf(`set -e
mkdir -p %[1]s/zips
%[2]sfind %[1]s/zips -name '*.zip' -print0 | xargs -0 -P2 -I{} unzip -q {} -d {}.d
find %[1]s/zips -name '*.specimen.impc.xml' -print0 | xargs -0 -P2 -n 1000 xmllint --noout --stream --schema %[3]s/specimen.xsd >%[1]s/valid1 2>&1 || true
find %[1]s/zips -name '*.experiment.impc.xml' -print0 | xargs -0 -P2 -n 1000 xmllint --noout --stream --schema %[3]s/experiment.xsd >%[1]s/valid2 2>&1 || true
test $(cat %[1]s/valid1 %[1]s/valid2 | grep -c validates) -eq $(find %[1]s/zips -name '*.xml' | wc -l)
`, dir, mirror.String(), xsd)
	start := time.Now()
	out, err := exec.CommandContext(ctx, "bash", "-c", script).CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("the shell pipeline failed: %w\n%s", err, out)
	}
	return time.Since(start).Seconds(), nil
}

// script is the peer in Python, with a Postgres that stands ready.
type script struct {
	engines *engine.Engines
	dir     string
}

// startScript starts its Postgres. Nil: Python, or a package that the script imports, is
// missing, which is told.
func startScript(ctx context.Context, base string) (*script, error) {
	if out, err := exec.CommandContext(ctx, "python3", "-c", "import paramiko, psycopg, lxml").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "the script in Python is skipped: %v: %s: make bench installs what it imports\n", err, lastLine(out))
		return nil, nil
	}
	s := &script{dir: filepath.Join(base, "script")}
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return nil, err
	}
	var err error
	s.engines, err = engine.Start(ctx, engine.Options{DataDir: filepath.Join(s.dir, "data"), EnginesDir: os.Getenv("TRIBUTARY_ENGINES"), Postgres: true, Logger: slog.New(slog.DiscardHandler)})
	return s, err
}

func (s *script) stop() {
	if s != nil {
		_ = s.engines.Close() // its folder is removed
	}
}

// time times one run into an empty database, in seconds of the clock and of the processor,
// and compares what it has loaded with what the rig serves.
func (s *script) time(ctx context.Context, r *rig.Rig, round int) (took, cpu float64, err error) {
	admin, err := pgx.Connect(ctx, s.engines.Endpoints().Postgres)
	if err != nil {
		return 0, 0, err
	}
	defer admin.Close(ctx)
	database := fmt.Sprint("round", round)
	if _, err := admin.Exec(ctx, "CREATE DATABASE "+database); err != nil {
		return 0, 0, err
	}
	at := admin.Config()
	at.Database = database
	xsd, err := filepath.Abs("schemas/impc/xsd")
	if err != nil {
		return 0, 0, err
	}
	config, err := json.Marshal(map[string]any{"inbox": filepath.Join(r.Dir, "inbox"), "sources": r.Mirrors(), "xsd": xsd,
		"dsn": fmt.Sprintf("host='%s' port=%d user='%s' password='%s' dbname=%s", at.Host, at.Port, at.User, at.Password, database)})
	if err != nil {
		return 0, 0, err
	}
	path := filepath.Join(s.dir, database+".json")
	if err := os.WriteFile(path, config, 0o600); err != nil {
		return 0, 0, err
	}
	cmd := exec.CommandContext(ctx, "python3", "bench/pipeline/ingest.py", path)
	start := time.Now()
	out, err := cmd.CombinedOutput()
	took = time.Since(start).Seconds()
	if err != nil {
		return 0, 0, fmt.Errorf("the script failed: %w\n%.2000s", err, out)
	}
	cpu = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	conn, err := pgx.ConnectConfig(ctx, at)
	if err != nil {
		return 0, 0, err
	}
	defer conn.Close(ctx)
	var zips int
	if err := conn.QueryRow(ctx, "SELECT count(*) FROM (SELECT zip FROM specimen UNION SELECT zip FROM procedure_run) z").Scan(&zips); err != nil {
		return 0, 0, err
	}
	if want := len(r.Corpus.Uploads()); zips != want {
		err = errors.Join(err, fmt.Errorf("the script loaded %d zips of %d", zips, want))
	}
	return took, cpu, err
}

func lastLine(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}
