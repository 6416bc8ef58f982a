package ftp_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/remote"
	"tributary/internal/remote/connectors"
	"tributary/internal/remote/remotetest"
	"tributary/test/servers"
	"tributary/test/wait"
)

// script is an FTP server that says what it is told to: by command with its
// argument, else by command.
type script struct {
	replies map[string]string
	// data is sent for a command that opens a data connection; its reply holds
	// the line before and the one after, separated by a bar. An empty one after
	// hangs up.
	data map[string]string
	// strike takes the server's part at a step: "greeting", a command, "data of"
	// a command or "after" one.
	strike map[string]func(io.Writer)
	// passive, when set, is where data connections come.
	passive net.Listener

	mu   sync.Mutex
	seen []string
}

func (s *script) start(t *testing.T) string {
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
	return "ftp://reader@" + l.Addr().String() + "/"
}

func (s *script) reply(line string) string {
	for _, key := range []string{line, strings.Fields(line)[0]} {
		if r, ok := s.replies[key]; ok {
			return r
		}
	}
	switch strings.Fields(line)[0] {
	case "USER":
		return "331 password"
	case "PASS":
		return "230 in"
	case "PWD":
		return `257 "/home"`
	case "TYPE", "CWD":
		return "250 ok"
	}
	return "502 no"
}

// commands are the lines that clients have sent so far.
func (s *script) commands() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

func (s *script) serve(conn net.Conn) {
	defer conn.Close()
	greeting, ok := s.replies["greeting"]
	if !ok {
		greeting = "220 hello"
	}
	if strike, ok := s.strike["greeting"]; ok {
		strike(conn)
	} else {
		fmt.Fprintf(conn, "%s\r\n", greeting)
	}
	in := bufio.NewScanner(conn)
	passive := s.passive
	for in.Scan() {
		line := in.Text()
		s.mu.Lock()
		s.seen = append(s.seen, line)
		s.mu.Unlock()
		r := s.reply(line)
		if strike, ok := s.strike[strings.Fields(line)[0]]; ok {
			strike(conn)
			continue
		}
		switch word := strings.Fields(line)[0]; {
		case word == "TYPE":
			r = "200 ok"
		case word == "EPSV" && r == "502 no":
			passive, _ = net.Listen("tcp", "127.0.0.1:0")
			r = fmt.Sprintf("229 ok (|||%d|)", passive.Addr().(*net.TCPAddr).Port)
		case strings.Contains(r, "|") && passive != nil && !strings.Contains(r, "|||"):
			before, after, _ := strings.Cut(r, "|")
			fmt.Fprintf(conn, "%s\r\n", before)
			if data, err := passive.Accept(); err == nil {
				if strike, ok := s.strike["data of "+word]; ok {
					strike(data)
				} else {
					fmt.Fprint(data, s.data[word])
				}
				_ = data.Close()
			}
			_ = passive.Close()
			if strike, ok := s.strike["after "+word]; ok {
				strike(conn)
				continue
			}
			if r = after; r == "" {
				return
			}
		case r == "silence":
			continue
		}
		fmt.Fprintf(conn, "%s\r\n", r)
	}
}

// ftpSession is a session with a server that follows a script. Only where the
// script keeps silent does the client give up soon.
func ftpSession(t *testing.T, s *script) remote.Session {
	t.Helper()
	soon := time.Minute
	for _, r := range s.replies {
		if r == "silence" {
			soon = 300 * time.Millisecond
		}
	}
	var session remote.Session
	c := remote.Config{URL: s.start(t), Password: "x"}
	wait.Longer(t, soon, func(silence time.Duration) (err error) {
		c.IdleTimeout = silence
		session, err = connectors.All().Dial(t.Context(), c)
		return err
	})
	t.Cleanup(func() { _ = session.Close() })
	return session
}

