package ftp_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/remote"
	"tributary/internal/remote/connectors"
	"tributary/internal/remote/remotetest"
)

// machine is a server in good order, with MLSD.
func machine() *script {
	return &script{
		replies: map[string]string{"FEAT": "211-F\r\n MLST type*;size*;\r\n UTF8\r\n211 End", "MLSD": "150 here|226 done", "RETR": "150 here|226 done",
			"MLST": "250-x\r\n type=file;size=4; a.zip\r\n250 End"},
		data:   map[string]string{"MLSD": "type=file;size=4; a.zip\r\n", "RETR": "data"},
		strike: map[string]func(io.Writer){},
	}
}

// steps are all at which an FTP server has the word.
var steps = []string{"greeting", "USER", "PASS", "FEAT", "TYPE", "OPTS", "PWD", "CWD", "EPSV", "MLSD", "after MLSD", "MLST", "RETR", "after RETR"}

func TestFTPConversationInGoodOrder(t *testing.T) {
	s := machine()
	if err := remotetest.Converse(t, remote.Config{URL: s.start(t)}); err != nil {
		t.Fatal(err)
	}
	seen := strings.Join(s.commands(), "\n")
	for _, step := range steps {
		if word := strings.TrimPrefix(step, "after "); word != "greeting" && !strings.Contains(seen, word) {
			t.Errorf("the conversation has no %s: the tests below prove nothing about it:\n%s", word, seen)
		}
	}
}

func TestFTPRepliesWithoutEnd(t *testing.T) {
	for kind, tc := range map[string]struct {
		text string
		want []string
	}{
		"line":        {"220", []string{"reply_too_long"}},
		"lines":       {"220-more and more\r\n", []string{"reply_too_long"}},
		"empty lines": {"220-\r\n\r\n\r\n\r\n", []string{"reply_too_long"}},
		"preliminary": {"150 wait\r\n", []string{"protocol_error", "reply_too_long"}},
		"not a reply": {"x\r\n", []string{"protocol_error"}},
		"zeros":       {"\x00", []string{"reply_too_long"}},
	} {
		for _, step := range steps {
			if kind == "preliminary" && (step == "MLSD" || step == "RETR") {
				// One of them is in order here, the next is not: see "after".
				continue
			}
			t.Run(kind+" at "+step, func(t *testing.T) {
				s := machine()
				s.strike[step] = remotetest.Endless(tc.text)
				var err error
				if n := remotetest.Allocated(func() { err = remotetest.Converse(t, remote.Config{URL: s.start(t)}) }); n > 64<<20 {
					t.Errorf("%d bytes were allocated", n)
				}
				remotetest.Fit(t, err)
				if !strings.Contains(strings.Join(tc.want, " "), remote.Exception(err)) || !remote.SessionLost(err) {
					t.Errorf("%v (%s), want one of %s and a lost session", err, remote.Exception(err), tc.want)
				}
			})
		}
	}
}

// One long refusal, in a limit that allows it.
func TestFTPLongTextsAreCut(t *testing.T) {
	text := strings.Repeat("A\x00\u202e\xff\x1b", 1<<16)
	for step, reply := range map[string]string{"greeting": "421 ", "USER": "530 ", "PASS": "530 ", "TYPE": "500 ", "CWD": "553 ", "EPSV": "421 ", "MLSD": "553 ", "after MLSD": "426 ", "MLST": "550 ", "RETR": "553 ", "after RETR": "451 "} {
		s := machine()
		s.strike[step] = func(w io.Writer) { fmt.Fprintf(w, "%s%s\r\n", reply, text) }
		u := s.start(t)
		for limit, long := range map[int64]bool{0: true, 1 << 20: false} {
			err := remotetest.Converse(t, remote.Config{URL: u, Limits: remote.Limits{Reply: limit}})
			remotetest.Fit(t, err)
			if (remote.Exception(err) == "reply_too_long") != long || err == nil {
				t.Errorf("%s, limit %d: %v (%s)", step, limit, err, remote.Exception(err))
			}
			for _, step := range connectors.All().Check(t.Context(), remote.Config{URL: u, Limits: remote.Limits{Reply: limit}}, []string{"add"}) {
				remotetest.Fit(t, fmt.Errorf("%s", step.Detail))
			}
		}
	}
}

