package pgdoor_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"tributary/internal/engine/pgdoor"
	"tributary/test/wait"
)

// startup is a first message with names and values.
func startup(version uint32, pairs ...string) []byte {
	b := binary.BigEndian.AppendUint32(make([]byte, 4), version)
	for _, p := range pairs {
		b = append(append(b, p...), 0)
	}
	b = append(b, 0)
	binary.BigEndian.PutUint32(b, uint32(len(b)))
	return b
}

// say sends bytes and returns what comes back until the door closes.
func (w *world) say(b []byte) string {
	w.t.Helper()
	c, err := net.Dial("tcp", w.at)
	if err != nil {
		w.t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(wait.Patience()))
	_, _ = c.Write(b)
	_ = c.(*net.TCPConn).CloseWrite()
	out, err := io.ReadAll(io.LimitReader(c, 1<<20))
	if err != nil && !strings.Contains(err.Error(), "reset") {
		w.t.Errorf("%.40q: %v", b, err)
	}
	return string(out)
}

// Whoever is no reader is told so in Postgres' words, and whatever is sent ends
// nothing.
func TestHostileConversations(t *testing.T) {
	w := setUp(t)
	const v3 = 3 << 16
	tls := binary.BigEndian.AppendUint32([]byte{0, 0, 0, 8}, 1234<<16|5679)
	gss := binary.BigEndian.AppendUint32([]byte{0, 0, 0, 8}, 1234<<16|5680)
	reader := startup(v3, "user", "reader", "database", w.name)
	for name, c := range map[string]struct {
		bytes []byte
		want  string // what is in the answer; empty: nothing is answered
	}{
		"nothing":                    {nil, ""},
		"half of a size":             {[]byte{0, 0}, ""},
		"a size of nothing":          {[]byte{0, 0, 0, 4}, "08P01"},
		"a negative size":            {[]byte{0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4}, "08P01"},
		"a huge size":                {append([]byte{0x7f, 0xff, 0xff, 0xff}, bytes.Repeat([]byte("A"), 1<<20)...), "08P01"},
		"HTTP":                       {[]byte("GET / HTTP/1.1\r\n\r\n"), "08P01"},
		"TLS without asking":         {[]byte("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"), "08P01"},
		"TLS for ever":               {bytes.Repeat(tls, 10), "NNN"},
		"TLS, GSS, and a user":       {append(append(append([]byte(nil), tls...), gss...), startup(v3, "user", "tributary", "database", w.name)...), "NN"},
		"the owner":                  {startup(v3, "user", "tributary", "database", w.name), "28000"},
		"the role behind":            {startup(v3, "user", "tributary_reader", "database", w.name), "28000"},
		"two users":                  {startup(v3, "user", "reader", "user", "tributary", "database", w.name), "08P01"},
		"another database":           {startup(v3, "user", "reader", "database", "postgres"), "3D000"},
		"no database":                {startup(v3, "user", "reader"), "3D000"},
		"replication":                {startup(v3, "user", "reader", "database", w.name, "replication", "database"), "28000"},
		"version 2":                  {startup(2<<16, "user", "reader", "database", w.name), "0A000"},
		"an odd number of texts":     {startup(v3, "user", "reader", "database"), "08P01"},
		"no end":                     {reader[:len(reader)-1], ""},
		"many settings":              {startup(v3, append([]string{"user", "reader", "database", w.name}, strings.Fields(strings.Repeat("a b ", 40))...)...), "08P01"},
		"no password":                {reader, "SCRAM-SHA-256"},
		"a statement for a password": {append(append([]byte(nil), reader...), "Q\x00\x00\x00\x0eSELECT 1;\x00"...), "08P01"},
		"a huge password":            {append(append([]byte(nil), reader...), "p\x7f\x00\x00\x00"...), "08P01"},
		"a plain password":           {append(append([]byte(nil), reader...), "p\x00\x00\x00\x0bSECRET\x00"...), "08P01"},
		"an unknown setting":         {startup(v3, "user", "reader", "database", w.name, "no_such", "x"), "SCRAM"},
		"a cancel of all":            {[]byte("\x00\x00\x00\x10\x04\xd2\x16\x2e\x00\x00\x00\x00\x00\x00\x00\x00"), ""},
		"a short cancel":             {[]byte("\x00\x00\x00\x0a\x04\xd2\x16\x2e\x00\x00"), ""},
	} {
		got := w.say(c.bytes)
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: answered %.300q, want %q", name, got, c.want)
		}
	}
	rng := rand.New(rand.NewPCG(1, 4))
	for range 300 {
		b := make([]byte, rng.IntN(80))
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		if len(b) > 8 && rng.IntN(2) == 0 {
			copy(b, binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, uint32(len(b))), v3))
		}
		w.say(b)
	}
	if got := texts(t, w.connect(), "SELECT n FROM tracker.t"); got != "1" {
		t.Errorf("afterwards: %s", got)
	}
}

// A wrong password, and a role without one, are refused by Postgres itself.
func TestPasswords(t *testing.T) {
	w := setUp(t)
	for _, p := range []string{"wrong", "", "SECRETS"} {
		_, err := pgconn.Connect(t.Context(), strings.Replace(w.address(), password, p, 1))
		if code := sqlState(err); code != "28P01" {
			t.Errorf("the password %q: %s (%v)", p, code, err)
		}
	}
	// By the owner's socket the role needs it too.
	if _, err := pgx.Connect(t.Context(), strings.Replace(w.dsn, "user=tributary", "user=reader", 1)); err == nil {
		t.Error("the reader came in by the socket without a password")
	}
}

