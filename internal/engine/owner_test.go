package engine_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"tributary/internal/engine"
	"tributary/internal/engine/enginetest"
)

// another runs a shell's lines as the account nobody.
func another(t testing.TB, script string, args ...string) string {
	t.Helper()
	cmd := exec.Command("/bin/sh", append([]string{"-c", script, "sh"}, args...)...)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("as nobody: %v: %s", err, out)
	}
	return string(out)
}

// Nothing in the data directory can be read or connected to by another account,
// though an older program had left it open, and no port is open.
func TestTheEnginesAreTheirOwnersAlone(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can look as another account")
	}
	o := options(t)
	base := o.DataDir
	o.DataDir = filepath.Join(base, "data")
	older(t, o.DataDir)
	if err := os.Chmod(base, 0o755); err != nil {
		t.Fatal(err)
	}
	// The shell of another account gets as far as the data directory.
	if out := another(t, `[ -r "$1/kafka/old" ] && echo open`, o.DataDir); out != "open\n" {
		t.Fatalf("the test can't see what is open: %q", out)
	}
	e := start(t, o)
	looked := 0
	var open []string
	err := filepath.WalkDir(base, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == base {
			return err
		}
		if looked++; looked > 300 && !strings.HasPrefix(path, filepath.Join(o.DataDir, "run")) && d.Type().IsRegular() {
			return nil // one process each: enough of the many files of the databases
		}
		if out := another(t, `[ -r "$1" ] || [ -w "$1" ] && echo "$1"; true`, path); out != "" && path != o.DataDir {
			open = append(open, out)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(open) > 0 {
		t.Errorf("another account can read or write %d of %d: %s", len(open), looked, strings.Join(open, ""))
	}
	if info, err := os.Stat(o.DataDir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the data directory has mode %v, %v", info.Mode(), err)
	}
	for _, pid := range append([]int{os.Getpid()}, e.Pids()["postgres"], e.Pids()["clickhouse"]) {
		if ports := listening(t, pid); len(ports) > 0 {
			t.Errorf("process %d listens on TCP: %v", pid, ports)
		}
	}
	// The account that Postgres could have been shared with owns nothing.
	if uid := owner(t, filepath.Join(o.DataDir, "postgres", "PG_VERSION")); uid != 0 {
		t.Errorf("the cluster belongs to account %d", uid)
	}
}

// older makes a data directory with the modes that programs before left.
func older(t testing.TB, dir string) {
	t.Helper()
	for _, d := range []string{dir, filepath.Join(dir, "kafka"), filepath.Join(dir, "blobs")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{"engines.lock", "engines.users", "kafka/old", "kafka/port", "blobs/old"} {
		if err := os.WriteFile(filepath.Join(dir, f), []byte("12345\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func owner(t testing.TB, path string) uint32 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Sys().(*syscall.Stat_t).Uid
}

// listening are the TCP ports that a process listens on.
func listening(t testing.TB, pid int) []string {
	t.Helper()
	mine := map[string]bool{}
	links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil || len(links) == 0 {
		t.Fatalf("what process %d has open: %v", pid, err)
	}
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil {
			mine[to] = true
		}
	}
	var ports []string
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		b, err := os.ReadFile(table)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			fields := strings.Fields(line)
			if len(fields) > 9 && fields[3] == "0A" && mine["socket:["+fields[9]+"]"] {
				ports = append(ports, fields[1])
			}
		}
	}
	return ports
}

// Passwords are made once, and kept where only the owner can read them.
func TestTheListenersUsersAreKept(t *testing.T) {
	o := options(t)
	o.Postgres, o.ClickHouse, o.KafkaAddr = false, false, "127.0.0.1:0"
	e := start(t, o)
	l := e.Endpoints().KafkaListener
	if l == nil || len(l.Users) != 3 {
		t.Fatalf("the listener is %+v", l)
	}
	seen := map[string]bool{}
	for user, password := range l.Users {
		if len(password) < 26 || seen[password] {
			t.Errorf("the password of %s is short, or another's too", user)
		}
		seen[password] = true
	}
	if ports := listening(t, os.Getpid()); len(ports) != 1 {
		t.Errorf("it listens on %v", ports)
	}
	for _, name := range []string{"engines.json", "engines.secrets"} {
		info, err := os.Stat(filepath.Join(o.DataDir, name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if again := start(t, o).Endpoints().KafkaListener; again.Users["reader"] != l.Users["reader"] || again.Address != l.Address {
		t.Errorf("it was %v and is %v", l.Address, again.Address)
	}
}

// A data directory that the program before served opens: its port's file means
// nothing any more, and nothing listens.
func TestADataDirectoryOfTheProgramBeforeOpens(t *testing.T) {
	o := options(t)
	o.Postgres, o.ClickHouse = false, false
	older(t, o.DataDir)
	if err := os.WriteFile(filepath.Join(o.DataDir, "engines.json"), []byte(`{"pid":`+strconv.Itoa(1<<22)+`,"kafka":["127.0.0.1:1"]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	e := start(t, o)
	if at := e.Endpoints().Kafka; len(at) != 1 || !strings.HasPrefix(at[0], "unix:") || e.Endpoints().KafkaListener != nil {
		t.Errorf("the broker is at %v", at)
	}
	ep, running, err := engine.Attach(o.DataDir)
	if err != nil || !running || ep.Kafka[0] != e.Endpoints().Kafka[0] {
		t.Errorf("attached to %v, %v, %v", ep, running, err)
	}
}

// The door of Postgres is open only where an address is configured; its password
// is kept, and read by its owner only.
func TestThePostgresListener(t *testing.T) {
	o := options(t)
	o.Broker, o.ClickHouse, o.PostgresAddr, o.PostgresRole = false, false, "127.0.0.1:0", "readers"
	prepared := 0
	o.PreparePostgresRole = func(ctx context.Context, dsn string) error {
		prepared++
		conn, err := pgx.Connect(ctx, dsn)
		if err != nil {
			return err
		}
		defer conn.Close(ctx)
		if _, err = conn.Exec(ctx, "CREATE ROLE readers"); err != nil && strings.Contains(err.Error(), "already exists") {
			return nil
		}
		return err
	}
	e := start(t, o)
	l := e.Endpoints().PostgresListener
	if l == nil || len(l.Users["reader"]) < 26 || l.Database != "tributary" || prepared != 1 {
		t.Fatalf("the listener is %+v, prepared %d times", l, prepared)
	}
	if info, err := os.Stat(filepath.Join(o.DataDir, "engines.json")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	conn, err := pgx.Connect(t.Context(), "postgres://reader:"+l.Users["reader"]+"@"+l.Address+"/tributary")
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close(t.Context())
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if again := start(t, o).Endpoints().PostgresListener; again.Users["reader"] != l.Users["reader"] {
		t.Error("it has another password")
	}
	o.DataDir, o.PostgresAddr = enginetest.Dir(t), ""
	if l := start(t, o).Endpoints().PostgresListener; l != nil {
		t.Errorf("without an address it listens on %s", l.Address)
	}
}
