// Package postgres runs a private Postgres: its own data directory, reached
// only through a unix socket that other accounts can't open. What becomes of
// root's, which Postgres refuses to run as, is written at [Account].
package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"tributary/internal/engine/child"
)

// Name is both the database that Tributary uses and the only role, a superuser.
const Name = "tributary"

const (
	// startLimit bounds a start, which after a crash replays at most the
	// write-ahead log of max_wal_size.
	startLimit = 5 * time.Minute
	// stopGrace is what each way to ask for a stop is given.
	stopGrace = 20 * time.Second
)

// Options say where one Postgres lives.
type Options struct {
	// DataDir holds the cluster; it is created if it does not exist.
	DataDir string
	// SocketDir will hold the unix socket. Its length is the caller's
	// concern: with "/.s.PGSQL.5432" it must not exceed 107 bytes.
	SocketDir string
	// BinDir holds the programs initdb and postgres.
	BinDir string
	// Account is whom it runs as; nil: as [ChooseAccount] says at the first start.
	Account *Account
	// Password is asked for where the account is shared with others, and
	// nowhere else; empty: it is asked for nowhere.
	Password string
	// PasswordRole is a role that logs in with its own password (SCRAM-SHA-256)
	// even where others need none; empty: none.
	PasswordRole string
	// NoSync trades all safety against power loss for speed. For tests.
	NoSync bool
	// Kept is a directory in which a cluster of each kind that is made is kept, and of
	// which the next ones are copies; empty: initdb makes each. For tests.
	Kept string
	// Logger gets what Postgres says, mostly at debug level. Required.
	Logger *slog.Logger
}

// Server is one Postgres. New is inert; Start and Stop may alternate, from one
// goroutine at a time; the other methods may be called from any.
type Server struct {
	child.Current

	o    Options
	user *Account
}

// New returns a Server that does not run yet.
func New(o Options) *Server { return &Server{o: o, user: o.Account} }

// DSN is the address of a database of this server for pgx and psql. Where a
// password is asked for, it holds it.
func (s *Server) DSN(database string) string {
	if s.locked() {
		return DSN(s.o.SocketDir, database) + "&" + url.Values{"password": {s.o.Password}}.Encode()
	}
	return DSN(s.o.SocketDir, database)
}

// locked says that connections need the password.
func (s *Server) locked() bool { return s.user != nil && s.user.shared && s.o.Password != "" }

// DSN is the address of a database behind the socket in socketDir, where no
// password is asked for.
func DSN(socketDir, database string) string {
	q := url.Values{"host": {socketDir}, "user": {Name}}
	return "postgres:///" + url.PathEscape(database) + "?" + q.Encode()
}

// Start creates the cluster if there is none, waits for an orphan of a killed
// Tributary to be gone, starts Postgres, waits until it answers, and makes sure
// that the database exists. If it fails nothing is left running.
func (s *Server) Start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	if err := s.start(ctx); err != nil {
		if stopErr := s.Stop(); stopErr != nil {
			s.o.Logger.Warn("stop postgres after a failed start", "error", stopErr)
		}
		return fmt.Errorf("embedded Postgres: %w", err)
	}
	return nil
}

func (s *Server) start(ctx context.Context) error {
	if err := s.settleAccount(ctx); err != nil {
		return err
	}
	if err := s.user.makeDir(s.o.SocketDir); err != nil {
		return err
	}
	if err := removeStaleSocket(s.o.SocketDir); err != nil {
		return err
	}
	if err := s.createCluster(ctx); err != nil {
		return err
	}
	args, err := s.settings(ctx)
	if err != nil {
		return err
	}
	if err := s.askPasswords(); err != nil {
		return err
	}
	if s.locked() {
		if err := s.setPassword(ctx); err != nil {
			return err
		}
	}
	if err := s.launch(args); err != nil {
		return err
	}
	if err := s.awaitReady(ctx); err != nil {
		return err
	}
	return s.createDatabase(ctx)
}

// settleAccount decides whom Postgres runs as, and makes the cluster that is
// there that account's once nothing works in it any more.
func (s *Server) settleAccount(ctx context.Context) (err error) {
	if s.user == nil {
		if s.user, err = ChooseAccount(s.o.DataDir); err != nil {
			return err
		}
	}
	if s.user.shared {
		s.o.Logger.Warn("Postgres does not run as root, and no user namespace can be made for it here, so it runs as another account: "+
			"whatever else runs as that account can read its files; to avoid that start Tributary as an ordinary user of its own, "+
			"or allow user namespaces", "account", s.user.name)
	}
	if err := awaitOrphans(ctx, s.o.DataDir, s.o.Logger); err != nil {
		return err
	}
	done, err := s.user.takeOver(s.o.DataDir)
	if done {
		s.o.Logger.Info("the cluster of Postgres was given to the account that it runs as from now on")
	}
	return err
}