// Nobody cancels what others do: not with guessed keys, and not Tributary's own
// statements even with the right one.
func TestOnlyOwnStatementsAreCancelled(t *testing.T) {
	w := setUp(t)
	conn, begun := w.connect(), make(chan error, 1)
	go func() { begun <- exec(conn, "SELECT pg_sleep(1000)") }()
	w.await("it works", func() bool {
		return w.value("SELECT count(*)::text FROM pg_stat_activity WHERE usename = 'reader' AND wait_event = 'PgSleep'") == "1"
	})
	cancel := func(pid uint32, key []byte) {
		b := binary.BigEndian.AppendUint32(nil, uint32(12+len(key)))
		b = binary.BigEndian.AppendUint32(b, 1234<<16|5678)
		w.say(append(binary.BigEndian.AppendUint32(b, pid), key...))
	}
	for i := range 100 {
		cancel(conn.PID(), []byte{0, 0, 0, byte(i)})
	}
	own, err := pgconn.Connect(t.Context(), w.dsn)
	if err != nil {
		t.Fatal(err)
	}
	w.must("SELECT pg_advisory_lock(7)")
	waited := make(chan error, 1)
	go func() { waited <- exec(own, "SELECT pg_advisory_lock(7)") }()
	w.await("the owner waits", func() bool {
		return w.value("SELECT count(*)::text FROM pg_locks WHERE locktype = 'advisory' AND NOT granted") == "1"
	})
	cancel(own.PID(), own.SecretKey())
	w.must("SELECT pg_advisory_unlock(7)")
	if err := <-waited; err != nil {
		t.Errorf("the owner's statement: %v", err)
	}
	select {
	case err := <-begun:
		t.Fatalf("a guess ended a statement: %v", err)
	default:
	}
	cancel(conn.PID(), conn.SecretKey())
	if code := sqlState(<-begun); code != "57014" {
		t.Errorf("cancelled with %s", code)
	}
}

// There are so many sessions and no more, and so many strangers.
func TestConnectionsAreBounded(t *testing.T) {
	w := setUp(t)
	for range pgdoor.Sessions {
		w.connect()
	}
	_, err := pgconn.Connect(t.Context(), w.address())
	if code := sqlState(err); code != "53300" {
		t.Errorf("one more: %s (%v)", code, err)
	}
	// Those who say nothing are let wait for a while, and who comes beyond them is not.
	for range pgdoor.Strangers {
		c, err := net.Dial("tcp", w.at)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	w.await("a stranger too many is sent away", func() bool {
		c, err := net.Dial("tcp", w.at)
		if err != nil {
			return false
		}
		defer c.Close()
		_ = c.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		_, err = c.Read(make([]byte, 1))
		return errors.Is(err, io.EOF) || err != nil && strings.Contains(err.Error(), "reset")
	})
}

// Whoever says nothing, or stops in the middle of a login, is sent away.
func TestSilenceEnds(t *testing.T) {
	w, o := options(t)
	o.Limit(50*time.Millisecond, time.Minute, time.Minute, time.Minute)
	w.open(o)
	for about, said := range map[string][]byte{"nothing": nil, "half a message": {0, 0}, "a user": startup(3<<16, "user", "reader", "database", w.name)} {
		c, err := net.Dial("tcp", w.at)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, _ = c.Write(said)
		_ = c.SetReadDeadline(time.Now().Add(wait.Patience()))
		if _, err := io.Copy(io.Discard, c); err != nil && !strings.Contains(err.Error(), "reset") {
			t.Errorf("who says %s stays: %v", about, err)
		}
	}
}

// A message beyond the bound is refused before it is taken in.
func TestAHugeStatementIsRefused(t *testing.T) {
	w := setUp(t)
	if got := texts(t, w.connect(), "SELECT length('"+strings.Repeat("x", 900<<10)+"')"); got != "921600" {
		t.Errorf("a large one: %s", got)
	}
	if code := sqlState(exec(w.connect(), "SELECT '"+strings.Repeat("x", 2<<20)+"'")); code != "08P01" && code != "no code" {
		t.Errorf("a huge one: %s", code)
	}
	if got := texts(t, w.connect(), "SELECT n FROM tracker.t"); got != "1" {
		t.Errorf("afterwards: %s", got)
	}
}

// Tables that come later are there for who comes after them.
func TestWhatComesLaterIsShown(t *testing.T) {
	w := setUp(t)
	w.must("CREATE TABLE warehouse.later AS SELECT 5 AS n")
	if got := texts(t, w.connect(), "SELECT n FROM warehouse.later"); got != "5" {
		t.Errorf("got %s", got)
	}
}

// Only what stands at the beginning of a statement is refused for its name.
func TestUnboundedCommands(t *testing.T) {
	for text, want := range map[string]bool{
		"NOTIFY x": true, " \n\tnotify x": true, "SELECT 1;LISTEN x": true, "/**/ALTER ROLE reader": true, "--\nGRANT a TO b": true, "SELECT 1 /* ; */;\r\nREVOKE a FROM b": true, "-- a\r notify x": true,
		"SELECT notify FROM t": false, "SELECT 'x; y', alter_date FROM t": false, "SELECT 1 AS \"grant\"": false, "SHOW x": false, "UNLISTEN *": false, "SELECT * FROM listeners": false, "": false,
	} {
		if got := pgdoor.Unbounded(text); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}
