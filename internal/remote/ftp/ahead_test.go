package ftp_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/remote"
	"tributary/internal/remote/remotetest"
)

// vsftpd is a server that is known to take one command after the other.
func vsftpd() *script {
	return &script{
		replies: map[string]string{"greeting": "220 (vsFTPd 3.0.5)", "FEAT": "211-F\r\n MDTM\r\n211 End", "MDTM": "213 20190304050607", "SIZE": "213 4",
			"RETR": "150 here|226 done", "RETR /home/gone.zip": "550 no such file", "SIZE /home/gone.zip": "550 no such file", "MDTM /home/gone.zip": "550 no such file",
			"LIST": "150 here|226 done"},
		data:   map[string]string{"RETR": "data", "LIST": "-rw-r--r-- 1 u g 4 Mar  4  2019 a.txt\r\n"},
		strike: map[string]func(io.Writer){},
	}
}

// about are the commands that are about files.
func about(s *script) (said []string) {
	for _, c := range s.commands() {
		switch word, _, _ := strings.Cut(c, " "); word {
		case "EPSV", "PASV", "RETR", "MDTM", "SIZE", "LIST", "REST":
			said = append(said, c)
		}
	}
	return said
}

// fetch reads a file and what it is afterwards.
func fetch(ctx context.Context, s remote.Session, name string) (text string, after *remote.Entry, err error) {
	r, err := s.Open(ctx, name, 4)
	if err != nil {
		return "", nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		return "", nil, err
	}
	return string(data), remote.After(ctx, r), nil
}

// pace is a gate that bounds how often a server may be asked, or nothing.
type pace bool

func (p pace) Ask(ctx context.Context) (func(), error) { return func() {}, ctx.Err() }
func (p pace) AtLeast(context.Context, time.Duration)  {}
func (p pace) Paced(context.Context) bool              { return bool(p) }

// named is RETR of a file and what is sent along.
func named(name string, more ...string) (commands []string) {
	return append([]string{"RETR /home/" + name}, more...)
}

