package servers

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // the oldest form of password that both servers read
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// HTTPDOptions says what an HTTP server serves.
type HTTPDOptions struct {
	// Dir takes configuration, logs and keys. It must exist.
	Dir string
	// Root is the directory that is served, with indexes. Apache, started by root,
	// reads it as nobody: then it has to be open to everybody, from / on.
	Root string
	// Password, when set, is what the user reader must give.
	Password string
	// TLS serves https, with a certificate of the server's own (nginx).
	TLS bool
	// WebDAV answers PROPFIND too (Apache).
	WebDAV bool
	// Locks is a directory in which Apache may note locks, without which it changes
	// nothing by WebDAV.
	Locks string
	// Extra lines of configuration: of nginx's server, of Apache's directory.
	Extra []string
	// Log gets the server's output at debug level; nothing by default.
	Log *slog.Logger
}

// HTTPD is a running HTTP server.
type HTTPD struct {
	// Addr is host:port.
	Addr string
	// AccessLog is the file in which the server notes its requests.
	AccessLog string
	// Times is the file in which the server notes when requests were answered, in seconds
	// of the epoch with fractions: nginx when, how long that took, and the first line;
	// Apache when it began, when it ended, and the first line.
	Times string
	// CAFile holds the certificate of a server with TLS.
	CAFile string

	secure bool
	user   string
	p      *process
}

// URL returns the source URL of a directory below the root.
func (s *HTTPD) URL(dir string) string {
	scheme := "http://"
	if s.secure {
		scheme = "https://"
	}
	return scheme + s.user + s.Addr + path.Clean("/"+dir)
}

// Stop ends the server and its connections.
func (s *HTTPD) Stop() { s.p.stop() }

// StartNginx starts nginx as the current user and returns when it answers. ctx
// bounds the start only. The server must be stopped.
func StartNginx(ctx context.Context, o HTTPDOptions) (*HTTPD, error) {
	return startHTTPD(ctx, o, "nginx", "install the package nginx-light", func(s *HTTPD, dir, root, passwords string) (lines, args []string) {
		lines = []string{"daemon off;", "worker_processes 1;", "pid nginx.pid;"}
		if os.Getuid() == 0 {
			lines = append(lines, "user root;")
		}
		listen := "listen " + s.Addr
		if o.TLS {
			listen += " ssl"
		}
		lines = append(lines, "events { worker_connections 256; }", "http {", fmt.Sprintf("access_log %q;", s.AccessLog),
			`log_format times '$msec $request_time $request';`, fmt.Sprintf("access_log %q times;", s.Times), "types { application/zip zip; text/html html; }")
		for _, temp := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
			lines = append(lines, fmt.Sprintf("%s_temp_path %q;", temp, filepath.Join(dir, temp)))
		}
		lines = append(lines, "server {", listen+";", fmt.Sprintf("root %q;", root), "autoindex on;")
		if o.TLS {
			lines = append(lines, fmt.Sprintf("ssl_certificate %q;", s.CAFile), fmt.Sprintf("ssl_certificate_key %q;", filepath.Join(dir, "key.pem")))
		}
		if passwords != "" {
			lines = append(lines, `auth_basic "files";`, fmt.Sprintf("auth_basic_user_file %q;", passwords))
		}
		return append(append(lines, o.Extra...), "}", "}"), []string{"-p", dir, "-e", "stderr", "-c"}
	})
}

