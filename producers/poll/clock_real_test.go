package poll

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"tributary/internal/config"
	"tributary/internal/remote/connectors"
	"tributary/test/servers"
	"tributary/test/wait"
)

// realFTP is a real FTP server that shows its files in a zone.
type realFTP struct {
	url, addr, user, password string
	stop                      func()
}

// realFTPs are the servers, as the process's zone is when they are started. Only vsftpd,
// which make servers installs, is required: it unpacks the others where it can.
var realFTPs = map[string]func(*testing.T, string) (realFTP, error){
	"vsftpd": func(t *testing.T, root string) (realFTP, error) {
		s, err := servers.StartVSFTPD(t.Context(), servers.VSFTPDOptions{Dir: t.TempDir(), Root: root, Extra: []string{"use_localtime=YES"}})
		servers.Need(t, err)
		return realFTP{s.URL(""), s.Addr, s.User, "x", s.Stop}, nil
	},
	"ProFTPD": func(t *testing.T, root string) (realFTP, error) {
		s, err := servers.StartProFTPD(t.Context(), servers.ProFTPDOptions{Dir: t.TempDir(), Root: root, Extra: []string{"TimesGMT off"}})
		if err != nil {
			return realFTP{}, err
		}
		return realFTP{s.URL(""), s.Addr, "anonymous", "x", s.Stop}, nil
	},
	"Pure-FTPd": func(t *testing.T, root string) (realFTP, error) {
		s, err := servers.StartPureFTPD(t.Context(), servers.PureFTPDOptions{Dir: t.TempDir(), Root: root})
		if err != nil {
			return realFTP{}, err
		}
		return realFTP{s.URL(""), s.Addr, "reader", s.Password, s.Stop}, nil
	},
}

func startFTP(t *testing.T, name, root string) realFTP {
	t.Helper()
	s, err := realFTPs[name](t, root)
	if errors.Is(err, servers.ErrMissing) {
		t.Skipf("skipped: %v", err)
	}
	servers.Need(t, err)
	return s
}

// openRoot is a directory that servers of another account may read, with add in it.
func openRoot(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "add"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{root, filepath.Dir(root)} {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func putAged(t *testing.T, root, name string, age time.Duration) {
	t.Helper()
	path := filepath.Join(root, "add", name)
	if err := os.WriteFile(path, []byte("bytes"), 0o644); err != nil {
		t.Fatal(err)
	}
	written := time.Now().Add(-age)
	if err := os.Chtimes(path, written, written); err != nil {
		t.Fatal(err)
	}
}

// without is a way to a server that hides MLSD, so that LIST and MDTM are used.
func (s realFTP) without(t *testing.T) realFTP {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer client.Close()
				server, err := net.Dial("tcp", s.addr)
				if err != nil {
					return
				}
				defer server.Close()
				go func() { _, _ = io.Copy(server, client); _ = server.Close() }()
				for lines := bufio.NewReader(server); ; {
					line, err := lines.ReadString('\n')
					if !strings.HasPrefix(line, " MLS") {
						_, _ = io.WriteString(client, line)
					}
					if err != nil {
						return
					}
				}
			}()
		}
	}()
	s.url = strings.Replace(s.url, s.addr, l.Addr().String(), 1)
	return s
}

