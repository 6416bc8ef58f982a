package servers

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/user"
	"path"
	"path/filepath"
	"strings"
)

// PureFTPDOptions says what a Pure-FTPd serves.
type PureFTPDOptions struct {
	// Dir takes its database of users and its certificate. It must exist.
	Dir string
	// Root is the directory that is served. Started by root, the server reads it as
	// nobody: then it has to be open to everybody, from / on.
	Root string
	// TLS has it ask for TLS (ftpes) on both connections, with a certificate of its own.
	TLS bool
	// Log gets the server's output at debug level; nothing by default.
	Log *slog.Logger
}

// PureFTPD is a running Pure-FTPd for one user.
type PureFTPD struct {
	// Addr is host:port.
	Addr string
	// Password is that of the user reader.
	Password string
	// CAFile holds the certificate of a server with TLS.
	CAFile string

	scheme string
	p      *process
}

// StartPureFTPD starts Pure-FTPd as the current user and returns when it answers. ctx
// bounds the start only. The server must be stopped.
func StartPureFTPD(ctx context.Context, o PureFTPDOptions) (*PureFTPD, error) {
	bin, err := find("pure-ftpd", "run make servers")
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	s := &PureFTPD{Addr: loopback(port), Password: purePassword, scheme: "ftp"}
	users, err := pureUsers(ctx, o)
	if err != nil {
		return nil, err
	}
	// Only users of its database, each within its directory, with numbers in place of
	// names, no look-ups, and listings of any length.
	args := []string{"-S", strings.Replace(s.Addr, ":", ",", 1), "-l", "puredb:" + users, "-A", "-E", "-H", "-u", "1", "-x", "-z", "-L", "1000000:20", "-c", "30", "-C", "30",
		"-g", filepath.Join(o.Dir, "pure-ftpd.pid")}
	if o.TLS {
		s.scheme = "ftpes"
		if s.CAFile, err = writeCertificate(o.Dir); err != nil {
			return nil, err
		}
		both, err := joined(o.Dir, "key.pem", filepath.Base(s.CAFile))
		if err != nil {
			return nil, err
		}
		args = append(args, "-Y", "3", "-2", both)
	}
	log := o.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if s.p, err = startProcess(ctx, log, greets, s.Addr, bin, args...); err != nil {
		return nil, err
	}
	return s, nil
}

// purePassword is that of the user reader, and pureHash as crypt keeps it: pure-pw and the
// server would take a second of a processor for each hash of their own choice.
const (
	purePassword = "s3cret"
	pureHash     = "$1$abcdefgh$7.vq19w/w3Vm.hk1FOA7Q/"
)

// pureUsers makes the server's database, with the user reader.
func pureUsers(ctx context.Context, o PureFTPDOptions) (file string, err error) {
	bin, err := find("pure-pw", "run make servers")
	if err != nil {
		return "", err
	}
	who, group, err := nobody()
	if err != nil {
		return "", err
	}
	u, err := user.Lookup(who)
	if err != nil {
		return "", fmt.Errorf("find the user %s: %w", who, err)
	}
	g, err := user.LookupGroup(group)
	if err != nil {
		return "", fmt.Errorf("find the group %s: %w", group, err)
	}
	file = filepath.Join(o.Dir, "users.pdb")
	line := strings.Join([]string{"reader", pureHash, u.Uid, g.Gid, "", o.Root + "/./"}, ":") + strings.Repeat(":", 12) + "\n"
	if err := os.WriteFile(filepath.Join(o.Dir, "users"), []byte(line), 0o600); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, bin, "mkdb", file, "-f", filepath.Join(o.Dir, "users")) //nolint:gosec // of a test
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("pure-pw: %w: %s", err, bytes.TrimSpace(out))
	}
	return file, nil
}

// joined writes files one after another into one.
func joined(dir string, names ...string) (string, error) {
	var all []byte
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return "", err
		}
		all = append(all, text...)
	}
	to := filepath.Join(dir, "both.pem")
	return to, os.WriteFile(to, all, 0o600)
}

// URL returns the source URL of a directory below the root.
func (s *PureFTPD) URL(dir string) string {
	return s.scheme + "://reader@" + s.Addr + path.Clean("/"+dir)
}

// Stop ends the server and its sessions.
func (s *PureFTPD) Stop() { s.p.stop() }
