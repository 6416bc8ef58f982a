package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tributary/internal/engine/install"
	"tributary/test/wait"
)

// envHold makes the test binary start a Postgres in the directory it names, say
// so, and hold it until it is killed.
const envHold = "TRIBUTARY_TEST_HOLD_POSTGRES"

func TestMain(m *testing.M) {
	if dir := os.Getenv(envHold); dir != "" {
		hold(dir)
	}
	os.Exit(m.Run())
}

func hold(dir string) {
	found, err := install.Locate("")
	if err == nil {
		err = New(optionsIn(dir, found.Postgres[0].BinDir, slog.Default())).Start(context.Background())
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("held")
	select {}
}

func optionsIn(dir, bin string, log *slog.Logger) Options {
	return Options{DataDir: filepath.Join(dir, "pg"), SocketDir: filepath.Join(dir, "s"), BinDir: bin, NoSync: true, Logger: log}
}

// options are those of a new cluster in a directory that others can enter.
func options(t testing.TB) Options {
	t.Helper()
	found, err := install.Locate("")
	if err != nil {
		t.Fatal(err)
	}
	if len(found.Postgres) == 0 {
		if os.Getenv("TRIBUTARY_REQUIRE_ENGINES") == "1" {
			t.Fatal("Postgres is required and missing: run make engines")
		}
		t.Skip("Postgres is missing: run make engines")
	}
	dir, err := os.MkdirTemp("", "trib-pg-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelInfo}))
	return optionsIn(dir, found.Postgres[0].BinDir, log)
}

// sharedAccount is whom Postgres runs as where there are no user namespaces.
func sharedAccount(t testing.TB) *Account {
	t.Helper()
	u, uid, gid, err := lookUp("postgres", "nobody")
	if err != nil {
		t.Fatal(err)
	}
	return &Account{uid: uid, gid: gid, name: u.Username, shared: true}
}

func start(t testing.TB, o Options) *Server {
	t.Helper()
	s := New(o)
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func query[T any](t testing.TB, s *Server, sql string) (v T) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.DSN(Name))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if err := conn.QueryRow(t.Context(), sql).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

func exec1(t testing.TB, s *Server, sql string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.DSN(Name))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func TestStartStopStart(t *testing.T) {
	s := start(t, options(t))
	exec1(t, s, "CREATE TABLE kept AS SELECT 42 AS n")
	for range 2 { // stopping twice is harmless
		if err := s.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := query[int](t, s, "SELECT n FROM kept"); n != 42 {
		t.Errorf("n = %d", n)
	}
}

func TestSettings(t *testing.T) {
	o := options(t)
	o.NoSync = false
	s := start(t, o)
	got := map[string]string{}
	for _, name := range []string{"fsync", "full_page_writes", "synchronous_commit", "shared_buffers", "max_connections", "max_wal_size",
		"jit", "listen_addresses", "TimeZone", "server_encoding", "data_checksums", "unix_socket_permissions"} {
		got[name] = query[string](t, s, "SHOW "+name)
	}
	want := map[string]string{"fsync": "on", "full_page_writes": "on", "synchronous_commit": "on", "shared_buffers": "128MB", "max_connections": "200",
		"max_wal_size": "2GB", "jit": "off", "listen_addresses": "", "TimeZone": "UTC", "server_encoding": "UTF8", "data_checksums": "on",
		"unix_socket_permissions": "0700"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(query[string](t, s, "SELECT enumvals::text FROM pg_settings WHERE name = 'default_toast_compression'"), "lz4") {
		if v := query[string](t, s, "SHOW default_toast_compression"); v != "lz4" {
			t.Errorf("toast compression is %s where lz4 is there", v)
		}
	}
	for _, dir := range []string{o.DataDir, o.SocketDir} {
		info, err := os.Stat(dir)
		if err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s has mode %v (%v), want it closed to others", dir, info.Mode(), err)
		}
	}
}

func TestStartAfterKill(t *testing.T) {
	s := start(t, options(t))
	exec1(t, s, "CREATE TABLE kept AS SELECT 42 AS n")
	exec1(t, s, "CHECKPOINT") // NoSync makes no promise about what is younger
	if err := syscall.Kill(s.Pid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-s.Done()
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := query[int](t, s, "SELECT n FROM kept"); n != 42 {
		t.Errorf("n = %d", n)
	}
}

// With wal_level=minimal Postgres hands numbers of a sequence out twice after a
// crash, if the first was taken in the transaction that made the sequence.
func TestNumbersAreNotGivenTwiceAfterKill(t *testing.T) {
	o := options(t)
	o.NoSync = false
	s := start(t, o)
	exec1(t, s, "BEGIN; CREATE TABLE numbered (id int PRIMARY KEY GENERATED ALWAYS AS IDENTITY, n int); INSERT INTO numbered (n) VALUES (0); COMMIT")
	exec1(t, s, "INSERT INTO numbered (n) VALUES (1)")
	if err := syscall.Kill(s.Pid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-s.Done()
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	exec1(t, s, "INSERT INTO numbered (n) VALUES (2)")
}

// A backend that computes does not notice that its postmaster is gone.
func TestStartAfterKillWithABusyBackend(t *testing.T) {
	s := start(t, options(t))
	conn, err := pgx.Connect(t.Context(), s.DSN(Name))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := conn.Exec(context.Background(), "DO $$ BEGIN LOOP END LOOP; END $$")
		ended <- err
	}()
	for query[int](t, s, "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'DO%'") == 0 {
	}
	if err := syscall.Kill(s.Pid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-s.Done()
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if <-ended == nil {
		t.Error("a cut off statement gave no error")
	}
}

// A pid file may hold a number that is another process's by now, in a container
// quite likely the new Postgres's own parent.
func TestStartWithAPidFileOfAnotherProgram(t *testing.T) {
	for name, content := range map[string]string{"of another": fmt.Sprintf("%d\n", os.Getpid()), "empty": "", "garbage": "x\n"} {
		t.Run(name, func(t *testing.T) {
			o := options(t)
			s := start(t, o)
			if err := s.Stop(); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(o.DataDir, "postmaster.pid"), []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := s.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// A killed Postgres that nobody has reaped keeps its number, as another program
// may be given it.
func TestStartWithASocketOfALivingNumber(t *testing.T) {
	o := options(t)
	s := start(t, o)
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	other := exec.Command("sleep", "600")
	other.Dir = "/"
	other.SysProcAttr = s.user.process()
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = other.Process.Kill()
		_ = other.Wait() // it was killed
	}()
	lock := fmt.Sprintf("%d\n%s\n1\n5432\n%s\n\n", other.Process.Pid, o.DataDir, o.SocketDir)
	if err := os.WriteFile(filepath.Join(o.SocketDir, socketName+".lock"), []byte(lock), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestStartWhileAnOrphanStops(t *testing.T) {
	o := options(t)
	holder := exec.Command(os.Args[0])
	holder.Env = append(os.Environ(), envHold+"="+filepath.Dir(o.DataDir))
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 5)
	if _, err := out.Read(line); err != nil || string(line) != "held\n" {
		t.Fatalf("the holder said %q, %v", line, err)
	}
	// The holder dies with its Postgres running; nobody waits for that.
	if err := holder.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = holder.Wait() // it was killed
	s := start(t, o)
	if n := query[int](t, s, "SELECT 1"); n != 1 {
		t.Errorf("n = %d", n)
	}
}

func TestAnInterruptedInitIsDoneAgain(t *testing.T) {
	o := options(t)
	if err := os.MkdirAll(filepath.Join(o.DataDir+".new", "base"), 0o700); err != nil {
		t.Fatal(err)
	}
	start(t, o)
	if _, err := os.Stat(o.DataDir + ".new"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what was left is still there: %v", err)
	}
}

func TestAForeignDirectoryIsRefused(t *testing.T) {
	o := options(t)
	if err := os.MkdirAll(filepath.Join(o.DataDir, "thesis"), 0o755); err != nil {
		t.Fatal(err)
	}
	err := New(o).Start(t.Context())
	if err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("error is %v", err)
	}
	if _, err := os.Stat(filepath.Join(o.DataDir, "thesis")); err != nil {
		t.Errorf("what was there is gone: %v", err)
	}
}

func TestAnUnreachableDirectoryNamesTheRemedy(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root's Postgres runs as another account")
	}
	o := options(t)
	o.Account = sharedAccount(t)
	closed := filepath.Dir(o.DataDir)
	if err := os.Chmod(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	err := New(o).Start(t.Context())
	if !errors.Is(err, ErrUnreachable) {
		t.Fatalf("error is %v", err)
	}
	for _, part := range []string{"not run as root", "chmod o+x " + closed, "/var/lib", "ordinary user"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not say %q: %v", part, err)
		}
	}
	if err := os.Chmod(closed, 0o711); err != nil {
		t.Fatal(err)
	}
	start(t, o) // the remedy helps
}

func TestAFailedStartShowsWhatPostgresSaid(t *testing.T) {
	o := options(t)
	s := start(t, o)
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(o.DataDir, "postgresql.auto.conf"), []byte("no_such_setting = 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "no_such_setting") {
		t.Errorf("error is %v", err)
	}
}

func TestCheckpointLeavesNothingToRecover(t *testing.T) {
	s := start(t, options(t))
	exec1(t, s, "CREATE TABLE kept AS SELECT generate_series(1, 1000) AS n")
	written := query[string](t, s, "SELECT pg_current_wal_insert_lsn()::text")
	if err := s.Checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	if from := query[string](t, s, "SELECT redo_lsn::text FROM pg_control_checkpoint()"); !query[bool](t, s, fmt.Sprintf("SELECT '%s'::pg_lsn >= '%s'", from, written)) {
		t.Errorf("after a crash recovery would begin at %s, before %s", from, written)
	}
}

func TestStopEndsOpenTransactions(t *testing.T) {
	s := start(t, options(t))
	conn, err := pgx.Connect(t.Context(), s.DSN(Name))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), "BEGIN"); err != nil {
		t.Fatal(err)
	}
	began := make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		close(began)
		_, err := conn.Exec(context.Background(), "SELECT pg_sleep(600)")
		ended <- err
	}()
	<-began
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := s.Process().Err(); err != nil {
		t.Errorf("Postgres ended with %v", err)
	}
	select {
	case err := <-ended:
		if err == nil {
			t.Error("a cut off statement gave no error")
		}
	case <-time.After(wait.Patience()):
		t.Error("the statement goes on")
	}
}

func TestTheFetchedPostgresRuns(t *testing.T) {
	found, err := install.Locate("")
	if err != nil {
		t.Fatal(err)
	}
	o := options(t)
	for _, pg := range found.Postgres {
		if strings.Contains(pg.BinDir, "postgres-") {
			o.BinDir = pg.BinDir
			if n := query[int](t, start(t, o), "SELECT current_setting('server_version_num')::int / 10000"); n != pg.Major {
				t.Errorf("it is version %d, want %d", n, pg.Major)
			}
			return
		}
	}
	t.Skip("only the machine's own Postgres is there")
}

// The program before ran root's Postgres as another account, which the cluster
// and the socket's directory then belonged to.
func TestAClusterOfAnotherAccountIsTakenOver(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root's Postgres ran as another account")
	}
	o := options(t)
	own, err := ChooseAccount(o.DataDir)
	if err != nil {
		t.Fatal(err)
	}
	if own.Shared() {
		t.Skip("no user namespace can be made here")
	}
	before := o
	before.Account = sharedAccount(t)
	s := New(before)
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	exec1(t, s, "CREATE TABLE kept AS SELECT 42 AS n")
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	s = start(t, o)
	if n := query[int](t, s, "SELECT n FROM kept"); n != 42 {
		t.Errorf("n = %d", n)
	}
	err = filepath.WalkDir(filepath.Dir(o.DataDir), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if st := info.Sys().(*syscall.Stat_t); st.Uid != 0 {
			t.Errorf("%s belongs to account %d", path, st.Uid)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// Where Postgres shares its account with other programs, these need a password
// that they can't read from the socket; a cluster that asked for none is locked.
func TestASharedAccountNeedsThePassword(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root's Postgres runs as another account")
	}
	o := options(t)
	if err := start(t, o).Stop(); err != nil {
		t.Fatal(err)
	}
	o.Account, o.Password = sharedAccount(t), "SECRET"
	s := start(t, o)
	if n := query[int](t, s, "SELECT 42"); n != 42 {
		t.Errorf("n = %d", n)
	}
	for _, dsn := range []string{DSN(o.SocketDir, Name), DSN(o.SocketDir, Name) + "&password=wrong"} {
		conn, err := pgx.Connect(t.Context(), dsn)
		if err == nil {
			conn.Close(t.Context())
			t.Errorf("connected without the password")
		}
	}
}