// raw is what LIST says of the directory add.
func (s realFTP) raw(t *testing.T) string {
	t.Helper()
	c, err := textproto.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	hear := func(code int) string {
		t.Helper()
		_, text, err := c.ReadResponse(code)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	say := func(code int, format string, args ...any) string {
		t.Helper()
		if err := c.PrintfLine(format, args...); err != nil {
			t.Fatal(err)
		}
		return hear(code)
	}
	hear(220)
	say(0, "USER %s", s.user) // some want no password after that
	say(2, "PASS %s", s.password)
	say(250, "CWD add")
	port, err := strconv.Atoi(regexp.MustCompile(`\|\|\|(\d+)\|`).FindStringSubmatch(say(229, "EPSV"))[1])
	if err != nil {
		t.Fatal(err)
	}
	data, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Fatal(err)
	}
	defer data.Close()
	say(1, "LIST")
	text, err := io.ReadAll(data)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// yearShown tells whether LIST shows a file with its year, not the time of its day.
func yearShown(t *testing.T, listing, name string) bool {
	t.Helper()
	for line := range strings.Lines(listing) {
		if strings.Contains(line, name) {
			return !regexp.MustCompile(`\d\d:\d\d`).MatchString(line)
		}
	}
	t.Fatalf("%s is not shown:\n%s", name, listing)
	return false
}

// realBench polls a server whose password is in a file.
func realBench(t *testing.T) *bench {
	b := newBench(t)
	b.once, b.now = true, time.Now()
	b.deps.Dial = connectors.All().Dial
	return b
}

func (b *bench) polls(s realFTP, about string, files int) {
	b.t.Helper()
	secret := filepath.Join(b.t.TempDir(), "password")
	if err := os.WriteFile(secret, []byte(s.password), 0o600); err != nil {
		b.t.Fatal(err)
	}
	b.define(config.Source{ID: "src", Centre: "H", URL: s.url, Password: config.Secret("file:" + secret)})
	if got := b.listing(); got != "complete" {
		b.t.Fatalf("%s the poll ended %s: %s", about, got, b.text("SELECT message FROM control.poll"))
	}
	if looks := b.text("SELECT count(*), max(look) FROM control.look"); looks != fmt.Sprint(files, " 1") {
		b.t.Errorf("%s there are, with their greatest number, %s looks of %d files", about, looks, files)
	}
}

// A real server that comes to daylight saving and back makes no file new: not where it
// shows all times by its zone's difference from UTC of now, those of MDTM too (vsftpd),
// nor where it knows MLSD, whose times are in UTC, or is asked by LIST all the same.
func TestDaylightSavingOnRealServers(t *testing.T) {
	for _, tt := range []struct {
		server string
		mlsd   bool
		moved  string // by which the times that it shows have moved at last
	}{
		{"vsftpd", false, "-3600000000000"},
		{"ProFTPD", true, ""},
		{"ProFTPD", false, ""}, // its MDTM is in UTC
		{"Pure-FTPd", true, ""},
		{"Pure-FTPd", false, ""},
	} {
		t.Run(fmt.Sprintf("%s, MLSD %v", tt.server, tt.mlsd), func(t *testing.T) {
			root := openRoot(t)
			// Two are of these days, shown to the minute; the last is shown to the day.
			putAged(t, root, good, 3*24*time.Hour)
			putAged(t, root, good2, 4*24*time.Hour+time.Hour)
			putAged(t, root, "H.2026-01-02.3.impc.zip", 370*24*time.Hour)
			b := realBench(t)
			for _, zone := range []string{"CET-1", "CEST-2", "CET-1"} {
				t.Setenv("TZ", zone)
				s := startFTP(t, tt.server, root)
				to := s
				if !tt.mlsd {
					to = s.without(t)
				}
				b.polls(to, "in "+zone, 3)
				s.stop()
			}
			if moved := b.text("SELECT coalesce(clock->>'moved', '') FROM control.source"); moved != tt.moved {
				t.Errorf("the times have moved by %q at last, so this server is not one of which the test tells", moved)
			}
		})
	}
}

// A real server that shows a file's year, no longer the time of its day, once half a year
// is over makes no file new.
func TestHalfAYearOnRealServers(t *testing.T) {
	const day = 24 * time.Hour
	for name := range realFTPs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := openRoot(t)
			s := startFTP(t, name, root)
			t.Cleanup(s.stop)
			// What the server takes for half a year.
			halves := []time.Duration{180 * day, 182 * day, 15778476 * time.Second, 183 * day}
			for i, half := range halves {
				putAged(t, root, fmt.Sprint("younger", i), half-time.Hour)
				putAged(t, root, fmt.Sprint("older", i), half+time.Hour)
			}
			var half time.Duration
			listing := s.raw(t)
			for i, h := range halves {
				if !yearShown(t, listing, fmt.Sprint("younger", i)) && yearShown(t, listing, fmt.Sprint("older", i)) {
					half = h
				}
			}
			if half == 0 {
				t.Fatalf("what half a year is to this server is not among those of the test:\n%s", listing)
			}
			putAged(t, root, good, half-20*time.Second)
			b := realBench(t)
			b.polls(s.without(t), "before half a year", 1)
			if yearShown(t, s.raw(t), good) {
				t.Skip("skipped: this machine is too busy: half a year was over before the first poll was")
			}
			over := time.NewTimer(wait.Patience())
			defer over.Stop()
			for !yearShown(t, s.raw(t), good) {
				select {
				case <-over.C:
					t.Fatal("half a year is not over")
				case <-time.After(time.Second):
				}
			}
			b.now = time.Now()
			b.polls(s.without(t), "after half a year", 1)
		})
	}
}
