package remote_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"tributary/internal/remote"
	"tributary/test/servers"
)

// BenchmarkSFTPSmallFiles fetches 2,000 files of 16 KB over one session of a
// real OpenSSH, as many at once as the session asks for. One op is all of them.
func BenchmarkSFTPSmallFiles(b *testing.B) {
	const files, size = 2000, 16 << 10
	dir := b.TempDir()
	for i := range files {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), make([]byte, size), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	sshd, err := servers.StartSSHD(b.Context(), servers.SSHDOptions{Dir: b.TempDir()})
	servers.Need(b, err)
	b.Cleanup(sshd.Stop)
	s, err := remote.Dial(b.Context(), remote.Config{URL: sshd.URL(dir), IdentityFile: sshd.IdentityFile, KnownHosts: sshd.KnownHosts})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	b.SetBytes(files * size)
	for b.Loop() {
		names := make(chan string)
		var wg sync.WaitGroup
		for range s.Concurrency() {
			wg.Go(func() {
				for name := range names {
					r, err := s.Open(b.Context(), name, size)
					if err != nil {
						b.Error(err)
						continue
					}
					if n, err := io.Copy(io.Discard, r); n != size || err != nil {
						b.Errorf("%s: %d bytes, %v", name, n, err)
					}
					_ = r.Close()
				}
			})
		}
		for i := range files {
			names <- fmt.Sprint(i)
		}
		close(names)
		wg.Wait()
	}
	b.ReportMetric(float64(files)*float64(b.N)/b.Elapsed().Seconds(), "files/s")
}

// BenchmarkSFTPList lists 20,000 entries on a real OpenSSH.
func BenchmarkSFTPList(b *testing.B) {
	const files = 20_000
	dir := b.TempDir()
	for i := range files {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o644); err != nil {
			b.Fatal(err)
		}
	}
	sshd, err := servers.StartSSHD(b.Context(), servers.SSHDOptions{Dir: b.TempDir()})
	servers.Need(b, err)
	b.Cleanup(sshd.Stop)
	s, err := remote.Dial(b.Context(), remote.Config{URL: sshd.URL(dir), IdentityFile: sshd.IdentityFile, KnownHosts: sshd.KnownHosts})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		if err := s.List(b.Context(), "", func(remote.Entry) error { n++; return nil }); err != nil || n != files {
			b.Fatalf("%d entries, %v", n, err)
		}
	}
}

// BenchmarkFTPList lists 5,000 zips on a real vsftpd, which has no MLSD: what is
// not known costs an MDTM each.
func BenchmarkFTPList(b *testing.B) {
	const files = 5000
	dir := b.TempDir()
	old := time.Now().AddDate(0, -1, 0)
	for i := range files {
		name := filepath.Join(dir, fmt.Sprint(i, ".zip"))
		if err := errors.Join(os.WriteFile(name, nil, 0o644), os.Chtimes(name, old, old)); err != nil {
			b.Fatal(err)
		}
	}
	ftpd, err := servers.StartVSFTPD(b.Context(), servers.VSFTPDOptions{Dir: b.TempDir(), Root: dir, Password: "reader"})
	servers.Need(b, err)
	b.Cleanup(ftpd.Stop)
	for _, known := range []bool{false, true} {
		b.Run(fmt.Sprintf("known=%t", known), func(b *testing.B) {
			cfg := remote.Config{URL: ftpd.URL("/"), Password: "reader"}
			if known {
				cfg.Known = func(_ string, entries []remote.Entry) ([]remote.Entry, error) {
					out := make([]remote.Entry, len(entries))
					for i, e := range entries {
						out[i] = remote.Entry{Name: e.Name, ModTime: old}
					}
					return out, nil
				}
			}
			s, err := remote.Dial(b.Context(), cfg)
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = s.Close() })
			for b.Loop() {
				n := 0
				if err := s.List(b.Context(), "", func(remote.Entry) error { n++; return nil }); err != nil || n != files {
					b.Fatalf("%d entries, %v", n, err)
				}
			}
		})
	}
}
