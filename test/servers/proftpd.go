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
)

// ProFTPDOptions says what a ProFTPD serves.
type ProFTPDOptions struct {
	// Dir takes configuration, keys and state. It must exist.
	Dir string
	// Root is the directory that is served, read-only. Started by root, the server
	// reads it as nobody: then it has to be open to everybody, from / on.
	Root string
	// TLS, when set, is how it encrypts: ftpes (after AUTH TLS) or ftps (at once),
	// with a certificate of its own. Data connections must resume the session of
	// the control connection.
	TLS string
	// Extra lines for proftpd.conf; the last value of a setting counts.
	Extra []string
	// Log gets the server's output at debug level; nothing by default.
	Log *slog.Logger
}

// ProFTPD is a running ProFTPD for one anonymous, read-only user.
type ProFTPD struct {
	// Addr is host:port.
	Addr string
	// CAFile holds the certificate of a server with TLS.
	CAFile string

	scheme string
	p      *process
}

// StartProFTPD starts ProFTPD as the current user and returns when it answers. ctx
// bounds the start only. The server must be stopped.
func StartProFTPD(ctx context.Context, o ProFTPDOptions) (*ProFTPD, error) {
	bin, err := find("proftpd", "run make servers")
	if err != nil {
		return nil, err
	}
	modules := filepath.Join(filepath.Dir(bin), "../lib/proftpd")
	if _, err := os.Stat(filepath.Join(modules, "mod_tls.so")); err != nil && o.TLS != "" {
		return nil, fmt.Errorf("proftpd with TLS: %w: install the package proftpd-mod-crypto", ErrMissing)
	}
	who, group, err := nobody()
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	at := func(name string) string { return filepath.Join(o.Dir, name) }
	s := &ProFTPD{Addr: loopback(port), scheme: "ftp"}
	lines := []string{
		"ServerType standalone", "DefaultAddress 127.0.0.1", fmt.Sprintf("Port %d", port), "UseIPv6 off", "RequireValidShell off", "UseFtpUsers off",
		"User " + who, "Group " + group, "MaxInstances 30", "TimesGMT on", "WtmpLog off", "UseReverseDNS off",
		fmt.Sprintf("PidFile %q", at("proftpd.pid")), fmt.Sprintf("ScoreboardFile %q", at("scoreboard")), fmt.Sprintf("SystemLog %q", at("system.log")), "TransferLog none",
		fmt.Sprintf("DelayTable %q", at("delay")), "DelayEngine off",
		fmt.Sprintf("<Anonymous %q>", o.Root), "User " + who, "Group " + group, "UserAlias anonymous " + who, "RequireValidShell off",
		"<Limit WRITE>", "DenyAll", "</Limit>", "</Anonymous>",
	}
	up := greets
	if o.TLS != "" {
		s.scheme = o.TLS
		if s.CAFile, err = writeCertificate(o.Dir); err != nil {
			return nil, err
		}
		tls := []string{
			"ModulePath " + modules, "LoadModule mod_tls.c", "TLSEngine on", "TLSRequired on", "TLSProtocol TLSv1.2 TLSv1.3", fmt.Sprintf("TLSLog %q", at("tls.log")),
			fmt.Sprintf("TLSECCertificateFile %q", s.CAFile), fmt.Sprintf("TLSECCertificateKeyFile %q", at("key.pem")),
		}
		if o.TLS == "ftps" {
			tls, up = append(tls, "TLSOptions UseImplicitSSL"), encrypts
		}
		lines = append(tls, lines...)
	}
	config := at("proftpd.conf")
	if err := os.WriteFile(config, []byte(strings.Join(append(lines, o.Extra...), "\n")+"\n"), 0o600); err != nil {
		return nil, fmt.Errorf("write proftpd.conf: %w", err)
	}
	log := o.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if s.p, err = startProcess(ctx, log, up, s.Addr, bin, "--nodaemon", "--config", config); err != nil {
		return nil, err
	}
	return s, nil
}

// nobody is as whom a server of root's serves, which would refuse root; anybody
// else's serves as who starts it.
func nobody() (who, group string, err error) {
	if os.Getuid() == 0 {
		return "nobody", "nogroup", nil
	}
	u, err := user.Current()
	if err != nil {
		return "", "", fmt.Errorf("find the current user: %w", err)
	}
	g, err := user.LookupGroupId(u.Gid)
	if err != nil {
		return "", "", fmt.Errorf("find the current group: %w", err)
	}
	return u.Username, g.Name, nil
}

// URL returns the source URL of a directory below the root.
func (s *ProFTPD) URL(dir string) string {
	return s.scheme + "://anonymous@" + s.Addr + path.Clean("/"+dir)
}

// Stop ends the server and its sessions.
func (s *ProFTPD) Stop() { s.p.stop() }
