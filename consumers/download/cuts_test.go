package download

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tributary/internal/blob"
	"tributary/internal/config"
	"tributary/internal/remote"
	"tributary/internal/remote/connectors"
	"tributary/schemas"
	"tributary/test/servers"
)

// cutting is a session of which the connection is cut when so many bytes have come
// since the last cut.
type cutting struct {
	remote.Session
	remote.Resumer
	cuts *cuts
}

// cuts counts what comes over all sessions.
type cuts struct {
	every, came int64
	left        int
	fetched     atomic.Int64
}

func (s cutting) Open(ctx context.Context, path string, size int64) (io.ReadCloser, error) {
	r, err := s.Session.Open(ctx, path, size)
	return s.watch(r, err)
}

func (s cutting) OpenAt(ctx context.Context, path string, offset int64, version string) (io.ReadCloser, error) {
	r, err := s.Resumer.OpenAt(ctx, path, offset, version)
	return s.watch(r, err)
}

func (s cutting) watch(r io.ReadCloser, err error) (io.ReadCloser, error) {
	if err != nil {
		return nil, err
	}
	return &cutReader{r, s}, nil
}

type cutReader struct {
	io.ReadCloser
	s cutting
}

func (r *cutReader) Version() string { return remote.Version(r.ReadCloser) }

// WriteTo copies as the connector does, and cuts the connection meanwhile. What is
// on its way then may still come.
func (r *cutReader) WriteTo(w io.Writer) (int64, error) {
	return io.Copy(cutWriter{w, r.s}, r.ReadCloser)
}

type cutWriter struct {
	io.Writer
	s cutting
}

func (w cutWriter) Write(b []byte) (int, error) {
	c := w.s.cuts
	c.fetched.Add(int64(len(b)))
	if c.came += int64(len(b)); c.came >= c.every && c.left > 0 {
		c.came = 0
		c.left--
		go w.s.Session.Close()
	}
	return w.Writer.Write(b)
}

// five is how often a transfer is cut.
const five = 5

// realServers start servers of a root, and return how they are reached: keys of a
// source's definition.
func realServers() map[string]func(t *testing.T, dir, root string) map[string]string {
	password := func(t *testing.T, dir string) string {
		t.Helper()
		file := filepath.Join(dir, "password")
		if err := os.WriteFile(file, []byte("s3cret"), 0o600); err != nil {
			t.Fatal(err)
		}
		return "file:" + file
	}
	return map[string]func(t *testing.T, dir, root string) map[string]string{
		"sftp": func(t *testing.T, dir, root string) map[string]string {
			s, err := servers.StartSSHD(t.Context(), servers.SSHDOptions{Dir: dir})
			servers.Need(t, err)
			t.Cleanup(s.Stop)
			return map[string]string{"url": s.URL(root), "identity_file": s.IdentityFile, "known_hosts": s.KnownHosts}
		},
		"ftp": func(t *testing.T, dir, root string) map[string]string {
			s, err := servers.StartVSFTPD(t.Context(), servers.VSFTPDOptions{Dir: dir, Root: root, Password: "s3cret"})
			servers.Need(t, err)
			t.Cleanup(s.Stop)
			return map[string]string{"url": s.URL("/"), "password": password(t, dir)}
		},
		"http": func(t *testing.T, dir, root string) map[string]string {
			s, err := servers.StartNginx(t.Context(), servers.HTTPDOptions{Dir: dir, Root: root})
			servers.Need(t, err)
			t.Cleanup(s.Stop)
			return map[string]string{"url": s.URL("/")}
		},
		"s3": func(t *testing.T, dir, root string) map[string]string {
			s, err := servers.StartVersityGW(t.Context(), servers.VersityGWOptions{Dir: dir, Root: filepath.Dir(root)})
			servers.Need(t, err)
			t.Cleanup(s.Stop)
			secret := filepath.Join(dir, "secret")
			if err := os.WriteFile(secret, []byte(s.Secret), 0o600); err != nil {
				t.Fatal(err)
			}
			return map[string]string{"url": s.URL(filepath.Base(root), ""), "password": "file:" + secret, "endpoint": s.Endpoint(), "region": s.Region}
		},
	}
}

