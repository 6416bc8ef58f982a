package ftp

import (
	"bufio"
	"io"
	"net"
	"net/textproto"
	"strings"
	"testing"
	"time"

	"tributary/internal/remote"
)

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
		e = remote.Storable(e)
		if !ok || e.Name != "a.zip" || e.Kind != remote.File || (e.Invalid == "listing_entry_invalid") != invalid || invalid == (e.Message == "") || len(e.Message) > remote.MaxText {
			t.Errorf("%.60q gives %+v, %v; want invalid: %v", line, e, ok, invalid)
		}
	}
}

// replying is a connection on which a server has said one text, and no more.
type replying struct {
	net.Conn
	io.Reader
}

func (r replying) Read(b []byte) (int, error) { return r.Reader.Read(b) }

func (replying) Write(b []byte) (int, error) { return len(b), nil }

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
			c := newControl(replying{Reader: strings.NewReader(text)}, remote.Config{}.WithDefaults())
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

// The last net below the FTP library; above it, the caller's own panics pass.
func TestPanicsOfTheFTPLibrary(t *testing.T) {
	s := &ftpSession{control: &ftpControl{}}
	ask := func() (err error) {
		defer s.guard(&err)
		panic("slice bounds out of range")
	}
	if err := ask(); remote.ClassOf(err) != remote.Protocol || s.control.err == nil {
		t.Errorf("a panic is %v, class %d; want a lost session", err, remote.ClassOf(err))
	}
	s.yielding = true
	defer func() {
		if recover() == nil {
			t.Error("a panic of the caller's has become an error")
		}
	}()
	_ = ask()
}
