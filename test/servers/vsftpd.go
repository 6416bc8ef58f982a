package servers

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// VSFTPDOptions says what a vsftpd serves.
type VSFTPDOptions struct {
	// Dir takes the configuration. It must exist.
	Dir string
	// Root is the directory that is served, read-only.
	Root string
	// Password, when set, is what the user anonymous must give.
	Password string
	// Port to listen on; 0 picks a free one.
	Port int
	// TLS, when set, is how it encrypts: ftpes (after AUTH TLS) or ftps (at once),
	// with a certificate of its own. Data connections must resume the session.
	TLS string
	// Extra lines for vsftpd.conf; the last value of a setting counts.
	Extra []string
	// Log gets the server's output at debug level; nothing by default.
	Log *slog.Logger
}

// VSFTPD is a running vsftpd for one anonymous, read-only user.
type VSFTPD struct {
	// Addr is host:port.
	Addr string
	// User is the name to log in with.
	User string
	// Password to log in with; empty when any does.
	Password string
	// CAFile holds the certificate of a server with TLS.
	CAFile string

	scheme string
	p      *process
}

// StartVSFTPD starts vsftpd as the current user and returns when it greets. ctx
// bounds the start only. The server must be stopped.
func StartVSFTPD(ctx context.Context, o VSFTPDOptions) (*VSFTPD, error) {
	bin, err := find("vsftpd", "install the package vsftpd")
	if err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", o.Dir, err)
	}
	root, err := filepath.Abs(o.Root)
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", o.Root, err)
	}
	empty := filepath.Join(dir, "empty")
	if err := os.MkdirAll(empty, 0o555); err != nil {
		return nil, fmt.Errorf("make directory: %w", err)
	}
	port := o.Port
	if port == 0 {
		var err error
		if port, err = freePort(); err != nil {
			return nil, err
		}
	}
	lines := vsftpdConfig(root, empty, port)
	if o.Password != "" {
		list := filepath.Join(dir, "passwords")
		if err := os.WriteFile(list, []byte(o.Password+"\n"), 0o600); err != nil {
			return nil, fmt.Errorf("write passwords: %w", err)
		}
		// The "e-mail address" of an anonymous user as a password needs neither
		// PAM nor an account.
		lines = append(lines, "no_anon_password=NO", "secure_email_list_enable=YES", "email_password_file="+list)
	}
	s := &VSFTPD{Addr: loopback(port), User: "anonymous", Password: o.Password, scheme: cmp.Or(o.TLS, "ftp")}
	up := greets
	if o.TLS != "" {
		if s.CAFile, err = writeCertificate(dir); err != nil {
			return nil, err
		}
		lines = append(lines, "ssl_enable=YES", "allow_anon_ssl=YES", "force_anon_logins_ssl=YES", "force_anon_data_ssl=YES", "require_ssl_reuse=YES", "ssl_ciphers=HIGH",
			"rsa_cert_file="+s.CAFile, "rsa_private_key_file="+filepath.Join(dir, "key.pem"))
	}
	if o.TLS == "ftps" {
		lines = append(lines, "implicit_ssl=YES")
		up = encrypts
	}
	config := filepath.Join(dir, "vsftpd.conf")
	if err := os.WriteFile(config, []byte(strings.Join(append(lines, o.Extra...), "\n")+"\n"), 0o600); err != nil {
		return nil, fmt.Errorf("write vsftpd.conf: %w", err)
	}
	log := o.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if s.p, err = startProcess(ctx, log, up, s.Addr, bin, config); err != nil {
		return nil, err
	}
	return s, nil
}

// vsftpdConfig: run_as_launching_user and the switched-off isolation are for
// sandboxes, in which a process may neither change its user nor its root.
func vsftpdConfig(root, empty string, port int) []string {
	return []string{
		"listen=YES",
		"listen_address=127.0.0.1",
		fmt.Sprintf("listen_port=%d", port),
		"background=NO",
		"run_as_launching_user=YES",
		"seccomp_sandbox=NO",
		"isolate=NO",
		"isolate_network=NO",
		"anonymous_enable=YES",
		"no_anon_password=YES",
		"anon_root=" + root,
		"anon_world_readable_only=NO",
		"local_enable=NO",
		"write_enable=NO",
		"mdtm_write=NO",
		"dirmessage_enable=NO",
		"use_localtime=NO",
		"pasv_enable=YES",
		"pasv_address=127.0.0.1",
		"max_clients=0",
		"max_per_ip=0",
		"xferlog_enable=NO",
		"syslog_enable=NO",
		"secure_chroot_dir=" + empty,
	}
}

// URL returns the source URL of a directory below the root.
func (s *VSFTPD) URL(dir string) string {
	return s.scheme + "://" + s.User + "@" + s.Addr + path.Clean("/"+dir)
}

// Stop ends the server and its sessions.
func (s *VSFTPD) Stop() { s.p.stop() }

// encrypts waits for a handshake, since a server with TLS from the first byte on
// doesn't greet before. Whom it is with doesn't count.
func encrypts(addr string) error {
	conn, err := tls.DialWithDialer(&net.Dialer{Timeout: 2 * time.Second}, "tcp", addr, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // nothing is said to it
	if err != nil {
		return err
	}
	return conn.Close()
}