// What will be asked once a file has come is sent along with RETR, where the server takes
// it in turn and no pace is kept. Replies that nobody asks for afterwards are dropped, so
// the conversation never gets out of step.
func TestFTPAsksAhead(t *testing.T) {
	type step struct {
		do   func(ctx context.Context, s remote.Session) error
		says []string // commands, in their order
	}
	whole := func(name string) func(context.Context, remote.Session) error {
		return func(ctx context.Context, s remote.Session) error {
			text, after, err := fetch(ctx, s, name)
			if err == nil && (text != "data" || after == nil || after.Size != 4 || !after.ModTime.Equal(time.Date(2019, 3, 4, 5, 6, 7, 0, time.UTC))) {
				err = fmt.Errorf("%q came, afterwards it is %+v", text, after)
			}
			return err
		}
	}
	part := func(ctx context.Context, s remote.Session) error {
		r, err := s.Open(ctx, "a.zip", 4)
		if err != nil {
			return err
		}
		return r.Close()
	}
	gone := func(ctx context.Context, s remote.Session) error {
		if _, _, err := fetch(ctx, s, "gone.zip"); remote.Exception(err) != "file_gone" || remote.SessionLost(err) {
			return fmt.Errorf("%w (%s), want file_gone", err, remote.Exception(err))
		}
		return nil
	}
	list := func(ctx context.Context, s remote.Session) error {
		n := 0
		err := s.List(ctx, "", func(remote.Entry) error { n++; return nil })
		if err == nil && n != 1 {
			err = fmt.Errorf("%d entries", n)
		}
		return err
	}
	resumed := func(ctx context.Context, s remote.Session) error {
		r, err := s.(remote.Resumer).OpenAt(ctx, "a.zip", 2, "")
		if err != nil {
			return err
		}
		_, err = io.ReadAll(r)
		_ = r.Close()
		return err
	}
	const ask, a, b = "EPSV", "MDTM /home/a.zip", "MDTM /home/b.zip"
	for name, tc := range map[string]struct {
		change func(*script, *remote.Config)
		steps  []step
	}{
		"files": {nil, []step{
			{whole("a.zip"), append([]string{ask}, named("a.zip", a, ask)...)}, {whole("b.zip"), named("b.zip", b, ask)}, {whole("a.zip"), named("a.zip", a, ask)}}},
		"a file of which nobody asks the time": {nil, []step{
			{part, append([]string{ask}, named("a.zip", a, ask)...)}, {whole("b.zip"), named("b.zip", b, ask)}}},
		"a file that is gone": {nil, []step{
			{gone, append([]string{ask}, named("gone.zip", "MDTM /home/gone.zip", ask, "SIZE /home/gone.zip")...)},
			{whole("b.zip"), append([]string{ask}, named("b.zip", b, ask)...)}}},
		"a listing between": {nil, []step{
			{whole("a.zip"), append([]string{ask}, named("a.zip", a, ask)...)}, {list, []string{ask, "LIST"}}, {whole("b.zip"), append([]string{ask}, named("b.zip", b, ask)...)}}},
		"a file from its middle": {func(s *script, _ *remote.Config) { s.replies["REST"] = "350 go on" }, []step{
			{whole("a.zip"), append([]string{ask}, named("a.zip", a, ask)...)}, {resumed, append([]string{"REST 2"}, named("a.zip", a, ask)...)}}},
		"no times": {func(s *script, _ *remote.Config) { s.replies["FEAT"] = "211 none" }, []step{
			{part, append([]string{ask}, named("a.zip", ask)...)}, {part, named("a.zip", ask)}}},
		"an open gate": {func(_ *script, c *remote.Config) { c.Gate = pace(false) }, []step{
			{whole("a.zip"), append([]string{ask}, named("a.zip", a, ask)...)}, {whole("b.zip"), named("b.zip", b, ask)}}},
		"a pace": {func(_ *script, c *remote.Config) { c.Gate = pace(true) }, []step{
			{part, append([]string{ask}, named("a.zip")...)}, {whole("b.zip"), append([]string{ask}, named("b.zip", b)...)}}},
		"another server": {func(s *script, _ *remote.Config) { s.replies["greeting"] = "220 ProFTPD" }, []step{
			{part, append([]string{ask}, named("a.zip")...)}, {whole("b.zip"), append([]string{ask}, named("b.zip", b)...)}}},
		"a long path": {nil, []step{
			{func(ctx context.Context, s remote.Session) error {
				r, err := s.Open(ctx, strings.Repeat("x/", 600)+"a.zip", 4)
				if err != nil {
					return err
				}
				return r.Close()
			}, []string{ask, "RETR /home/" + strings.Repeat("x/", 600) + "a.zip"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			server := vsftpd()
			cfg := remote.Config{}
			if tc.change != nil {
				tc.change(server, &cfg)
			}
			cfg.URL = server.start(t)
			s := remotetest.Dial(t, cfg)
			var want []string
			for i, step := range tc.steps {
				if err := step.do(t.Context(), s); err != nil {
					t.Fatalf("step %d: %v", i, err)
				}
				want = append(want, step.says...)
			}
			// Whoever gets this answer, has had all that was sent ahead read.
			const last = "SIZE /home/last.zip"
			if _, err := s.Stat(t.Context(), "last.zip"); err != nil {
				t.Fatal(err)
			}
			said := about(server)
			if diff := cmp.Diff(want, said[:slices.Index(said, last)]); diff != "" {
				t.Errorf("what it was told (-want +got):\n%s", diff)
			}
		})
	}
}

// Nothing that a server makes of what it was told ahead does more than end the session.
func TestFTPRepliesToWhatWasAskedAhead(t *testing.T) {
	says := func(text string) func(io.Writer) { return func(w io.Writer) { _, _ = io.WriteString(w, text) } }
	for name, tc := range map[string]struct {
		step   string
		strike func(io.Writer)
		ports  []string // what it answers when it is asked for a port; empty: the one that it has
		want   string
	}{
		"a time without end":          {"MDTM", remotetest.Endless("213-more\r\n"), nil, "reply_too_long"},
		"no reply":                    {"MDTM", remotetest.Endless("x\r\n"), nil, "protocol_error"},
		"a preliminary one":           {"MDTM", says("150 wait\r\n"), nil, "protocol_error"},
		"one too many":                {"MDTM", says("213 20190304050607\r\n213 20190304050607\r\n"), nil, "protocol_error"},
		"one too many before":         {"after RETR", says("226 done\r\n229 ok (|||1|)\r\n"), nil, "protocol_error"},
		"it has had enough":           {"MDTM", says("421 go away\r\n"), nil, "connection_lost"},
		"the port is one of nobody's": {"", nil, []string{"", "229 ok (|||1|)"}, "connection_lost"},
		"the port is none":            {"", nil, []string{"", "229 ok (|||0|)"}, "protocol_error"},
	} {
		for _, asked := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", asked for: ", asked), func(t *testing.T) {
				server := vsftpd()
				if tc.strike != nil {
					server.strike[tc.step] = tc.strike
				}
				if tc.ports != nil {
					server.strike["EPSV"] = ports(t, server, tc.ports)
				}
				s := ftpSession(t, server)
				r, err := s.Open(t.Context(), "a.zip", 4)
				if err == nil {
					_, err = io.ReadAll(r)
				}
				if err != nil {
					t.Fatal(err)
				}
				if asked {
					remote.After(t.Context(), r)
				}
				_ = r.Close()
				_, _, err = fetch(t.Context(), s, "b.zip")
				remotetest.Fit(t, err)
				if got := remote.Exception(err); got != tc.want || !remote.SessionLost(err) {
					t.Errorf("the next file: %v (%s), want %s and a lost session", err, got, tc.want)
				}
			})
		}
	}
}

// ports has a server answer with these ports, one after the other.
func ports(t *testing.T, s *script, answers []string) func(io.Writer) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	s.passive = l
	return func(w io.Writer) {
		answer := answers[0]
		if answers = answers[1:]; answer == "" {
			answer = fmt.Sprintf("229 ok (|||%d|)", l.Addr().(*net.TCPAddr).Port)
		}
		_, _ = io.WriteString(w, answer+"\r\n")
	}
}
