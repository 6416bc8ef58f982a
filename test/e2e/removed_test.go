package e2e

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/engine"
	"tributary/test/rig"
)

// Sources that are removed from the configuration while a poll of theirs runs, is
// due again, while a file of theirs changes all the time, and while files of
// theirs are being fetched, leave nothing behind that waits for them: a round
// without them ends, sessions and batches are closed, and nothing is pending.
func TestRemovedSourcesLeaveNothingPending(t *testing.T) {
	long(t, "TestARemovedSourceLeavesNothingBehind", "TestPendingCountsAllThatIsUnfinished")
	t.Parallel()
	dir := openDir(t)
	s := &system{t: t, binary: program(t), dir: dir, rig: &rig.Rig{Dir: dir, Config: filepath.Join(dir, "tributary.yaml")}}
	good, changing := filepath.Join(dir, "good"), filepath.Join(dir, "changing")
	for _, d := range []string{good, changing} {
		if err := os.MkdirAll(filepath.Join(d, "add"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	stop := changes(t, filepath.Join(changing, "add", "J.2026-01-01.9.impc.zip"))
	defer stop()
	silent, drips := startTrickle(t, true), startTrickle(t, false)
	refusing, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refused := refusing.Addr().String()
	refusing.Close()
	first := "data_dir: ./data\nschedule: {interval: 1s}\npoll: {settle: 3s, attempts: 1000, idle_timeout: 10s}\nsources:\n  - {id: good, centre: H, url: 'file://" + good + "'}\n"
	s.rewrite(first + fmt.Sprintf(`  - {id: changing, centre: J, url: 'file://%s'}
  - {id: silent, centre: J, url: 'ftp://u@%s/'}
  - {id: drips, centre: J, url: 'ftp://u@%s/'}
  - {id: refused, centre: J, url: 'ftp://u@%s/'}
`, changing, silent, drips, refused))

	up := s.start("up")
	s.control(func(c *pgx.Conn) string {
		var poll, due, unsettled, job bool
		err := c.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM control.poll WHERE source = 'silent' AND state = 'running'), EXISTS (SELECT FROM control.poll WHERE source = 'refused' AND state = 'due' AND attempts > 0),
			EXISTS (SELECT FROM control.hosting WHERE source = 'changing' AND NOT settled), EXISTS (SELECT FROM control.job WHERE source = 'drips')`).Scan(&poll, &due, &unsettled, &job)
		if err == nil && poll && due && unsettled && job {
			return ""
		}
		return fmt.Sprintf("a poll runs: %t, one is due again: %t, a file has not settled: %t, a job is outstanding: %t; %v", poll, due, unsettled, job, err)
	})
	up.kill(true)

	s.rewrite(first)
	s.once()
	if st := list[struct{ Pending int64 }](s, "status"); st[0].Pending != 0 {
		t.Errorf("%d files are pending:\n%s", st[0].Pending, s.ask("status"))
	}
	s.engines(func(engine.Endpoints) {
		s.control(func(c *pgx.Conn) string {
			var left string
			err := c.QueryRow(t.Context(), `SELECT concat_ws(' ', (SELECT 'polls' FROM control.poll WHERE state IN ('due','running') LIMIT 1), (SELECT 'jobs' FROM control.job LIMIT 1),
				(SELECT 'looks' FROM control.look WHERE class IN ('unsettled','announced','waiting') LIMIT 1), (SELECT 'files' FROM control.acquisition WHERE state <> 'ended' LIMIT 1),
				(SELECT 'batches' FROM control.batch WHERE released_at IS NULL LIMIT 1), (SELECT 'sessions' FROM control.session WHERE closed_at IS NULL LIMIT 1))`).Scan(&left)
			if err != nil {
				return err.Error()
			}
			if left != "" {
				t.Errorf("what is left: %s", left)
			}
			return ""
		})
	})
}

// rewrite makes the configuration what is given.
func (s *system) rewrite(yaml string) {
	s.t.Helper()
	if err := os.WriteFile(s.rig.Config, []byte(yaml), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// changes rewrites a file all the time, so that it never settles.
func changes(t *testing.T, path string) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		for n := 1; ; n++ {
			_ = os.WriteFile(path, make([]byte, n), 0o644) // the next time, if not now
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
	return func() {
		cancel()
		wg.Wait()
	}
}

// startTrickle starts an FTP server that lists three files and then sends one
// byte of each, or whose listings never begin, and returns its address.
func startTrickle(t *testing.T, silent bool) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go trickle(c, silent)
		}
	}()
	return l.Addr().String()
}

func trickle(c net.Conn, silent bool) {
	defer c.Close()
	var data net.Listener
	say := func(line string) { fmt.Fprint(c, line+"\r\n") }
	say("220 hello")
	buf := make([]byte, 4096)
	for {
		n, err := c.Read(buf)
		if err != nil {
			return
		}
		verb, arg, _ := strings.Cut(strings.TrimSpace(string(buf[:n])), " ")
		switch strings.ToUpper(verb) {
		case "USER":
			say("331 password")
		case "PASS":
			say("230 in")
		case "FEAT":
			say("211-\r\n MLST type*;size*;modify*;\r\n MLSD\r\n EPSV\r\n211 end")
		case "PWD":
			say(`257 "/"`)
		case "CWD":
			if arg == "/" || strings.HasSuffix(arg, "add") {
				say("250 ok")
			} else {
				say("550 not found")
			}
		case "EPSV":
			if data, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
				return
			}
			defer data.Close()
			say(fmt.Sprintf("229 x (|||%d|)", data.Addr().(*net.TCPAddr).Port))
		case "MLSD", "RETR":
			d, err := data.Accept()
			if err != nil {
				return
			}
			defer d.Close()
			say("150 go")
			switch {
			case strings.EqualFold(verb, "RETR"):
				fmt.Fprint(d, "P")
			case !silent:
				for i := range 3 {
					fmt.Fprintf(d, "type=file;size=5000000;modify=20260101000000; J.2026-01-01.%d.impc.zip\r\n", i+1)
				}
				d.Close()
				say("226 done")
			}
		case "MLST":
			say("250-x\r\n type=file;size=5000000;modify=20260101000000; " + arg + "\r\n250 end")
		case "QUIT":
			say("221 bye")
			return
		case "TYPE", "OPTS", "NOOP":
			say("200 ok")
		default:
			say("502 no")
		}
	}
}