func TestFTPDripRenewsNothing(t *testing.T) {
	for _, step := range steps {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			s := machine()
			s.strike[step] = remotetest.Drip(map[string]string{"greeting": "220 ", "USER": "331 ", "PASS": "230 ", "FEAT": "211 ", "PWD": "257 ", "MLST": "250 "}[step]+"200 ", 10*time.Millisecond)
			err := remotetest.Converse(t, remote.Config{URL: s.start(t), ConnectTimeout: 600 * time.Millisecond, IdleTimeout: 600 * time.Millisecond})
			if remote.Exception(err) != "timed_out" || !remote.SessionLost(err) {
				t.Errorf("%v (%s), want timed_out and a lost session", err, remote.Exception(err))
			}
		})
	}
}

// Each reply is in time, all together are not.
func TestFTPConnectingIsBoundedAsAWhole(t *testing.T) {
	s := machine()
	for step, reply := range map[string]string{"greeting": "220 hi", "USER": "331 pw", "PASS": "230 in", "FEAT": "500 no", "TYPE": "200 ok", "PWD": `257 "/"`} {
		s.strike[step] = func(w io.Writer) {
			wait := time.NewTimer(150 * time.Millisecond)
			defer wait.Stop()
			<-wait.C
			fmt.Fprintf(w, "%s\r\n", reply)
		}
	}
	_, err := connectors.All().Dial(t.Context(), remote.Config{URL: s.start(t), ConnectTimeout: 400 * time.Millisecond})
	if remote.Exception(err) != "timed_out" || !strings.Contains(err.Error(), "connect_timeout") {
		t.Errorf("%v (%s), want timed_out by connect_timeout", err, remote.Exception(err))
	}
}

func TestFTPListingsWithoutEnd(t *testing.T) {
	const unix = "-rw-r--r-- 1 u g 5 Mar  4  2019 "
	for name, tc := range map[string]struct {
		feat, line string
		limit      int64
		most       int // entries
	}{
		"entries":           {" MLST\r\n", "type=file;size=1; a.zip\r\n", 1 << 20, 1 << 20 / 25},
		"no entries":        {" MLST\r\n", "\r\n", 1 << 20, 0},
		"totals":            {"", "total 0\r\n", 1 << 20, 0},
		"one line":          {" MLST\r\n", "type=file;size=1; L", 8 << 20, 0},
		"facts":             {" MLST\r\n", "size=1;", 8 << 20, 0},
		"long names":        {"", unix + strings.Repeat("L", 60_000) + ".zip\r\n", 8 << 20, 8 << 20 / 60_000},
		"kept for MDTM":     {" MDTM\r\n", unix + "a.zip\r\n", 0, 0},
		"long, for MDTM":    {" MDTM\r\n", unix + strings.Repeat("L", 60_000) + ".zip\r\n", 0, 0},
		"searched for name": {"", "total 0\r\n", 1 << 20, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := machine()
			s.replies["FEAT"], s.replies["LIST"] = "211-F\r\n"+tc.feat+"211 End", "150 here|226 done"
			if name == "searched for name" {
				s.replies["CWD /home/add"] = "550 no"
			}
			s.strike["data of MLSD"], s.strike["data of LIST"] = remotetest.Endless(tc.line), remotetest.Endless(tc.line)
			session := remotetest.Dial(t, remote.Config{URL: s.start(t), Limits: remote.Limits{Listing: tc.limit}})
			n := 0
			var err error
			if bytes := remotetest.Allocated(func() {
				err = session.List(t.Context(), "add", func(e remote.Entry) error {
					if n++; len(e.Name) > remote.MaxName {
						t.Fatalf("a name has %d bytes", len(e.Name))
					}
					return nil
				})
			}); bytes > 256<<20 {
				t.Errorf("%d bytes were allocated", bytes)
			}
			remotetest.Fit(t, err)
			if remote.Exception(err) != "listing_too_long" || !remote.SessionLost(err) || n > tc.most {
				t.Errorf("%d entries, %v (%s); want at most %d, listing_too_long and a lost session", n, err, remote.Exception(err), tc.most)
			}
		})
	}
}

// What is kept of an entry until the listing's end is counted: its name, and
// not the rest of its line, however long that is.
func TestFTPKeepsNoLines(t *testing.T) {
	const n = 2000
	s := machine()
	s.replies["FEAT"], s.replies["LIST"] = "211-F\r\n MDTM\r\n211 End", "150 here|226 done"
	line := "-rw-r--r-- 1 u " + strings.Repeat("g", 15<<10) + " 5 Mar  4  2019 a.zip\r\n"
	s.strike["data of LIST"] = func(w io.Writer) {
		for range n {
			_, _ = io.WriteString(w, line)
		}
	}
	live := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	var before, kept uint64
	s.strike["MDTM"] = func(w io.Writer) {
		if kept == 0 {
			kept = live()
		}
		fmt.Fprint(w, "550 no\r\n")
	}
	session := ftpSession(t, s)
	before = live()
	got, err := remotetest.Entries(session, t, "add")
	if err != nil || len(got) != n {
		t.Fatalf("%d entries, %v; want %d", len(got), err, n)
	}
	if kept > before+8<<20 {
		t.Errorf("%d bytes are kept of %d entries", kept-before, n)
	}
}

