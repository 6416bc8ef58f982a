package pace

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"tributary/internal/remote"
	"tributary/test/servers"
)

// request is what a server's log says of one thing that it was asked for, in durations
// since the epoch.
type request struct {
	began time.Duration
	ended time.Duration // when it had answered; 0: the log doesn't say
	what  string
}

// server is a server that serves what is in root, from which its log is read when it has
// stopped.
type server struct {
	remote.Config
	stop func()
	log  string
}

// kind is a kind of server, and what its log says.
type kind struct {
	// start has a server of HTTP send on, from add/moved.zip to /edit/a.zip, which its
	// robots.txt forbids, and from add/mirror.zip and add/elsewhere.zip to a mirror's
	// /add/a.zip and /edit/a.zip.
	start func(t *testing.T, root, mirror string) server
	// parse reads a line; ok is false where it is of no request.
	parse func(line string) (r request, ok bool, err error)
	// late is by how much a time may be before what it is of. No time is after that by
	// more than a few milliseconds, where exact is set.
	late  time.Duration
	exact bool
	// way is how many bytes machines keep on the way, so that the server has sent them.
	way int64
}

// kinds are the servers by name.
func kinds() map[string]kind {
	return map[string]kind{
		"nginx":   {startNginx, parseNginx, 4 * time.Millisecond, true, 10 << 20}, // times are made of two numbers of milliseconds
		"apache":  {startApache, parseApache, time.Millisecond, true, 10 << 20},
		"openssh": {startOpenSSH, parseOpenSSH, time.Millisecond, false, 6 << 20},
		"vsftpd":  {startVSFTPD, parseVSFTPD, time.Second, false, 10 << 20}, // its log has whole seconds
	}
}

func startNginx(t *testing.T, root, mirror string) server {
	nginx, err := servers.StartNginx(t.Context(), servers.HTTPDOptions{Dir: t.TempDir(), Root: root, Extra: []string{"location = /add/moved.zip { return 302 /edit/a.zip; }",
		"location = /add/mirror.zip { return 302 " + mirror + "/add/a.zip; }", "location = /add/elsewhere.zip { return 302 " + mirror + "/edit/a.zip; }"}})
	servers.Need(t, err)
	return server{remote.Config{URL: nginx.URL("/")}, nginx.Stop, nginx.Times}
}

// parseNginx reads when a request was answered, and how long that took.
func parseNginx(line string) (r request, ok bool, err error) {
	parts := strings.SplitN(line, " ", 3)
	if r.ended, err = seconds(parts[0]); err != nil {
		return r, false, err
	}
	took, err := seconds(parts[1])
	if err != nil {
		return r, false, err
	}
	r.began, r.what = r.ended-took, parts[2]
	return r, !strings.HasSuffix(r.what, "HTTP/1.0"), nil // whoever started it has looked whether it answers
}

func startApache(t *testing.T, root, mirror string) server {
	apache, err := servers.StartApache(t.Context(), servers.HTTPDOptions{Dir: t.TempDir(), Root: root,
		Extra: []string{"Options +Indexes -FollowSymLinks", "IndexOptions FancyIndexing", "RedirectMatch 302 ^/add/moved.zip$ /edit/a.zip",
			"RedirectMatch 302 ^/add/mirror.zip$ " + mirror + "/add/a.zip", "RedirectMatch 302 ^/add/elsewhere.zip$ " + mirror + "/edit/a.zip"}})
	servers.Need(t, err)
	return server{remote.Config{URL: apache.URL("/")}, apache.Stop, apache.Times}
}

// parseApache reads when a request began and ended.
func parseApache(line string) (r request, ok bool, err error) {
	parts := strings.SplitN(line, " ", 3)
	if r.began, err = seconds(parts[0]); err != nil {
		return r, false, err
	}
	r.ended, err = seconds(parts[1])
	r.what = parts[2]
	return r, !strings.HasSuffix(r.what, "HTTP/1.0"), err
}

