package main

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tributary/test/servers"
)

// row is one protocol with one set of files.
type row struct {
	set        files
	dir        string            // to work in
	definition map[string]string // of the source, without its secret's file
	names      []string
	at         []time.Time // of the files, as the server shows them
	floor      func(ctx context.Context, dir string) error
	peer       peer
	stop       func()
}

// write writes the files: of bytes that no program can make less of. They changed
// long ago, so that a server names their bytes by their time.
func (s files) write(root string) error {
	dir := filepath.Join(root, "add")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	random := rand.NewChaCha8([32]byte{byte(s.bytes)})
	content := make([]byte, s.bytes)
	for i := range s.files {
		_, _ = random.Read(content) // which never fails
		name := filepath.Join(dir, s.file(i))
		if err := os.WriteFile(name, content, 0o644); err != nil {
			return err
		}
		old := time.Now().Add(-24 * time.Hour).Truncate(time.Second)
		if err := os.Chtimes(name, old, old); err != nil {
			return err
		}
	}
	return nil
}

func (s files) file(i int) string { return fmt.Sprintf("%05d.zip", i) }

// check counts what has come: blobs, or files of the same names.
func (s files) check(dir string) error {
	n, bytes := 0, int64(0)
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.Size() == s.bytes {
			n++
			bytes += info.Size()
		}
		return nil
	})
	if err == nil && (n != s.files || bytes != int64(s.files)*s.bytes) {
		err = fmt.Errorf("%d files of %d bytes came, not %d", n, s.bytes, s.files)
	}
	return err
}

// newRow starts the server of a row.
func newRow(ctx context.Context, protocol string, set files, root, base string) (*row, error) {
	r := &row{set: set, dir: filepath.Join(base, protocol, set.name), stop: func() {}}
	notes := filepath.Join(r.dir, "server")
	if err := os.MkdirAll(notes, 0o755); err != nil {
		return nil, err
	}
	for i := range set.files {
		info, err := os.Stat(filepath.Join(root, "add", set.file(i)))
		if err != nil {
			return nil, err
		}
		r.names, r.at = append(r.names, set.file(i)), append(r.at, info.ModTime())
	}
	switch protocol {
	case "sftp":
		return r, r.overSFTP(ctx, root, notes)
	case "ftp":
		return r, r.overFTP(ctx, root, notes)
	case "http":
		return r, r.overHTTP(ctx, root, notes)
	case "s3":
		return r, r.overS3(ctx, root, notes)
	}
	return nil, fmt.Errorf("%q is none of sftp, ftp, http and s3", protocol)
}

func (r *row) overSFTP(ctx context.Context, root, notes string) error {
	s, err := servers.StartSSHD(ctx, servers.SSHDOptions{Dir: notes})
	if err != nil {
		return err
	}
	r.stop = s.Stop
	r.definition = map[string]string{"url": s.URL(root), "identity_file": s.IdentityFile, "known_hosts": s.KnownHosts}
	// The fastest of the ciphers that both sides know.
	connect := fmt.Sprintf("set sftp:auto-confirm yes; set sftp:connect-program 'ssh -a -x -c aes128-gcm@openssh.com -i %s -o UserKnownHostsFile=%s'", s.IdentityFile, s.KnownHosts)
	r.peer = lftp("sftp://"+s.User+":@"+s.Addr, connect, root+"/add")
	return nil
}

func (r *row) overFTP(ctx context.Context, root, notes string) error {
	s, err := servers.StartVSFTPD(ctx, servers.VSFTPDOptions{Dir: notes, Root: root})
	if err != nil {
		return err
	}
	r.stop = s.Stop
	r.definition = map[string]string{"url": s.URL("/")}
	r.peer = lftp("ftp://"+s.Addr, "set ftp:ssl-allow no", root+"/add")
	return nil
}

func (r *row) overHTTP(ctx context.Context, root, notes string) error {
	s, err := servers.StartNginx(ctx, servers.HTTPDOptions{Dir: notes, Root: root})
	if err != nil {
		return err
	}
	r.stop = s.Stop
	r.definition = map[string]string{"url": s.URL("/")}
	r.floor = (&floor{base: s.URL("/add"), names: r.names}).run
	list := filepath.Join(r.dir, "urls")
	if err := os.WriteFile(list, []byte(s.URL("/add")+"/"+strings.Join(r.names, "\n"+s.URL("/add")+"/")+"\n"), 0o600); err != nil {
		return err
	}
	r.peer = aria2(list)
	return nil
}

func (r *row) overS3(ctx context.Context, root, notes string) error {
	s, err := servers.StartVersityGW(ctx, servers.VersityGWOptions{Dir: notes, Root: filepath.Dir(root)})
	if err != nil {
		return err
	}
	r.stop = s.Stop
	bucket := filepath.Base(root)
	secret := filepath.Join(r.dir, "secret")
	if err := os.WriteFile(secret, []byte(s.Secret), 0o600); err != nil {
		return err
	}
	r.definition = map[string]string{"url": s.URL(bucket, ""), "password": "file:" + secret, "endpoint": s.Endpoint(), "region": s.Region}
	at, err := url.JoinPath(s.Endpoint(), bucket, "add")
	if err != nil {
		return err
	}
	r.floor = (&floor{base: at, names: r.names, keyID: s.KeyID, secret: s.Secret, region: s.Region}).run
	r.peer = rclone(s, bucket+"/add")
	return nil
}
