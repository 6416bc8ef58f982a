package servers

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"strings"
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

	p *process
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
		ports, err := freePorts(1)
		if err != nil {
			return nil, err
		}
		port = ports[0]
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
	config := filepath.Join(dir, "vsftpd.conf")
	if err := os.WriteFile(config, []byte(strings.Join(append(lines, o.Extra...), "\n")+"\n"), 0o600); err != nil {
		return nil, fmt.Errorf("write vsftpd.conf: %w", err)
	}
	log := o.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s := &VSFTPD{Addr: loopback(port), User: "anonymous", Password: o.Password}
	if s.p, err = startProcess(ctx, log, greets, s.Addr, bin, config); err != nil {
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
	return "ftp://" + s.User + "@" + s.Addr + path.Clean("/"+dir)
}

// Stop ends the server and its sessions.
func (s *VSFTPD) Stop() { s.p.stop() }
