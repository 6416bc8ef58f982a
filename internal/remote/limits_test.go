package remote

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"net"
	"net/textproto"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestCleanText(t *testing.T) {
	for name, tc := range map[string]struct{ in, want string }{
		"plain":           {"550 not found: é ж", "550 not found: é ж"},
		"lines":           {"a\r\nb\tc", "a  b c"},
		"control":         {"x\x00y\x1b[31m\u009b", "x\ufffdy\ufffd[31m\ufffd"},
		"direction":       {"a\u202egpj.\u2066\u200f\u061c", "a\ufffdgpj.\ufffd\ufffd\ufffd"},
		"separators":      {"a\u2028b\u2029", "a\ufffdb\ufffd"},
		"invalid UTF-8":   {"caf\xe9\xff", "caf\ufffd\ufffd"},
		"just fits":       {strings.Repeat("a", maxText), strings.Repeat("a", maxText)},
		"one too long":    {strings.Repeat("a", maxText+1), strings.Repeat("a", 972) + "… (cut: 1001 bytes in all)"},
		"cut in a rune":   {strings.Repeat("é", 1000), strings.Repeat("é", 486) + "… (cut: 2000 bytes in all)"},
		"grows by itself": {strings.Repeat("\x00", 900), strings.Repeat("\ufffd", 324) + "… (cut: 900 bytes in all)"},
	} {
		if diff := cmp.Diff(tc.want, Clean(tc.in)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Whatever a server says, the text of an error can be shown and stored.
func FuzzErrorText(f *testing.F) {
	f.Add("list", "add", "553 denied \x00 \u202e \xff")
	f.Add("", strings.Repeat("\xf0\x9f\x90\x80", 400), strings.Repeat("A", 5000))
	f.Fuzz(func(t *testing.T, op, path, cause string) {
		text := (&Error{Op: op, Path: path, Err: &Error{Op: op, Err: errors.New(cause)}}).Error()
		if len(text) > maxText || !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsGraphic(r) }) {
			t.Errorf("%d bytes: %q", len(text), text)
		}
	})
}

func TestLongPathLeavesRoomForTheCause(t *testing.T) {
	err := wrap("open", strings.Repeat("\xff", 4096), errors.New("the cause"))
	if text := err.Error(); len(text) > maxText || !strings.HasPrefix(text, `open "\xff`) || !strings.HasSuffix(text, "the cause") {
		t.Errorf("the text is %q", text)
	}
}

func TestEntriesAreStorable(t *testing.T) {
	when := time.Date(2024, 2, 29, 23, 59, 58, 0, time.UTC)
	const n = "a.zip"
	berlin := time.FixedZone("", 3600)
	invalid := func(message string) Entry {
		return Entry{Name: n, Size: 5, Invalid: "listing_entry_invalid", Message: message}
	}
	noSize := Entry{Name: n, Size: -1, ModTime: when, Invalid: "listing_entry_invalid", Message: "the size, -2 bytes, is negative"}
	name := func(length int) string { return strings.Repeat("n", length-4) + ".zip" }
	for about, tc := range map[string]struct{ in, want Entry }{
		"ordinary":          {Entry{Name: n, Size: 5, ModTime: when}, Entry{Name: n, Size: 5, ModTime: when}},
		"nothing said":      {Entry{Name: n, Size: -1}, Entry{Name: n, Size: -1}},
		"largest size":      {Entry{Name: n, Size: math.MaxInt64}, Entry{Name: n, Size: math.MaxInt64}},
		"negative size":     {Entry{Name: n, Size: -2, ModTime: when}, noSize},
		"first year":        {Entry{Name: n, ModTime: time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC)}, Entry{Name: n, ModTime: time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC)}},
		"last year":         {Entry{Name: n, ModTime: time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)}, Entry{Name: n, ModTime: time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)}},
		"year 0":            {Entry{Name: n, Size: 5, ModTime: time.Date(0, 12, 31, 0, 0, 0, 0, time.UTC)}, invalid("the time is in the year 0, which is not between 1 and 9999")},
		"year 0 in UTC":     {Entry{Name: n, Size: 5, ModTime: time.Date(1, 1, 1, 0, 0, 0, 0, berlin)}, invalid("the time is in the year 0, which is not between 1 and 9999")},
		"year 10000":        {Entry{Name: n, Size: 5, ModTime: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}, invalid("the time is in the year 10000, which is not between 1 and 9999")},
		"before all years":  {Entry{Name: n, Size: 5, ModTime: time.Unix(-1<<45, 0)}, invalid("the time is in the year -1112979, which is not between 1 and 9999")},
		"longest name":      {Entry{Name: name(MaxName)}, Entry{Name: name(MaxName)}},
		"name too long":     {Entry{Name: name(MaxName + 1)}, Entry{Name: ShortName(name(MaxName + 1)), Invalid: "name_too_long", Message: "the name has 1025 bytes or more, and 1024 are allowed"}},
		"line, not a name":  {Entry{Name: name(5000), Kind: Other}, Entry{Name: ShortName(name(5000)), Kind: Other}},
		"first reason wins": {Entry{Name: n, Size: -3, Invalid: "x", Message: "y"}, Entry{Name: n, Size: -1, Invalid: "x", Message: "y"}},
	} {
		if diff := cmp.Diff(tc.want, storable(tc.in)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", about, diff)
		}
	}
	a, b := ShortName(name(2000)), ShortName(name(2001))
	if a == b || len(a) != MaxName || !strings.HasSuffix(a, ".zip") {
		t.Errorf("shortened names are %q and %q, want different ones of %d bytes in .zip", a, b, MaxName)
	}
}

