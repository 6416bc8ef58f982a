package poll

import (
	"bufio"
	"fmt"
	"net"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"tributary/internal/config"
	"tributary/internal/remote/connectors"
)

// oldFTP is an FTP server without MLSD, whose clock, zone and format the test drives. Its
// files have the times that it wrote them at.
type oldFTP struct {
	mu    sync.Mutex
	now   time.Time            // by its clock
	files map[string]time.Time // in the directory add, all of five bytes
	// at is a time as it shows it: of its zone, by the rules for that very time, or
	// those of now.
	at func(written, now time.Time) time.Time
	// never: it never shows a year.
	never bool
	// mdtm: it tells exact times, too.
	mdtm  bool
	asked int
}

const halfAYear = 182 * 24 * time.Hour

// list is what LIST says.
func (s *oldFTP) list() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for name, written := range s.files {
		form := "Jan _2 15:04"
		if age := s.now.Sub(written); !s.never && (age > halfAYear || age < 0) {
			form = "Jan _2  2006"
		}
		fmt.Fprintf(&b, "-rw-r--r--    1 ftp ftp 5 %s %s\r\n", s.at(written, s.now).Format(form), name)
	}
	return b.String()
}

func (s *oldFTP) start(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go s.serve(conn)
		}
	}()
	return "ftp://" + l.Addr().String() + "/"
}

func (s *oldFTP) serve(conn net.Conn) {
	defer conn.Close()
	say := func(format string, args ...any) { fmt.Fprintf(conn, format+"\r\n", args...) }
	say("220 hello")
	in := bufio.NewScanner(conn)
	var data net.Listener
	dir := "/"
	for in.Scan() {
		word, arg, _ := strings.Cut(in.Text(), " ")
		switch word {
		case "USER":
			say("230 in")
		case "FEAT":
			if s.mdtm {
				say("211-F\r\n MDTM\r\n211 End")
			} else {
				say("211 none")
			}
		case "PWD":
			say(`257 "/"`)
		case "TYPE":
			say("200 ok")
		case "CWD":
			if arg != "/" && path.Base(arg) != "add" {
				say("550 no such directory")
				continue
			}
			dir = arg
			say("250 ok")
		case "EPSV":
			data, _ = net.Listen("tcp", "127.0.0.1:0")
			say("229 ok (|||%d|)", data.Addr().(*net.TCPAddr).Port)
		case "LIST", "RETR":
			text := "drwxr-xr-x 2 ftp ftp 4096 Jan  1  2020 add\r\n"
			if path.Base(dir) == "add" {
				text = s.list()
			}
			if word == "RETR" {
				text = "bytes"
			}
			say("150 here")
			if to, err := data.Accept(); err == nil {
				fmt.Fprint(to, text)
				_ = to.Close()
			}
			_ = data.Close()
			say("226 done")
		case "MDTM":
			s.mu.Lock()
			written, there := s.files[path.Base(arg)]
			s.asked++
			said := s.at(written, s.now).Format("20060102150405")
			s.mu.Unlock()
			if there {
				say("213 %s", said)
			} else {
				say("550 no")
			}
		case "QUIT":
			say("221 bye")
			return
		default:
			say("502 no")
		}
	}
}

// zones by which servers show times.
func utc(written, _ time.Time) time.Time { return written.UTC() }

// berlin knows the rules: a time of summer is shown as of summer.
func berlin(t *testing.T) func(written, now time.Time) time.Time {
	zone := zoneOf(t)
	return func(written, _ time.Time) time.Time { return written.In(zone) }
}

// berlinNow shows all times by the difference from UTC of now, as vsftpd does.
func berlinNow(t *testing.T) func(written, now time.Time) time.Time {
	zone := zoneOf(t)
	return func(written, now time.Time) time.Time {
		_, offset := now.In(zone).Zone()
		return written.UTC().Add(time.Duration(offset) * time.Second)
	}
}

func zoneOf(t *testing.T) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