// seconds reads seconds since the epoch.
func seconds(text string) (time.Duration, error) { return time.ParseDuration(text + "s") }

// startOpenSSH has sftp-server log what it is asked. It writes no times itself, so each
// line gets that at which it was read: it may be late, and never early.
func startOpenSSH(t *testing.T, root, _ string) server {
	dir := t.TempDir()
	log, script := filepath.Join(dir, "sftp.log"), filepath.Join(dir, "sftp.sh")
	if err := os.WriteFile(script, fmt.Appendf(nil, `{ "$(ls /usr/lib/openssh/sftp-server /usr/libexec/sftp-server /usr/libexec/openssh/sftp-server 2>/dev/null | head -1)" -e -l VERBOSE 2>&1 1>&3 3>&- |
while IFS= read -r line; do printf '%%s %%s\n' "$EPOCHREALTIME" "$line"; done >>%q; } 3>&1
`, log), 0o600); err != nil {
		t.Fatal(err)
	}
	sshd, err := servers.StartSSHD(t.Context(), servers.SSHDOptions{Dir: dir, Extra: []string{fmt.Sprintf("ForceCommand /bin/bash %s", script)}})
	servers.Need(t, err)
	return server{remote.Config{URL: sshd.URL(root), IdentityFile: sshd.IdentityFile, KnownHosts: sshd.KnownHosts}, sshd.Stop, log}
}

var sftpLine = regexp.MustCompile(`^([\d.]+) (?:(opendir|open) |(close ".*" bytes read ))`)

// parseOpenSSH reads listings, and files, whose end is a line of its own.
func parseOpenSSH(line string) (r request, ok bool, err error) {
	found := sftpLine.FindStringSubmatch(line)
	if found == nil {
		return r, false, nil
	}
	at, err := seconds(found[1])
	if found[3] != "" {
		return request{ended: at, what: line}, true, err
	}
	return request{began: at, what: line}, true, err
}

func startVSFTPD(t *testing.T, root, _ string) server {
	dir := t.TempDir()
	log := filepath.Join(dir, "vsftpd.log")
	ftp, err := servers.StartVSFTPD(t.Context(), servers.VSFTPDOptions{Dir: dir, Root: root,
		Extra: []string{"xferlog_enable=YES", "xferlog_std_format=NO", "log_ftp_protocol=YES", "vsftpd_log_file=" + log}})
	servers.Need(t, err)
	return server{remote.Config{URL: ftp.URL("/")}, ftp.Stop, log}
}

var ftpLine = regexp.MustCompile(`^(\w+ \w+ +\d+ [\d:]+ \d+) \[pid \d+\] .*(?:FTP command: .*"(?:LIST|MLSD|RETR)\b|(OK DOWNLOAD:))`)

// parseVSFTPD reads listings, and files, whose end is a line of its own.
func parseVSFTPD(line string) (r request, ok bool, err error) {
	found := ftpLine.FindStringSubmatch(line)
	if found == nil {
		return r, false, nil
	}
	at, err := time.Parse(time.ANSIC, found[1])
	if found[2] != "" {
		return request{ended: time.Duration(at.UnixNano()), what: line}, true, err
	}
	return request{began: time.Duration(at.UnixNano()), what: line}, true, err
}

// asked stops the server, and returns what its log says: requests in the order in which
// they began, and when the last answer ended.
func (s server) asked(t *testing.T, k kind) (all []request, ended time.Duration) {
	t.Helper()
	s.stop() // so that all is written
	text, err := os.ReadFile(s.log)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		r, ok, err := k.parse(strings.TrimSpace(line))
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if ended = max(ended, r.ended); ok && r.began > 0 {
			all = append(all, r)
		}
	}
	slices.SortStableFunc(all, func(a, b request) int { return int(a.began - b.began) })
	return all, ended
}