func (s *Server) launch(args []string) error {
	tail := child.NewTail(func(line string) { s.o.Logger.Log(context.Background(), s.level(line), "postgres", "line", line) })
	cmd := s.command("postgres", append([]string{"-D", s.o.DataDir}, args...)...)
	cmd.Stdout, cmd.Stderr = tail, tail
	// Inherited pipes stay open in backends that outlive the postmaster; the
	// end of the postmaster is what counts.
	cmd.WaitDelay = 5 * time.Second
	// SIGINT is Postgres's fast shutdown: a clean stop even if Tributary is
	// killed.
	p, err := child.Start(cmd, syscall.SIGINT)
	if err != nil {
		return err
	}
	s.Set(p, tail)
	return nil
}

// command prepares one of Postgres's programs to run as the chosen user.
func (s *Server) command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.o.BinDir, program), args...)
	// The user may not be able to enter our own working directory.
	cmd.Dir = s.o.DataDir
	// Postgres takes much from PG* variables, and its messages are read here.
	cmd.Env = []string{"PATH=" + s.o.BinDir + ":/usr/bin:/bin", "LC_ALL=C.UTF-8", "TZ=UTC", "HOME=/"}
	cmd.SysProcAttr = s.user.process()
	return cmd
}

// awaitReady polls until the server answers, has ended, or ctx ends.
func (s *Server) awaitReady(ctx context.Context) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	var last error
	for {
		conn, err := pgx.Connect(ctx, s.DSN("postgres"))
		if err == nil {
			return conn.Close(ctx)
		}
		last = err
		select {
		case <-s.Done():
			return fmt.Errorf("it ended while starting (%w); it said:\n%s", s.Err(), s.LastWords())
		case <-ctx.Done():
			return fmt.Errorf("it did not answer in time: %w; it said:\n%s", last, s.LastWords())
		case <-tick.C:
		}
	}
}

func (s *Server) createDatabase(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, s.DSN("postgres"))
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, "CREATE DATABASE "+Name)
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) && pgErr.Code == "42P04" { // it exists
		return nil
	}
	if err != nil {
		return fmt.Errorf("create database %s: %w", Name, err)
	}
	return nil
}

// Checkpoint writes to its files what Postgres holds in memory, and returns when that is
// durable. A stop soon afterwards, which begins with the same, then has little to write.
func (s *Server) Checkpoint(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, s.DSN(Name))
	if err != nil {
		return fmt.Errorf("checkpoint of embedded Postgres: %w", err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, "CHECKPOINT"); err != nil {
		return fmt.Errorf("checkpoint of embedded Postgres: %w", err)
	}
	return nil
}

// Stop asks for a clean stop (open transactions are rolled back), more firmly
// after 20 s, and returns when Postgres has ended. Stopping twice is harmless.
func (s *Server) Stop() error {
	p := s.Process()
	if p == nil {
		return nil
	}
	if err := p.Stop(stopGrace, syscall.SIGINT, syscall.SIGQUIT); err != nil {
		return fmt.Errorf("stop embedded Postgres: %w", err)
	}
	return nil
}

// level is that of a line, whose session may be one of the role that others come
// in as: what these do wrong is told to themselves, and must not fill the log.
func (s *Server) level(line string) slog.Level {
	if s.o.PasswordRole != "" && strings.Contains(line, " "+s.o.PasswordRole+" FATAL:") {
		return slog.LevelDebug
	}
	return level(line)
}

// level maps a line of Postgres's log. What a statement did wrong is its
// sender's to report, so only the server's own trouble is loud.
func level(line string) slog.Level {
	switch {
	case strings.Contains(line, "PANIC:"):
		return slog.LevelError
	case strings.Contains(line, "FATAL:") && !strings.Contains(line, "starting up") && !strings.Contains(line, "not yet accepting") &&
		!strings.Contains(line, "shutting down") && !strings.Contains(line, "administrator command"):
		return slog.LevelWarn
	}
	return slog.LevelDebug
}