// A file whose size stays is no new file because its server shows its time in another
// way: not as half a year is over, nor as daylight saving begins or ends, by whatever
// rule, nor after a year of a server that shows none.
func TestTimesShownOtherwiseMakeNoFileNew(t *testing.T) {
	day := 24 * time.Hour
	spring, autumn := time.Date(2026, 3, 29, 1, 0, 0, 0, time.UTC), time.Date(2026, 10, 25, 1, 0, 0, 0, time.UTC)
	written := map[string]time.Duration{ // before the change
		"H.2026-01-02.1.impc.zip": 100*day + 23*time.Second, "H.2026-01-02.2.impc.zip": 30*day + 11*time.Hour + 59*time.Second,
		"H.2026-01-02.3.impc.zip": 60 * day, "H.2026-01-02.4.impc.zip": 2 * time.Hour,
	}
	for name, tt := range map[string]struct {
		change time.Time
		polls  []time.Duration // before and after the change
		at     func(*testing.T) func(written, now time.Time) time.Time
		never  bool
		mdtm   bool
	}{
		"half a year is over":                            {change: spring.Add(-40 * day), polls: []time.Duration{-time.Hour, 80 * day, 90 * day, 120 * day, 151 * day, 152 * day, 153 * day, 200 * day}},
		"half a year is over, in a zone":                 {change: spring.Add(-40 * day), polls: []time.Duration{-time.Hour, 80 * day, 120 * day, 153 * day, 200 * day}, at: berlin},
		"half a year is over, by the zone of now":        {change: spring.Add(-40 * day), polls: []time.Duration{-time.Hour, 80 * day, 120 * day, 153 * day, 200 * day, 260 * day}, at: berlinNow},
		"years are never shown":                          {change: spring, polls: []time.Duration{-time.Hour, 200 * day, 300 * day, 330 * day, 364 * day, 366 * day, 800 * day}, never: true},
		"summer begins":                                  {change: spring, polls: []time.Duration{-time.Hour, time.Hour, day}, at: berlin},
		"summer begins, by the zone of now":              {change: spring, polls: []time.Duration{-time.Hour, time.Hour, day}, at: berlinNow},
		"summer ends":                                    {change: autumn, polls: []time.Duration{-time.Hour, time.Hour, day}, at: berlin},
		"summer ends, by the zone of now":                {change: autumn, polls: []time.Duration{-time.Hour, time.Hour, day}, at: berlinNow},
		"exact times, as summer begins":                  {change: spring, polls: []time.Duration{-time.Hour, time.Hour, day}, at: berlin, mdtm: true},
		"exact times, as summer begins, by that of now":  {change: spring, polls: []time.Duration{-time.Hour, time.Hour, day}, at: berlinNow, mdtm: true},
		"exact times, as summer ends, by that of now":    {change: autumn, polls: []time.Duration{-time.Hour, time.Hour, day, 300 * day}, at: berlinNow, mdtm: true},
		"exact times, half a year is over, of no summer": {change: autumn, polls: []time.Duration{-time.Hour, 80 * day, 120 * day, 200 * day}, mdtm: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := &oldFTP{files: map[string]time.Time{}, never: tt.never, mdtm: tt.mdtm, at: utc}
			if tt.at != nil {
				s.at = tt.at(t)
			}
			for file, before := range written {
				s.files[file] = tt.change.Add(-before)
			}
			b := newFTP(t, s)
			for i, after := range tt.polls {
				b.at(s, tt.change.Add(after))
				if got := b.listing(); got != "complete" {
					t.Fatalf("the poll ended %s: %s", got, b.text("SELECT message FROM control.poll"))
				}
				if looks := b.text("SELECT count(*), max(look) FROM control.look"); looks != "4 1" {
					t.Fatalf("after %d polls there are, with their greatest number, %s looks of 4 files", i+1, looks)
				}
			}
			// What is really another version is one.
			s.files["H.2026-01-02.2.impc.zip"] = s.now.Add(-time.Hour - 7*time.Minute)
			b.listing()
			if looks := b.text("SELECT count(*), max(look) FROM control.look"); looks != "5 2" {
				t.Errorf("after one was overwritten there are %s looks", looks)
			}
		})
	}
}

type ftpBench struct{ *bench }

func newFTP(t *testing.T, s *oldFTP) ftpBench {
	t.Helper()
	b := newBench(t)
	b.once = true
	b.deps.Dial = connectors.All().Dial
	b.define(config.Source{ID: "src", Centre: "H", URL: s.start(t)})
	return ftpBench{b}
}

// at sets both clocks.
func (b ftpBench) at(s *oldFTP, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b.now, s.now = now, now
}