// What looks the same as what is known is passed on while the listing comes, so there
// may be more of it than may be kept to be asked for.
func TestFTPKeepsNoKnownEntries(t *testing.T) {
	const n = 120_000
	s := machine()
	s.replies["FEAT"], s.replies["LIST"] = "211-F\r\n MDTM\r\n211 End", "150 here|226 done"
	s.strike["data of LIST"] = func(w io.Writer) {
		out := bufio.NewWriter(w)
		for i := range n {
			fmt.Fprintf(out, "-rw-r--r-- 1 u g 5 Mar  4  2019 %d.zip\r\n", i)
		}
		_ = out.Flush()
	}
	s.strike["MDTM"] = func(w io.Writer) {
		t.Error("the exact time of a known file was asked for")
		fmt.Fprint(w, "550 no\r\n")
	}
	at := time.Date(2019, 3, 4, 5, 6, 7, 0, time.UTC)
	session := remotetest.Dial(t, remote.Config{URL: s.start(t), Known: func(_ string, shown []remote.Entry) ([]remote.Entry, error) {
		known := make([]remote.Entry, len(shown))
		for i, e := range shown {
			known[i] = remote.Entry{Name: e.Name, Size: 5, ModTime: at}
		}
		return known, nil
	}})
	count := 0
	err := session.List(t.Context(), "add", func(e remote.Entry) error {
		if count++; !e.Known || !e.ModTime.Equal(at) {
			t.Fatalf("%+v", e)
		}
		return nil
	})
	if err != nil || count != n {
		t.Errorf("%d entries, %v", count, err)
	}
}

func TestFTPNamesThatAreTooLong(t *testing.T) {
	for _, length := range []int{1011, 1025, 16 << 10, 64 << 10, 1 << 20} {
		s := machine()
		s.data["MLSD"] = "type=file;size=4; " + strings.Repeat("L", length-4) + ".zip\r\ntype=file;size=4; b.zip\r\n"
		got, err := remotetest.Entries(ftpSession(t, s), t, "add")
		if err != nil || len(got) != 2 || got[1].Name != "b.zip" {
			t.Fatalf("%d bytes: %d entries, %v", length, len(got), err)
		}
		want := "name_too_long"
		if length <= remote.MaxName {
			want = ""
		}
		if e := got[0]; e.Invalid != want || len(e.Name) > remote.MaxName || e.Kind != remote.File || !strings.HasSuffix(e.Name, ".zip") {
			t.Errorf("a name of %d bytes is %+v, want %q", length, e, want)
		}
	}
}

// What MDTM says counts as what a listing says.
func TestFTPTimesOfMDTM(t *testing.T) {
	s := &script{
		replies: map[string]string{"FEAT": "211-F\r\n MDTM\r\n211 End", "LIST": "150 here|226 done",
			"MDTM /home/add/a.zip": "213 00000101000000", "MDTM /home/add/b.zip": "213 when?", "MDTM": "213 20190304050607"},
		data: map[string]string{"LIST": "-rw-r--r-- 1 u g 5 Mar  4  2019 a.zip\r\n-rw-r--r-- 1 u g 5 Mar  4  2019 b.zip\r\n-rw-r--r-- 1 u g 5 Mar  4  2019 c.zip\r\n"},
	}
	got, err := remotetest.Entries(ftpSession(t, s), t, "add")
	if err != nil {
		t.Fatal(err)
	}
	var invalid []string
	for _, e := range got {
		invalid = append(invalid, e.Name+" "+e.Invalid)
	}
	if diff := cmp.Diff([]string{"a.zip listing_entry_invalid", "b.zip listing_entry_invalid", "c.zip "}, invalid); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}

// third is a server that nobody should be sent to; it tells whether somebody
// came.
func third(t *testing.T, addr string) (port int, came func() bool) {
	t.Helper()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Skipf("skipped: no second loopback address here: %v", err)
	}
	var mu sync.Mutex
	met := false
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			met = true
			mu.Unlock()
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().(*net.TCPAddr).Port, func() bool { mu.Lock(); defer mu.Unlock(); return met }
}

