package e2e

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"tributary/test/rig"
	"tributary/test/wait"
)

// What cron is told: up --once ends as docs/reference/cli.md says. One installation
// goes from round to round, as each begins with what the one before left.
func TestOnceTellsHowItEnded(t *testing.T) {
	t.Parallel()
	long(t, "TestARoundWaitsForEveryReader", "TestOnceSeesRetriesThrough")
	dir := openDir(t)
	s := &system{t: t, binary: program(t), dir: dir, rig: &rig.Rig{Dir: dir, Config: filepath.Join(dir, "tributary.yaml")}}
	good := filepath.Join(dir, "good")
	if err := os.MkdirAll(filepath.Join(good, "add"), 0o755); err != nil {
		t.Fatal(err)
	}
	refusing, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := refusing.Addr().String()
	refusing.Close()
	poll := func(settings string) string {
		return "data_dir: ./data\npoll: {attempts: 1, suspend_after: 2, " + settings + "}\nsources:\n"
	}
	files := "  - {id: good, centre: H, url: 'file://" + good + "'}\n"
	refused := "  - {id: refused, centre: J, url: 'ftp://u@" + address + "/'}\n"
	often, seldom := poll("probe_interval: 1ms"), poll("probe_interval: 6h")

	for _, round := range []struct {
		about, config string
		files         int // that are put there before, none of which is an archive
		flags         []string
		code          int
		says          string
	}{
		{"nothing is there", often + files, 0, nil, 0, "done in "},
		{"a flag that says nothing", often + files, 0, []string{"--strict=perhaps"}, 2, "invalid argument"},
		{"a bad configuration", often + files + "  - {id: x}\n", 0, nil, 2, "sources[1].centre"},
		{"a file fails", often + files, 1, nil, 0, "done in "},
		{"it still stands failed", often + files, 0, []string{"--strict"}, 1, "failed: 1 files, of this round or before"},
		{"more files than a poll takes up", poll("max_new: 1") + files, 2, nil, 1, "source good shows 1 more new or changed files than one poll takes up"},
		{"the rest is taken up", often + files, 0, nil, 0, "done in "},
		{"more files than of a day", often + strings.Replace(files, "}", ", max_files_per_day: 1}", 1), 2, nil, 1, "are taken up on one day (max_files_per_day): polls from "},
		{"the limit is lifted", often + files, 0, nil, 0, "done in "},
		{"a source is away", often + files + refused, 0, nil, 1, "source refused was not listed whole: failed "},
		{"it is still away, and suspended", often + files + refused, 0, nil, 1, "refused is suspended since "},
		{"a suspended source is not listed", seldom + files + refused, 0, nil, 1, "source refused was not listed whole: not polled source_suspended"},
		{"all sources are suspended", seldom + refused, 0, nil, 1, "source refused was not listed whole: not polled source_suspended"},
		{"nobody expects it any more", seldom + files + strings.Replace(refused, "}", ", state: maintenance}", 1), 0, nil, 0, "done in "},
		{"no sources any more", seldom, 0, nil, 0, "done in "},
	} {
		for range round.files {
			s.started++
			if err := os.WriteFile(filepath.Join(good, "add", fmt.Sprintf("H.2026-01-01.%d.impc.zip", s.started)), []byte("no archive"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		s.rewrite(strings.TrimSuffix(round.config, "sources:\n"))
		p := s.start(append([]string{"up", "--once"}, round.flags...)...)
		if code := p.code(onceWithin); code != round.code || !strings.Contains(p.output()+p.tail(), round.says) {
			t.Errorf("%s: exit code %d, want %d and %q\n%s\n%s", round.about, code, round.code, round.says, p.output(), p.tail())
		}
	}

	// Stopped in the middle, by Ctrl-C.
	s.rewrite(often + "  - {id: silent, centre: J, url: 'ftp://u@" + startTrickle(t, true) + "/'}\n")
	stopped := s.start("up", "--once")
	s.control(func(c *pgx.Conn) string {
		var running bool
		err := c.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM control.poll WHERE source = 'silent' AND state = 'running')").Scan(&running)
		if err != nil || !running {
			return fmt.Sprintf("no poll runs: %v", err)
		}
		return ""
	})
	if err := stopped.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if code := stopped.code(wait.Patience()); code != 1 || !strings.Contains(stopped.tail(), "stopped before the end; the next run goes on from here") {
		t.Errorf("stopped: exit code %d\n%s", code, stopped.tail())
	}
}
