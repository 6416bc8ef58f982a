// Command listing times the listing of a directory of 100,000 zips on a real FTP server
// that shows times to the minute, as a poll lists it that knows them from before, beside
// lftp cls. Both connect, list and leave, in turn, and the line at the end gives the medians
// of all rounds.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"tributary/bench/program"
	"tributary/bench/rounds"
	"tributary/internal/remote"
	"tributary/internal/remote/connectors"
	"tributary/test/servers"
)

func main() {
	var b bench
	flag.StringVar(&b.dir, "dir", "", "folder to work in (default a temporary one, removed afterwards)")
	flag.IntVar(&b.files, "files", 100_000, "zips in the directory")
	flag.IntVar(&b.rounds, "rounds", 5, "runs of each")
	program.Main("listing", b.run)
}

type bench struct {
	dir           string
	files, rounds int
}

func (b *bench) run(ctx context.Context) (err error) {
	if b.dir == "" {
		if b.dir, err = os.MkdirTemp("", "tributary-bench-"); err != nil {
			return err
		}
		defer os.RemoveAll(b.dir)
		if err := os.Chmod(b.dir, 0o755); err != nil { // vsftpd has a user of its own
			return err
		}
	}
	root, notes := filepath.Join(b.dir, "served"), filepath.Join(b.dir, "server")
	if err := errors.Join(os.MkdirAll(filepath.Join(root, "add"), 0o755), os.MkdirAll(notes, 0o755)); err != nil {
		return err
	}
	at := time.Now().AddDate(0, -1, 0).Truncate(time.Second)
	for i := range b.files {
		name := filepath.Join(root, "add", fmt.Sprintf("H.2026-01-02.%d.impc.zip", i))
		if err := errors.Join(os.WriteFile(name, nil, 0o644), os.Chtimes(name, at, at)); err != nil {
			return err
		}
	}
	s, err := servers.StartVSFTPD(ctx, servers.VSFTPDOptions{Dir: notes, Root: root})
	if err != nil {
		return err
	}
	defer s.Stop()
	var p rounds.Pairs
	for i := range b.rounds {
		ours, err := b.ours(ctx, remote.Config{URL: s.URL("/"), Known: func(_ string, shown []remote.Entry) ([]remote.Entry, error) {
			known := make([]remote.Entry, len(shown))
			for i, e := range shown {
				known[i] = remote.Entry{Name: e.Name, ModTime: at}
			}
			return known, nil
		}})
		if err != nil {
			return err
		}
		peer, err := b.peer(ctx, s)
		if err != nil {
			return err
		}
		fmt.Printf("round %d: ours %.2f s, lftp %.2f s, ratio %.2f\n", i+1, ours, peer, p.Add(ours, peer))
	}
	fmt.Println(p.Line("listing"))
	return nil
}

func (b *bench) ours(ctx context.Context, c remote.Config) (float64, error) {
	began := time.Now()
	session, err := connectors.All().Dial(ctx, c)
	if err != nil {
		return 0, err
	}
	n := 0
	err = errors.Join(session.List(ctx, "add", func(remote.Entry) error { n++; return nil }), session.Close())
	if err == nil && n != b.files {
		err = fmt.Errorf("%d entries were listed, not %d", n, b.files)
	}
	return time.Since(began).Seconds(), err
}

func (b *bench) peer(ctx context.Context, s *servers.VSFTPD) (float64, error) {
	began := time.Now()
	out, err := exec.CommandContext(ctx, "lftp", "-e", "set ftp:ssl-allow no; cls -1 add/; quit", "ftp://"+s.Addr).Output()
	if err != nil {
		return 0, fmt.Errorf("lftp: %w", err)
	}
	took := time.Since(began).Seconds()
	if n := strings.Count(string(out), ".zip"); n != b.files {
		return 0, fmt.Errorf("lftp listed %d entries, not %d", n, b.files)
	}
	return took, nil
}