func TestFTPDataConnections(t *testing.T) {
	port, came := third(t, "127.0.0.2:0")
	for name, tc := range map[string]struct{ epsv, pasv, want string }{
		"another host":       {"500 no", fmt.Sprintf("227 ok (127,0,0,2,%d,%d)", port>>8, port&255), "connection_lost"},
		"another host, EPSV": {fmt.Sprintf("229 ok (|1|127.0.0.2|%d|)", port), "502 no", "transfer_failed"},
		"port 0":             {"229 ok (|||0|)", "227 ok (127,0,0,1,0,0)", "protocol_error"},
		"port too large":     {"229 ok (|||65536|)", "227 ok (127,0,0,1,256,1)", "protocol_error"},
		"negative port":      {"229 ok (|||-1|)", "227 ok (127,0,0,1,-1,1)", "protocol_error"},
		"brackets turned":    {"229 ok |||", "227 )(", "protocol_error"},
		"nothing":            {"229", "227", "protocol_error"},
		"few numbers":        {"229 ok (|||)", "227 ok (127,0,0,1,2)", "protocol_error"},
		"many numbers":       {"229 ok (|||)", "227 ok (" + strings.Repeat("1,", 5000) + "1)", "protocol_error"},
		"refused":            {"500 no", "500 no", "transfer_failed"},
	} {
		s := machine()
		s.replies["EPSV"], s.replies["PASV"] = tc.epsv, tc.pasv
		_, err := remotetest.Entries(ftpSession(t, s), t, "add")
		remotetest.Fit(t, err)
		if remote.Exception(err) != tc.want {
			t.Errorf("%s: %v (%s), want %s", name, err, remote.Exception(err), tc.want)
		}
	}
	if came() {
		t.Error("a server has sent us to another host")
	}
}

// A server behind address translation names an address that nobody reaches.
func TestFTPPassiveAddressIsTheServers(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	port := l.Addr().(*net.TCPAddr).Port
	s := machine()
	s.passive = l
	s.replies["EPSV"], s.replies["PASV"] = "500 no", fmt.Sprintf("227 ok (10,0,0,1,%d,%d)", port>>8, port&255)
	got, err := remotetest.Entries(ftpSession(t, s), t, "add")
	if err != nil || len(got) != 1 {
		t.Errorf("%d entries, %v; want one", len(got), err)
	}
}

func TestFTPLoginDirectories(t *testing.T) {
	for reply, tc := range map[string]struct{ cwd, want string }{
		`257 "/home"`:        {"CWD /home/add", ""},
		`257 "/home" is "x"`: {"", ""},
		`257 "`:              {"CWD /add", ""},
		`257 ""`:             {"CWD /add", ""},
		`257 nothing`:        {"CWD /add", ""},
		`257 "relative"`:     {"CWD /add", ""},
		`257 "/../.."`:       {"CWD /add", ""},
		`550 no`:             {"CWD /add", ""},
		`257 "/` + strings.Repeat("x", 5000) + `"`: {"", "protocol_error"},
		"257 \"/a\x00b\"":                          {"", "protocol_error"},
		"257 \"/a\rb\"":                            {"", "protocol_error"},
		`421 "bye"`:                                {"", "server_busy"},
	} {
		s := machine()
		s.replies["PWD"] = reply
		session, err := connectors.All().Dial(t.Context(), remote.Config{URL: s.start(t)})
		remotetest.Fit(t, err)
		if remote.Exception(err) != tc.want {
			t.Errorf("%.40q: %v (%s), want %q", reply, err, remote.Exception(err), tc.want)
		}
		if err != nil {
			continue
		}
		_, err = remotetest.Entries(session, t, "add")
		_ = session.Close()
		if seen := s.commands(); err != nil || !strings.Contains(strings.Join(seen, "\n"), tc.cwd) {
			t.Errorf("%.40q: %v, commands %q; want %s", reply, err, seen, tc.cwd)
		}
	}
}

// A reply that comes unasked would be taken for the next command's.
func TestFTPRepliesUnasked(t *testing.T) {
	s := machine()
	s.replies["CWD"] = "250 ok\r\n250 ok"
	_, err := remotetest.Entries(ftpSession(t, s), t, "add")
	if remote.Exception(err) != "protocol_error" || !remote.SessionLost(err) {
		t.Errorf("%v (%s), want protocol_error and a lost session", err, remote.Exception(err))
	}
}

// A hostile end keeps nobody waiting: the answer to QUIT isn't awaited.
func TestFTPQuitIsNotAwaited(t *testing.T) {
	s := machine()
	s.strike["QUIT"] = remotetest.Endless("221-")
	session := ftpSession(t, s)
	if err := session.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}