func TestFTPUsesMLSDWhereTheServerHasIt(t *testing.T) {
	s := &script{
		replies: map[string]string{"FEAT": "211-Features\r\n MLST type*;size*;modify*;\r\n MDTM\r\n211 End", "MLSD": "150 here|226 done"},
		data: map[string]string{"MLSD": "type=cdir;modify=20240101000000; .\r\n" +
			"type=file;size=12;modify=20240229235958; a b.zip\r\n" +
			"Type=file;Size=5;Modify=20240229235958.123;UNIX.mode=0644; B.ZIP\r\n" +
			"type=dir;modify=20240229235958; sub\r\n" +
			"type=OS.unix=slink:/etc;size=1; link\r\n" +
			"type=file;size=x; bad.zip\r\n" +
			"what is this\r\n"},
	}
	got, err := remotetest.Entries(ftpSession(t, s), t, "add")
	if err != nil {
		t.Fatal(err)
	}
	when := time.Date(2024, 2, 29, 23, 59, 58, 0, time.UTC)
	want := []remote.Entry{
		{Name: "a b.zip", Size: 12, ModTime: when, Precision: time.Second},
		{Name: "B.ZIP", Size: 5, ModTime: when, Precision: time.Second},
		{Name: "sub", Size: -1, ModTime: when, Precision: time.Second, Kind: remote.Dir},
		{Name: "link", Size: 1, Kind: remote.Other},
		{Name: "bad.zip", Size: -1, Kind: remote.File, Invalid: "listing_entry_invalid",
			Message: `the size "x" is no number of bytes from 0 to 9223372036854775807`},
		{Name: "what is this", Size: -1, Kind: remote.Other, Unreadable: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("listing (-want +got):\n%s", diff)
	}
	seen := s.commands()
	for _, c := range seen {
		if strings.HasPrefix(c, "MDTM") || strings.HasPrefix(c, "LIST") {
			t.Errorf("asked %q although MLSD says it all", c)
		}
	}
	if seen[0] != "USER reader" || !strings.Contains(strings.Join(seen, "\n"), "CWD /home/add") {
		t.Errorf("commands %q", seen)
	}
}

func TestFTPListsWithoutTimes(t *testing.T) {
	s := &script{
		replies: map[string]string{"FEAT": "211-Features\r\n MDTM\r\n211 End", "LIST": "150 here|226 done",
			"MDTM /home/add/old.zip": "213 20190304050607", "MDTM": "550 no"},
		data: map[string]string{"LIST": "total 8\r\n" +
			"-rw-r--r--   1 u    domain users   12 Mar  4  2019 old.zip\r\n" +
			"-rw-r--r--   1 u    g              13 Mar  4  2019 refused.zip\r\n" +
			"-rw-r--r--   1 u    g              14 Mar  4  2019 note.txt\r\n" +
			"03-04-19  05:06AM       <DIR>          sub dir\r\n" +
			"garbage\r\n"},
	}
	got, err := remotetest.Entries(ftpSession(t, s), t, "add")
	if err != nil {
		t.Fatal(err)
	}
	day := time.Date(2019, 3, 4, 0, 0, 0, 0, time.UTC)
	want := []remote.Entry{
		{Name: "note.txt", Size: 14, ModTime: day, Precision: 24 * time.Hour},
		{Name: "sub dir", Size: -1, ModTime: day.Add(5*time.Hour + 6*time.Minute), Precision: time.Minute, Kind: remote.Dir},
		{Name: "garbage", Size: -1, Kind: remote.Other, Unreadable: true},
		{Name: "old.zip", Size: 12, ModTime: time.Date(2019, 3, 4, 5, 6, 7, 0, time.UTC), Precision: time.Second},
		{Name: "refused.zip", Size: 13, ModTime: day, Precision: 24 * time.Hour},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("listing (-want +got):\n%s", diff)
	}
}

// What looks the same as it is known to be is not asked for its time; whatever
// differs, was written of late, or is not known is.
func TestFTPAsksForNoTimeThatIsKnown(t *testing.T) {
	now := time.Now().UTC()
	lately := now.Add(-time.Hour).Truncate(time.Minute)
	old := time.Date(2019, 3, 4, 5, 6, 7, 0, time.UTC)
	month := now.Add(-30 * 24 * time.Hour).Truncate(time.Minute)
	line := func(size int, at, name string) string {
		return fmt.Sprintf("-rw-r--r-- 1 u g %d %s %s\r\n", size, at, name)
	}
	const minute, day = "Jan _2 15:04", "Jan _2  2006"
	s := &script{
		replies: map[string]string{"FEAT": "211-F\r\n MDTM\r\n211 End", "LIST": "150 here|226 done", "MDTM": "213 20200101000000"},
		data: map[string]string{"LIST": line(5, old.Format(day), "old.zip") + line(5, month.Format(minute), "month.zip") +
			line(6, old.Format(day), "size.zip") + line(5, old.AddDate(0, 0, 1).Format(day), "day.zip") + line(5, month.Add(time.Minute).Format(minute), "minute.zip") +
			line(5, lately.Format(minute), "lately.zip") + line(5, old.Format(day), "unknown.zip")},
	}
	known := map[string]remote.Entry{"old.zip": {Size: 5, ModTime: old}, "month.zip": {Size: 5, ModTime: month.Add(8 * time.Second)},
		"size.zip": {Size: 5, ModTime: old}, "day.zip": {Size: 5, ModTime: old}, "minute.zip": {Size: 5, ModTime: month}, "lately.zip": {Size: 5, ModTime: lately}}
	session := remotetest.Dial(t, remote.Config{URL: s.start(t), Password: "x", Known: func(dir string, entries []remote.Entry) ([]remote.Entry, error) {
		out := make([]remote.Entry, len(entries))
		for i, e := range entries {
			if k, ok := known[e.Name]; ok && dir == "add" {
				k.Name = e.Name
				out[i] = k
			}
		}
		return out, nil
	}})
	got, err := remotetest.Entries(session, t, "add")
	if err != nil {
		t.Fatal(err)
	}
	asked := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	want := map[string]time.Time{"old.zip": old, "month.zip": month.Add(8 * time.Second), "size.zip": asked, "day.zip": asked, "minute.zip": asked, "lately.zip": asked, "unknown.zip": asked}
	times := map[string]time.Time{}
	for _, e := range got {
		times[e.Name] = e.ModTime
		if e.Precision != time.Second {
			t.Errorf("%s is known to %s", e.Name, e.Precision)
		}
	}
	if diff := cmp.Diff(want, times); diff != "" {
		t.Errorf("times (-want +got):\n%s", diff)
	}
}

// An error of whoever knows ends the listing, and is no fault of the server's.
func TestFTPKnownFails(t *testing.T) {
	s := &script{
		replies: map[string]string{"FEAT": "211-F\r\n MDTM\r\n211 End", "LIST": "150 here|226 done"},
		data:    map[string]string{"LIST": "-rw-r--r-- 1 u g 5 Mar  4  2019 a.zip\r\n"},
	}
	away := errors.New("the database is away")
	session := remotetest.Dial(t, remote.Config{URL: s.start(t), Password: "x", Known: func(string, []remote.Entry) ([]remote.Entry, error) { return nil, away }})
	if _, err := remotetest.Entries(session, t, "add"); err != away {
		t.Errorf("error is %v", err)
	}
}

func TestFTPFaults(t *testing.T) {
	list := map[string]string{"LIST": "-rw-r--r-- 1 u g 1 Mar  4  2019 a.zip\r\n"}
	for name, tc := range map[string]struct {
		replies map[string]string
		want    string
		entries int
	}{
		"listing in order":              {map[string]string{"LIST": "150 here|226 done"}, "", 1},
		"listing ended by 250":          {map[string]string{"LIST": "150 here|250 done"}, "", 1},
		"listing broken off":            {map[string]string{"LIST": "150 here|426 broken"}, "transfer_failed", 1},
		"hang-up after the listing":     {map[string]string{"LIST": "150 here|"}, "connection_lost", 1},
		"no files is empty":             {map[string]string{"LIST": "550 No files found."}, "", 0},
		"refused listing":               {map[string]string{"LIST": "550 whatever"}, "permission_denied", 0},
		"refusal hidden in success":     {map[string]string{"LIST": "150 here|226 Transfer done (but failed to open directory)."}, "permission_denied", 1},
		"listing never answered":        {map[string]string{"LIST": "silence"}, "timed_out", 0},
		"EPSV never answered":           {map[string]string{"EPSV": "silence"}, "timed_out", 0},
		"refused directory":             {map[string]string{"CWD /home/add": "550 Permission denied"}, "permission_denied", 0},
		"directory there but refused":   {map[string]string{"CWD /home/add": "550 Failed", "LIST": "150 here|226 done"}, "file_gone", 0},
		"time-out of the server itself": {map[string]string{"CWD": "421 Timeout."}, "connection_lost", 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := ftpSession(t, &script{replies: tc.replies, data: list})
			got, err := remotetest.Entries(s, t, "add")
			if remote.Exception(err) != tc.want || len(got) != tc.entries {
				t.Errorf("%d entries, %v (%s); want %d, %q", len(got), err, remote.Exception(err), tc.entries, tc.want)
			}
		})
	}
}

