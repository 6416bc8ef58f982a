package remote_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"tributary/internal/remote"
	"tributary/test/servers"
)

func TestSmoke(t *testing.T) {
	ctx := context.Background()
	root := t.TempDir()
	os.MkdirAll(filepath.Join(root, "add"), 0o755)
	big := bytes.Repeat([]byte("0123456789abcdef"), 100000)
	os.WriteFile(filepath.Join(root, "add", "a.zip"), []byte("hello"), 0o644)
	os.WriteFile(filepath.Join(root, "add", "big.zip"), big, 0o644)
	sshd, err := servers.StartSSHD(ctx, servers.SSHDOptions{Dir: t.TempDir()})
	servers.Need(t, err)
	t.Cleanup(sshd.Stop)
	ftpd, err := servers.StartVSFTPD(ctx, servers.VSFTPDOptions{Dir: t.TempDir(), Root: root, Password: "pw"})
	servers.Need(t, err)
	t.Cleanup(ftpd.Stop)
	for _, c := range []remote.Config{
		{URL: sshd.URL(root), IdentityFile: sshd.IdentityFile, KnownHosts: sshd.KnownHosts},
		{URL: ftpd.URL("/"), Password: "pw"},
		{URL: "file://" + root},
	} {
		s, err := remote.Dial(ctx, c)
		if err != nil {
			t.Fatalf("%s: %v", c.URL, err)
		}
		if err := s.List(ctx, "add", func(e remote.Entry) error {
			t.Log(c.URL, e)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		err = s.List(ctx, "nope", func(e remote.Entry) error { return nil })
		t.Log(err, remote.Exception(err))
		for _, n := range []string{"a.zip", "big.zip"} {
			e, err := s.Stat(ctx, "add/"+n)
			t.Log(e, err)
			r, err := s.Open(ctx, "add/"+n, e.Size)
			if err != nil {
				t.Fatal(err)
			}
			var b bytes.Buffer
			k, err := io.Copy(&b, r)
			t.Log(k, err)
			if k != e.Size {
				t.Error("size")
			}
			r.Close()
		}
		_, err = s.Open(ctx, "add/zzz", 5)
		t.Log(err, remote.Exception(err))
		s.Close()
	}
}
