package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"tributary/internal/engine/child"
)

// Version is the major version that the cluster in dataDir was made by, or ""
// if there is none.
func Version(dataDir string) (string, error) {
	b, err := os.ReadFile(filepath.Join(dataDir, "PG_VERSION"))
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("which Postgres made the cluster: %w", err)
	}
	return strings.TrimSpace(string(b)), nil
}

// createCluster makes the cluster if there is none. It is made beside its
// place and renamed, so that a crash can't leave half of one.
func (s *Server) createCluster(ctx context.Context) error {
	version, err := Version(s.o.DataDir)
	if err != nil {
		return err
	}
	if version != "" {
		return s.user.reach(s.o.BinDir, s.o.DataDir)
	}
	if entries, err := os.ReadDir(s.o.DataDir); err == nil && len(entries) > 0 {
		return fmt.Errorf("%s is not empty and holds no Postgres cluster: move it away or set another data_dir", s.o.DataDir)
	}
	fresh := s.o.DataDir + ".new"
	// A killed initdb's own servers outlive it for a moment.
	if err := awaitOrphans(ctx, fresh, s.o.Logger); err != nil {
		return err
	}
	if err := os.RemoveAll(fresh); err != nil {
		return fmt.Errorf("remove what an interrupted start left: %w", err)
	}
	if err := s.user.makeDir(fresh); err != nil {
		return err
	}
	if err := s.user.reach(s.o.BinDir, fresh); err != nil {
		return err
	}
	if err := s.fill(ctx, fresh); err != nil {
		return fmt.Errorf("create a cluster in %s: %w", s.o.DataDir, err)
	}
	// An empty directory may be in the place already.
	if err := os.Remove(s.o.DataDir); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("put the new cluster in place: %w", err)
	}
	if err := os.Rename(fresh, s.o.DataDir); err != nil {
		return fmt.Errorf("put the new cluster in place: %w", err)
	}
	return nil
}

// run runs a program of Postgres to its end.
func (s *Server) run(ctx context.Context, cmd *exec.Cmd) error {
	tail := child.NewTail(nil)
	cmd.Stdout, cmd.Stderr = tail, tail
	p, err := child.Start(cmd, syscall.SIGKILL)
	if err != nil {
		return err
	}
	select {
	case <-p.Done():
	case <-ctx.Done():
		_ = p.Stop(stopGrace, syscall.SIGTERM)
		return fmt.Errorf("%s: %w", filepath.Base(cmd.Path), ctx.Err())
	}
	if p.Err() != nil {
		return fmt.Errorf("%s failed (%w); it said:\n%s", filepath.Base(cmd.Path), p.Err(), tail)
	}
	return nil
}

// settings are the server's settings, all on the command line: the cluster's
// postgresql.conf stays as initdb made it and people may add to it, but these
// win.
func (s *Server) settings(ctx context.Context) ([]string, error) {
	set := []string{
		"listen_addresses=",
		"unix_socket_directories=" + quoteList(s.o.SocketDir),
		"unix_socket_permissions=0700",
		"port=5432",
		// By which statements know that nobody else works here.
		"cluster_name=" + Name,
		"max_connections=200",
		"shared_buffers=128MB",
		// There are no replicas, but with wal_level=minimal a crash makes
		// Postgres give out numbers twice of a sequence that was made and
		// used in one transaction, as goose's table of versions is.
		"wal_level=replica",
		"max_wal_senders=0",
		"max_wal_size=2GB",
		"checkpoint_timeout=15min",
		// A new segment of the log is written once, not twice, which saves
		// a third of a second of 150 MB on ext4.
		"wal_init_zero=off",
		// Short statements in great number: compiling them costs more
		// than it saves.
		"jit=off",
		// A session may turn it on for itself; there is none to turn on.
		"jit_provider=none",
		"timezone=UTC",
		"log_timezone=UTC",
		"log_min_messages=warning",
		// Whose session it is decides how loud a line is.
		"log_line_prefix=%m [%p] %q%u ",
		// Statements may carry data; their senders report their errors.
		"log_min_error_statement=panic",
		"logging_collector=off",
		"log_destination=stderr",
	}
	if s.asks() {
		set = append(set, "hba_file="+s.hbaFile())
	}
	if s.o.NoSync {
		set = append(set, "fsync=off", "full_page_writes=off", "synchronous_commit=off")
	} else {
		set = append(set, "fsync=on", "full_page_writes=on", "synchronous_commit=on")
	}
	if s.lz4(ctx) {
		set = append(set, "wal_compression=lz4", "default_toast_compression=lz4")
	} else {
		set = append(set, "wal_compression=on")
	}
	args := make([]string, 0, 2*len(set))
	for _, kv := range set {
		args = append(args, "-c", kv)
	}
	return args, ctx.Err()
}

// asks says that somebody needs a password.
func (s *Server) asks() bool { return s.locked() || s.o.PasswordRole != "" }

// hbaFile is where it is written who needs a password.
func (s *Server) hbaFile() string { return filepath.Join(s.o.DataDir, "tributary_hba.conf") }

// askPasswords writes down who needs a password.
func (s *Server) askPasswords() error {
	if !s.asks() {
		return nil
	}
	hba, rules := s.hbaFile(), "local all all scram-sha-256\n" //nolint:dupword // all databases, all users
	if !s.locked() {
		// The name of a role of ours needs no quotes.
		rules = "local all " + s.o.PasswordRole + " scram-sha-256\nlocal all all trust\n" //nolint:dupword // as above
	}
	if err := os.WriteFile(hba, []byte(rules), 0o600); err != nil {
		return fmt.Errorf("ask for a password: %w", err)
	}
	if err := os.Lchown(hba, int(s.user.uid), int(s.user.gid)); err != nil {
		return fmt.Errorf("ask for a password: %w", err)
	}
	return nil
}

// setPassword gives the role its password, by a server that listens nowhere,
// before one runs that asks for it.
func (s *Server) setPassword(ctx context.Context) error {
	cmd := s.command("postgres", "--single", "-D", s.o.DataDir, "-c", "password_encryption=scram-sha-256", "postgres")
	// It is random text of letters and digits: nothing to quote.
	cmd.Stdin = strings.NewReader("ALTER ROLE " + Name + " PASSWORD '" + s.o.Password + "'\n")
	if err := s.run(ctx, cmd); err != nil {
		return fmt.Errorf("set a password: %w", err)
	}
	return nil
}

// lz4 says whether this Postgres was built with it: asked to print a setting,
// it first checks all that it is given.
func (s *Server) lz4(ctx context.Context) bool {
	cmd := s.command("postgres", "-D", s.o.DataDir, "-c", "wal_compression=lz4",
		"-c", "default_toast_compression=lz4", "-C", "wal_compression")
	return s.run(ctx, cmd) == nil
}

// quoteList quotes one element of a list setting.
func quoteList(s string) string {
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}