func TestFTPLoginFaults(t *testing.T) {
	for name, tc := range map[string]struct {
		replies map[string]string
		want    string
	}{
		"refused":         {map[string]string{"PASS": "530 no"}, "login_failed"},
		"full":            {map[string]string{"greeting": "421 There are too many connected users"}, "server_busy"},
		"full after user": {map[string]string{"USER": "530 Too many connections from your address"}, "server_busy"},
		"no answer":       {map[string]string{"PASS": "silence"}, "timed_out"},
	} {
		s := &script{replies: tc.replies}
		patience := time.Minute
		if tc.want == "timed_out" {
			patience = 200 * time.Millisecond
		}
		_, err := connectors.All().Dial(t.Context(), remote.Config{URL: s.start(t), Password: "s3cret", ConnectTimeout: patience})
		if remote.Exception(err) != tc.want || strings.Contains(fmt.Sprint(err), "s3cret") {
			t.Errorf("%s: %v (%s), want %s", name, err, remote.Exception(err), tc.want)
		}
	}
}

// TestFTPRepeatedPasswordIsNotTold shows that the password is in no error, though the server
// repeats it: in a refusal of one line and of several, in what is no reply, and later on.
func TestFTPRepeatedPasswordIsNotTold(t *testing.T) {
	const password = "hunter2 is mine"
	for name, replies := range map[string]map[string]string{
		"in a refusal":     {"PASS": "530 'PASS " + password + "': command not understood"},
		"in several lines": {"PASS": "530-no\r\n you said PASS " + password + "\r\n530 go away"},
		"in what is none":  {"PASS": "you said " + password},
		"of being busy":    {"PASS": "421 too many have said " + password},
		"later":            {"PWD": "421 goodbye, " + password},
	} {
		_, err := connectors.All().Dial(t.Context(), remote.Config{URL: (&script{replies: replies}).start(t), Password: password})
		if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "(password)") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFTPTransferFaults(t *testing.T) {
	for name, tc := range map[string]struct{ reply, want string }{
		"whole":                 {"150 here|226 done", ""},
		"broken off":            {"150 here|426 broken", "transfer_failed"},
		"read error":            {"150 here|451 disk", "transfer_failed"},
		"hang-up in the middle": {"150 here|", "connection_lost"},
		"never answered":        {"silence", "timed_out"},
		"gone":                  {"550 not found", "file_gone"},
		"refused":               {"550 Permission denied.", "permission_denied"},
	} {
		s := ftpSession(t, &script{replies: map[string]string{"RETR": tc.reply}, data: map[string]string{"RETR": "half"}})
		_, err := remotetest.Download(t.Context(), s, "a.zip", 8)
		if remote.Exception(err) != tc.want {
			t.Errorf("%s: %v (%s), want %q", name, err, remote.Exception(err), tc.want)
		}
	}
}

func TestFTPRefusalsOnVSFTPD(t *testing.T) {
	dir := t.TempDir()
	remotetest.Mkdir(t, dir+"/add")
	remotetest.Mkdir(t, dir+"/edit")
	write := func(name string) { servers.Need(t, os.WriteFile(dir+"/"+name, []byte("x"), 0o644)) }
	write("add/ok.zip")
	write("add/secret.zip")
	ftpd, err := servers.StartVSFTPD(t.Context(), servers.VSFTPDOptions{Dir: t.TempDir(), Root: dir,
		Extra: []string{"deny_file={*secret*,*edit*}"}})
	servers.Need(t, err)
	t.Cleanup(ftpd.Stop)
	s := remotetest.Dial(t, remote.Config{URL: ftpd.URL("/")})
	if _, err := remotetest.Download(t.Context(), s, "add/secret.zip", 1); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("open: %v (%s), want permission denied", err, remote.Exception(err))
	}
	if _, err := remotetest.Entries(s, t, "edit"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("list: %v (%s), want permission denied", err, remote.Exception(err))
	}
	if got, err := remotetest.Download(t.Context(), s, "add/ok.zip", 1); err != nil || string(got) != "x" {
		t.Errorf("the next file: %q, %v", got, err)
	}
}