func TestUnknownSchemeOpensNothing(t *testing.T) {
	c := Config{}.withDefaults()
	for _, scheme := range []string{"", "gopher", "FILE", "local"} {
		s, err := open(context.Background(), c, Target{Scheme: scheme, Base: t.TempDir()}, func(string, string) {})
		if s != nil || Exception(err) != "protocol_unknown" || !strings.Contains(err.Error(), "scheme") {
			t.Errorf("%q opens %v, error %v", scheme, s, err)
		}
	}
}

func TestReadValuesOfListings(t *testing.T) {
	now := time.Date(2024, 3, 5, 0, 0, 0, 0, time.UTC)
	const unix = "-rw-r--r-- 1 u g "
	for line, invalid := range map[string]bool{
		"type=file;size=1;modify=20240101000000; a.zip": false,
		"type=file; a.zip":                                                 false,
		"type=file;size=9223372036854775807; a.zip":                        false,
		"type=file;size=9223372036854775808; a.zip":                        true,
		"type=file;size=99999999999999999999; a.zip":                       true,
		"type=file;size=-1; a.zip":                                         true,
		"type=file;size=; a.zip":                                           true,
		"type=file;size=1;modify=00000101000000; a.zip":                    true,
		"type=file;size=1;modify=100000101000000; a.zip":                   true,
		"type=file;size=1;modify=-0010101000000; a.zip":                    true,
		"type=file;size=1;modify=20240230000000; a.zip":                    true,
		"type=file;size=1;modify=; a.zip":                                  true,
		"type=file;size=1;modify=" + strings.Repeat("9", 9000) + "; a.zip": true,
		unix + "5 Mar  4  2019 a.zip":                                      false,
		unix + "5 Mar  4  0001 a.zip":                                      false,
		unix + "5 Mar  4  0000 a.zip":                                      true,
		unix + "5 Mar  4 10000 a.zip":                                      true,
		unix + "5 Feb 30 2019 a.zip":                                       true,
		unix + "5 Mar  4 25:61 a.zip":                                      true,
		unix + "-5 Mar  4  2019 a.zip":                                     true,
		unix + "99999999999999999999 Mar  4  2019 a.zip":                   true,
		"01-01-0000  00:00              5 a.zip":                           true,
	} {
		parse := parseUnixOrDOS
		if strings.HasPrefix(line, "type") {
			parse = parseMachine
		}
		e, ok := parse(line, now)
		e = storable(e)
		if !ok || e.Name != "a.zip" || e.Kind != File || (e.Invalid == "listing_entry_invalid") != invalid || invalid == (e.Message == "") || len(e.Message) > maxText {
			t.Errorf("%.60q gives %+v, %v; want invalid: %v", line, e, ok, invalid)
		}
	}
}