// A transfer from a real server that is cut five times fetches little more than
// the file, in little memory, and ends with the whole of it. TRIBUTARY_CUTS_BYTES
// makes it a file of so many bytes (make cuts-campaign); what it needed is printed.
func TestFiveCuts(t *testing.T) {
	size := int64(24<<20 + 17)
	campaign := os.Getenv("TRIBUTARY_CUTS_BYTES")
	if campaign != "" {
		var err error
		if size, err = strconv.ParseInt(campaign, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	for name, start := range realServers() {
		t.Run(name, func(t *testing.T) {
			dir, served := t.TempDir(), t.TempDir()
			root := filepath.Join(served, "root")
			sum := bigFile(t, filepath.Join(root, "add", "1.zip"), size)
			definition := start(t, dir, root)
			definition["id"] = "src"
			text, err := json.Marshal(definition)
			if err != nil {
				t.Fatal(err)
			}
			b := newBench(t)
			b.definition = string(text)
			b.deps.Now, b.deps.Limits = time.Now, config.Default().Limits
			b.deps.Partials = b.deps.Blobs.(*blob.Dir).Partials(size)
			c := &cuts{every: size / (five + 1), left: five}
			b.deps.Dial = func(ctx context.Context, cfg remote.Config) (remote.Session, error) {
				s, err := connectors.All().Dial(ctx, cfg)
				if err != nil {
					return nil, err
				}
				r, ok := s.(remote.Resumer)
				if !ok {
					return nil, errors.Join(errors.New("the session can't resume"), s.Close())
				}
				return cutting{s, r, c}, nil
			}
			b.put("1.zip", "")
			m := b.job("1.zip")
			info, err := os.Stat(filepath.Join(root, "add", "1.zip"))
			if err != nil {
				t.Fatal(err)
			}
			at := info.ModTime()
			f := &m.Body.(*schemas.DownloadRequested).Files[0]
			f.Size, f.ModTime = size, &at

			debug.FreeOSMemory()
			idle := residentBytes(t, "VmRSS")
			if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil { // VmHWM counts from here
				t.Log(err)
			}
			attempts := 0
			for ; attempts < 2*five; attempts++ {
				if d, _ := b.attempt(m); d.Result == schemas.Fetched {
					if d.SHA256 != sum || d.Size != size {
						t.Errorf("what is fetched is %s of %d bytes, want %s of %d", d.SHA256, d.Size, sum, size)
					}
					break
				}
			}
			fetched, above := c.fetched.Load(), residentBytes(t, "VmHWM")-idle
			line := fmt.Sprintf("%s: %d bytes after %d cuts: %d attempts, %d bytes fetched (%.3f of it), %d MiB above idle", name, size, five-c.left, attempts+1, fetched, float64(fetched)/float64(size), above>>20)
			t.Log(line)
			if attempts != five || c.left != 0 || float64(fetched) > 1.1*float64(size) {
				t.Errorf("it took %d attempts, %d cuts were left, and %d bytes were fetched of a file of %d", attempts+1, c.left, fetched, size)
			}
			if campaign != "" && above > 64<<20 {
				t.Errorf("it took %d MiB of memory above idle", above>>20)
			}
		})
	}
}

// bigFile writes a file of which no part repeats, and returns its sha256.
func bigFile(t *testing.T, file string, size int64) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.New()
	if _, err := io.CopyN(io.MultiWriter(f, sum), rand.NewChaCha8([32]byte{3}), size); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	// Long ago, so that a server's time names its bytes.
	if err := os.Chtimes(file, noon, noon.Add(-24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// residentBytes is how much memory this process has (VmRSS), or has had at most (VmHWM).
func residentBytes(t *testing.T, which string) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), which+":")
	var kB int64
	if _, err := fmt.Sscan(rest, &kB); err != nil {
		t.Fatal(err)
	}
	return kB << 10
}
