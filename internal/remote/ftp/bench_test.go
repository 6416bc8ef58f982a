package ftp_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tributary/internal/remote"
	"tributary/internal/remote/connectors"
	"tributary/test/servers"
)

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
			s, err := connectors.All().Dial(b.Context(), cfg)
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
