package servers

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/user"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/crypto/ssh"
)

// SSHDOptions says what an OpenSSH server serves.
type SSHDOptions struct {
	// Dir takes keys, configuration and known_hosts. It must exist.
	Dir string
	// Port to listen on; 0 picks a free one.
	Port int
	// Extra lines for sshd_config.
	Extra []string
	// Log gets the server's output at debug level; nothing by default.
	Log *slog.Logger
}

// SSHD is a running OpenSSH server with SFTP only. It runs as the current user
// and sees the whole file system as that user does.
type SSHD struct {
	// Addr is host:port.
	Addr string
	// User is the name to log in with.
	User string
	// IdentityFile is the path of the private key to log in with.
	IdentityFile string
	// KnownHosts is the path of a known_hosts file with the server's key.
	KnownHosts string
	// HostKey is the server's public key.
	HostKey ssh.PublicKey

	p *process
	// start starts the server again as it was.
	start func(context.Context) (*process, error)
}

// StartSSHD starts OpenSSH and returns when it greets. ctx bounds the start
// only. The server must be stopped.
func StartSSHD(ctx context.Context, o SSHDOptions) (*SSHD, error) {
	bin, err := find("sshd", "install the package openssh-server")
	if err != nil {
		return nil, err
	}
	me, err := user.Current()
	if err != nil {
		return nil, fmt.Errorf("find current user: %w", err)
	}
	if os.Getuid() == 0 {
		// The privilege separation of a root sshd insists on this directory,
		// which packages make when the service is started the ordinary way.
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			return nil, fmt.Errorf("make sshd's directory: %w", err)
		}
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", o.Dir, err)
	}
	s := &SSHD{User: me.Username, IdentityFile: filepath.Join(dir, "user_key"), KnownHosts: filepath.Join(dir, "known_hosts")}
	host, err := newKey(filepath.Join(dir, "host_key"), "host")
	if err != nil {
		return nil, err
	}
	login, err := newKey(s.IdentityFile, "user")
	if err != nil {
		return nil, err
	}
	authorized := filepath.Join(dir, "authorized_keys")
	if err := os.WriteFile(authorized, ssh.MarshalAuthorizedKey(login.PublicKey()), 0o600); err != nil {
		return nil, fmt.Errorf("write authorized_keys: %w", err)
	}
	port := o.Port
	if port == 0 {
		var err error
		if port, err = freePort(); err != nil {
			return nil, err
		}
	}
	s.Addr, s.HostKey = loopback(port), host.PublicKey()
	config := filepath.Join(dir, "sshd_config")
	if err := os.WriteFile(config, []byte(sshdConfig(dir, authorized, port, o.Extra)), 0o600); err != nil {
		return nil, fmt.Errorf("write sshd_config: %w", err)
	}
	if err := writeKnownHosts(s.KnownHosts, s.Addr, s.HostKey); err != nil {
		return nil, err
	}
	log := o.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s.start = func(ctx context.Context) (*process, error) {
		return startProcess(ctx, log, greets, s.Addr, bin, "-D", "-e", "-f", config)
	}
	if s.p, err = s.start(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// Restart stops the server and starts it on the same port with the same keys.
// Sessions under way go on, as OpenSSH's do.
func (s *SSHD) Restart(ctx context.Context) error {
	s.p.stop()
	p, err := s.start(ctx)
	if err != nil {
		return err
	}
	s.p = p
	return nil
}

// sshdConfig: extra lines come first, because the first value of a keyword
// counts.
func sshdConfig(dir, authorized string, port int, extra []string) string {
	lines := append([]string{}, extra...)
	lines = append(lines,
		"ListenAddress 127.0.0.1",
		fmt.Sprintf("Port %d", port),
		fmt.Sprintf("HostKey %q", filepath.Join(dir, "host_key")),
		fmt.Sprintf("AuthorizedKeysFile %q", authorized),
		"PidFile none",
		"UsePAM no",
		"StrictModes no",
		"PermitRootLogin prohibit-password",
		"PubkeyAuthentication yes",
		"PasswordAuthentication no",
		"KbdInteractiveAuthentication no",
		"AllowTcpForwarding no",
		"AllowAgentForwarding no",
		"X11Forwarding no",
		"PermitTTY no",
		"PrintMotd no",
		"UseDNS no",
		"LogLevel ERROR",
		// Tests dial in bursts.
		"MaxStartups 1000",
		"MaxSessions 1000",
		"Subsystem sftp internal-sftp",
		"ForceCommand internal-sftp",
	)
	return strings.Join(lines, "\n") + "\n"
}

// URL returns the source URL of a directory, which is an absolute path.
func (s *SSHD) URL(dir string) string {
	return "sftp://" + s.User + "@" + s.Addr + path.Clean("/"+dir)
}

// Stop ends the server; sessions under way end with their clients.
func (s *SSHD) Stop() { s.p.stop() }