// StartApache starts Apache httpd and returns when it answers. ctx bounds the
// start only. The server must be stopped.
func StartApache(ctx context.Context, o HTTPDOptions) (*HTTPD, error) {
	const modules = "/usr/lib/apache2/modules"
	if o.TLS {
		return nil, errors.New("start apache2: it is served without TLS only")
	}
	return startHTTPD(ctx, o, "apache2", "install the package apache2-bin", func(s *HTTPD, dir, root, passwords string) (lines, args []string) {
		lines = []string{fmt.Sprintf("ServerRoot %q", dir), "ServerName localhost", "Listen " + s.Addr, "PidFile httpd.pid", "ErrorLog error.log"}
		for _, m := range []string{"mpm_event", "authz_core", "authz_user", "authn_core", "authn_file", "auth_basic", "autoindex", "mime", "dir", "alias"} {
			lines = append(lines, fmt.Sprintf("LoadModule %s_module %s/mod_%s.so", m, modules, m))
		}
		if o.WebDAV {
			for _, m := range []string{"dav", "dav_fs"} {
				lines = append(lines, fmt.Sprintf("LoadModule %s_module %s/mod_%s.so", m, modules, m))
			}
			lines = append(lines, fmt.Sprintf("DavLockDB %q", filepath.Join(o.Locks, "locks")))
		}
		if os.Getuid() == 0 {
			lines = append(lines, "User #65534", "Group #65534")
		}
		lines = append(lines, `LogFormat "%h %l %u %t \"%r\" %>s" common`, fmt.Sprintf("CustomLog %q common", s.AccessLog),
			`LogFormat "%{begin:sec}t.%{begin:usec_frac}t %{end:sec}t.%{end:usec_frac}t %r" times`, fmt.Sprintf("CustomLog %q times", s.Times), "TypesConfig /dev/null",
			fmt.Sprintf("DocumentRoot %q", root), fmt.Sprintf("<Directory %q>", root), "Options +Indexes")
		if o.WebDAV {
			lines = append(lines, "Dav On")
		}
		if passwords != "" {
			lines = append(lines, "AuthType Basic", "AuthName files", fmt.Sprintf("AuthUserFile %q", passwords), "Require valid-user")
		}
		return append(append(lines, o.Extra...), "</Directory>"), []string{"-DFOREGROUND", "-f"}
	})
}

// OpenToAll lets a server that runs as another account, as Apache does where root starts
// it, reach a directory of a test and change what is in it.
func OpenToAll(dir string) error {
	const above = 2 // directories that a test has made for this one
	for i, at := 0, filepath.Dir(dir); i < above; i, at = i+1, filepath.Dir(at) {
		if err := os.Chmod(at, 0o755); err != nil { //nolint:gosec // of a test
			return err
		}
	}
	return filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() {
			return err
		}
		return os.Chmod(p, 0o777) //nolint:gosec // of a test
	})
}

// startHTTPD starts a server with the lines of configuration that configure
// returns, whose file is the last of its arguments.
func startHTTPD(ctx context.Context, o HTTPDOptions, program, hint string, configure func(s *HTTPD, dir, root, passwords string) (lines, args []string)) (*HTTPD, error) {
	bin, err := find(program, hint)
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
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	s := &HTTPD{Addr: loopback(port), AccessLog: filepath.Join(dir, "access.log"), Times: filepath.Join(dir, "times.log"), secure: o.TLS}
	passwords := ""
	if o.Password != "" {
		s.user, passwords = "reader@", filepath.Join(dir, "passwords")
		sum := sha1.Sum([]byte(o.Password)) //nolint:gosec // as above
		if err := os.WriteFile(passwords, []byte("reader:{SHA}"+base64.StdEncoding.EncodeToString(sum[:])+"\n"), 0o644); err != nil {
			return nil, fmt.Errorf("write passwords: %w", err)
		}
	}
	if o.TLS {
		if s.CAFile, err = writeCertificate(dir); err != nil {
			return nil, err
		}
	}
	lines, args := configure(s, dir, root, passwords)
	config := filepath.Join(dir, program+".conf")
	if err := os.WriteFile(config, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		return nil, fmt.Errorf("write %s: %w", config, err)
	}
	log := o.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if s.p, err = startProcess(ctx, log, answers, s.Addr, bin, append(args, config)...); err != nil {
		return nil, err
	}
	return s, nil
}

// answers asks for anything, since an HTTP server doesn't greet. One with TLS
// answers to that too.
func answers(addr string) error {
	conn, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(2 * time.Second)); err != nil {
		return err
	}
	if _, err := io.WriteString(conn, "HEAD /robots.txt HTTP/1.0\r\n\r\n"); err != nil {
		return err
	}
	_, err = conn.Read(make([]byte, 1))
	return err
}

// writeCertificate makes a key and a certificate for 127.0.0.1 and localhost.
func writeCertificate(dir string) (file string, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", fmt.Errorf("make a key: %w", err)
	}
	about := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	cert, err := x509.CreateCertificate(rand.Reader, about, about, key.Public(), key)
	if err != nil {
		return "", fmt.Errorf("make a certificate: %w", err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return "", fmt.Errorf("write a key: %w", err)
	}
	for name, block := range map[string]*pem.Block{"key.pem": {Type: "PRIVATE KEY", Bytes: secret}, "cert.pem": {Type: "CERTIFICATE", Bytes: cert}} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			return "", fmt.Errorf("write %s: %w", name, err)
		}
	}
	return filepath.Join(dir, "cert.pem"), nil
}
