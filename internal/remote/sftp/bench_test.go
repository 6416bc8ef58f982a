package sftp_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"tributary/internal/remote"
	"tributary/internal/remote/connectors"
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
	s, err := connectors.All().Dial(b.Context(), remote.Config{URL: sshd.URL(dir), IdentityFile: sshd.IdentityFile, KnownHosts: sshd.KnownHosts})
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
	s, err := connectors.All().Dial(b.Context(), remote.Config{URL: sshd.URL(dir), IdentityFile: sshd.IdentityFile, KnownHosts: sshd.KnownHosts})
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