// replying is a connection on which a server has said one text, and no more.
type replying struct {
	net.Conn
	io.Reader
}

func (r replying) Read(b []byte) (int, error)  { return r.Reader.Read(b) }
func (replying) Write(b []byte) (int, error)   { return len(b), nil }
func (replying) SetDeadline(_ time.Time) error { return nil }

// Whatever a server replies, no parser goes beyond the text, and the FTP library
// sees one whole reply, the one that is checked here.
func FuzzReplies(f *testing.F) {
	for _, text := range []string{`"/home"`, `"`, `""`, "ok (|||21|)", "|||", "|||99999|", "(1,2,3,4,5,6)", ")(", "1,2,3,4,5,", "256,1,1,1,1,1", "0,0,0,0,0,0", "x\n type=file; /a\nend",
		"220", "220-a\r\n220", "220-a\n220-220 b\n221 c\n220 d\r\n220 e\r\n", "257 \"\r\n", "227 )(\r\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if port, ok := parsePASV(text); ok && (port < 1 || port > 65535) {
			t.Errorf("%q gives port %d", text, port)
		}
		if e, err := parseMLST(text); err == nil && e.Name == "" {
			t.Errorf("%q gives %+v", text, e)
		}
		for _, verb := range []string{"", "USER", "FEAT", "OPTS", "PWD", "PASV", "MLST", "RETR"} {
			c := newControl(replying{Reader: strings.NewReader(text)}, Config{}.withDefaults())
			if verb != "" {
				_, _ = c.Write([]byte(verb + "\r\n"))
			}
			_, seen, err := textproto.NewReader(bufio.NewReader(c)).ReadResponse(-1)
			if err == nil && (seen != c.text || len(c.out) > 0) || err != nil && c.err == nil {
				t.Errorf("%s: %q is %q for the library, %q here, %q is left; errors %v, %v", verb, text, seen, c.text, c.out, err, c.err)
			}
			if err == nil && verb == "PWD" && strings.HasPrefix(text, "257") && strings.Count(seen, `"`) < 2 {
				t.Errorf("%q makes the library panic", text)
			}
		}
	})
}

// again reads the same text again and again.
type again struct {
	text []byte
	at   int
}

func (a *again) Read(b []byte) (int, error) {
	n := copy(b, a.text[a.at:])
	a.at = (a.at + n) % len(a.text)
	return n, nil
}

// What the SFTP library makes of a packet takes more memory than the packet:
// attributes that a server invents are four times as large.
func TestNamesAreCountedAsTheyAreKept(t *testing.T) {
	packet := func(count uint32, size int) *again {
		b := binary.BigEndian.AppendUint32(nil, uint32(size-4))
		b = append(b, fxpName, 0, 0, 0, 1)
		b = binary.BigEndian.AppendUint32(b, count)
		return &again{text: append(b, make([]byte, size-len(b))...)}
	}
	for about, tc := range map[string]struct {
		packet *again
		most   int64
	}{
		"attributes": {packet(1, maxPacket), maxHeld / 4},
		"no names":   {packet(0, 13), maxHeld / entryCost * 13},
		"entries":    {packet(10_000, 120_013), maxHeld / entryCost * 12},
	} {
		f := &frameReader{r: tc.packet}
		n, err := io.Copy(io.Discard, io.LimitReader(f, 1<<28))
		if Exception(err) != "listing_too_long" || n > tc.most {
			t.Errorf("%s: %d bytes, %v; want at most %d and listing_too_long", about, n, err, tc.most)
		}
	}
}

// The last net below the FTP library; above it, the caller's own panics pass.
func TestPanicsOfTheFTPLibrary(t *testing.T) {
	s := &ftpSession{control: &ftpControl{}}
	ask := func() (err error) {
		defer s.guard(&err)
		panic("slice bounds out of range")
	}
	if err := ask(); ClassOf(err) != Protocol || s.control.err == nil {
		t.Errorf("a panic is %v, class %d; want a lost session", err, ClassOf(err))
	}
	s.yielding = true
	defer func() {
		if recover() == nil {
			t.Error("a panic of the caller's has become an error")
		}
	}()
	_ = ask()
}
