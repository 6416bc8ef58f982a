package servers

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// PureFTPDOptions says what a Pure-FTPd serves.
type PureFTPDOptions struct {
	// Dir takes the account and the server's state. It must exist.
	Dir string
	// Root is the directory that is served. The server reads it as nobody, so it has to
	// be open to everybody, from / on.
	Root string
	// Log gets the server's output at debug level; nothing by default.
	Log *slog.Logger
}

// PureFTPD is a running Pure-FTPd for one user.
type PureFTPD struct {
	// Addr is host:port.
	Addr string
	// Password of the user.
	Password string

	p *process
}

// StartPureFTPD starts Pure-FTPd, which takes root, and returns when it greets. ctx
// bounds the start only. The server must be stopped.
func StartPureFTPD(ctx context.Context, o PureFTPDOptions) (*PureFTPD, error) {
	const hint = "install the package pure-ftpd, where vsftpd may go: Debian has one or the other"
	bin, err := find("pure-ftpd", hint)
	if err != nil {
		return nil, err
	}
	accounts, err := find("pure-pw", hint)
	if err != nil {
		return nil, err
	}
	if os.Getuid() != 0 {
		return nil, fmt.Errorf("pure-ftpd: %w: only root can start it", ErrMissing)
	}
	who, group, err := nobody()
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	s := &PureFTPD{Addr: loopback(port), Password: "s3cret"}
	users := filepath.Join(o.Dir, "users.pdb")
	add := exec.CommandContext(ctx, accounts, "useradd", "reader", "-u", who, "-g", group, "-d", o.Root, "-f", filepath.Join(o.Dir, "passwd"), "-F", users, "-m")
	add.Stdin = strings.NewReader(s.Password + "\n" + s.Password + "\n")
	if out, err := add.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("make an account for pure-ftpd: %w: %s", err, out)
	}
	log := o.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if s.p, err = startProcess(ctx, log, greets, s.Addr, bin, "--ipv4only", "--bind", "127.0.0.1,"+strconv.Itoa(port), "--noanonymous", "--chrooteveryone", "--dontresolve",
		"--minuid", "1", "--login", "puredb:"+users, "--pidfile", filepath.Join(o.Dir, "pid"), "--maxclientsperip", "30"); err != nil {
		return nil, err
	}
	return s, nil
}

// URL returns the source URL of a directory below the root.
func (s *PureFTPD) URL(dir string) string {
	return "ftp://reader@" + s.Addr + path.Clean("/"+dir)
}

// Stop ends the server and its sessions.
func (s *PureFTPD) Stop() { s.p.stop() }
