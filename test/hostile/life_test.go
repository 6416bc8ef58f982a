package hostile

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tributary/producers/plan"
	"tributary/test/rig"
	"tributary/test/servers"
)

// sparse writes a file of which the zeros take no room, and whose size is size at least.
func (w *world) sparse(source, name string, b []byte, size int64) {
	w.t.Helper()
	const block = 64 << 10
	path := filepath.Join(w.dir, "sources", source, "add", name)
	f, err := os.Create(path)
	if err != nil {
		w.t.Fatal(err)
	}
	for at := 0; at < len(b) && err == nil; at += block {
		if part := b[at:min(at+block, len(b))]; len(bytes.Trim(part, "\x00")) > 0 {
			_, err = f.WriteAt(part, int64(at))
		}
	}
	size = max(size, int64(len(b)))
	if err = errors.Join(err, f.Truncate(size), f.Close()); err != nil {
		w.t.Fatal(err)
	}
	var is syscall.Stat_t
	if err := syscall.Stat(path, &is); err != nil || is.Size != size || is.Blocks*512 > size/2 {
		w.t.Fatalf("%s has %d bytes and takes %d, so it is not sparse: %v", name, is.Size, is.Blocks*512, err)
	}
}

// padded is a zip with one document, and so many zeros that nobody takes for one.
func padded(t testing.TB, document, text string, zeros int) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	f, err := z.Create(document)
	if err == nil {
		_, err = f.Write([]byte(text))
	}
	if err == nil {
		f, err = z.CreateHeader(&zip.FileHeader{Name: "padding.bin", Method: zip.Store})
	}
	if err == nil {
		_, err = f.Write(make([]byte, zeros))
	}
	if err = errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// skipping writes a copy of the IMPC's profile that loads no bytes which another file
// shows, and returns where it is.
func (w *world) skipping() string {
	w.t.Helper()
	dir := filepath.Join(w.dir, "profile")
	err := os.CopyFS(dir, os.DirFS("../../schemas/impc"))
	var text []byte
	if err == nil {
		text, err = os.ReadFile(filepath.Join(dir, "profile.yaml"))
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "profile.yaml"), append([]byte("same_bytes: skip\n"), text...), 0o644)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return dir
}

// takes is what a directory takes of its disk.
func (w *world) takes(dir string) (n int64) {
	w.t.Helper()
	err := filepath.WalkDir(filepath.Join(w.dir, dir), func(path string, d fs.DirEntry, err error) error {
		var is syscall.Stat_t
		if err == nil && d.Type().IsRegular() {
			err = syscall.Stat(path, &is)
			n += is.Blocks * 512
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

// Two names of one inode are the same bytes elsewhere: the second is a duplicate, with the
// first named as its origin; written to by either name, both show a new version. Files with
// holes are the bytes that reading them brings, and are bounded by what they say their size
// is, on the disk too. So it is in a directory of this machine, and on a server.
func TestLinksAndHoles(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	w := &world{t: t, binary: program(t), dir: dir, rig: &rig.Rig{Dir: dir, Config: filepath.Join(dir, "tributary.yaml")}}
	sshd, err := servers.StartSSHD(t.Context(), servers.SSHDOptions{Dir: t.TempDir()})
	servers.Need(t, err)
	t.Cleanup(sshd.Stop)
	const most = 32 << 20
	yaml := strings.Replace(settings(), "download: {", fmt.Sprintf("download: {max_file_size: %d, ", most), 1)
	text := "data_dir: ./data\nprofile: " + w.skipping() + "\n" + yaml + fmt.Sprintf(`sources:
  - {id: jax, centre: J, url: 'file://%[1]s/jax'}
  - {id: harwell, centre: H, url: '%[2]s/harwell', identity_file: '%[3]s', known_hosts: '%[4]s'}
`, filepath.Join(dir, "sources"), sshd.URL(filepath.Join(dir, "sources")), sshd.IdentityFile, sshd.KnownHosts)
	if err := os.WriteFile(w.rig.Config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	centres := map[string]string{"J": "jax", "H": "harwell"}
	named := func(centre string, day int) string { return fmt.Sprintf("%s.2024-01-%02d.01.impc.zip", centre, day) }
	holed := map[string][]byte{}
	for centre, source := range centres {
		w.shows(source, "add", named(centre, 1), mice(centre, "M1", "M2"))
	}
	w.once(func() {
		w.sees("the first names", filesQuery, "add "+named("H", 1)+" overview done ", "add "+named("J", 1)+" overview done ")
	})
	before := w.takes("data/blobs")

	for centre, source := range centres {
		add := filepath.Join(dir, "sources", source, "add")
		if err := os.Link(filepath.Join(add, named(centre, 1)), filepath.Join(add, named(centre, 2))); err != nil {
			t.Fatal(err)
		}
		w.sparse(source, named(centre, 3), nil, most)
		w.sparse(source, named(centre, 4), nil, 1<<40)
		holed[centre] = padded(t, centre+".2024-01-05.1.specimen.impc.xml", mice(centre, "M5"), 8<<20)
		w.sparse(source, named(centre, 5), holed[centre], 0)
	}
	all := func(second string) (want []string) {
		for _, centre := range []string{"H", "J"} {
			want = append(want, "add "+named(centre, 1)+" overview done ", "add "+named(centre, 2)+second, "add "+named(centre, 3)+" unzip failed corrupted_at_producer",
				"add "+named(centre, 4)+" download failed file_too_large", "add "+named(centre, 5)+" overview done ")
		}
		return want
	}
	w.once(func() {
		w.sees("the files", filesQuery, all(" zip_md5 done ")...)
		for centre, source := range centres {
			if said, err := w.ask("why", source, "add/"+named(centre, 2)); err != nil || !strings.Contains(said, plan.SameBytes+"add/"+named(centre, 1)) {
				t.Errorf("why the second name is not loaded: %v\n%s", err, said)
			}
			if said, err := w.ask("show", named(centre, 2)); err != nil || !strings.Contains(said, named(centre, 1)) {
				t.Errorf("the second name's story lacks the first: %v\n%s", err, said)
			}
		}
		w.sees("the bytes of those with a hole", "SELECT sha256, size_bytes FROM tracker.file WHERE file LIKE '%-05.%' ORDER BY file", sum(holed["H"]), sum(holed["J"]))
		w.sees("what came of one that is nothing but a hole", "SELECT DISTINCT size_bytes FROM tracker.file WHERE file LIKE '%-03.%'", fmt.Sprint(most))
		w.sees("mice", "SELECT centre, count(*) FROM warehouse.claim WHERE is_current AND NOT tombstone GROUP BY 1 ORDER BY 1", "H 3", "J 3")
		// The zeros alone are one blob, of both centres.
		if took, least := w.takes("data/blobs")-before, int64(most+2*(8<<20)); took > least+least/4 {
			t.Errorf("the blobs take %d bytes more of the disk, of files with %d", took, least)
		}
	})

	for centre, source := range centres { // by the second name, in place
		text := padded(t, centre+".2024-01-01.1.specimen.impc.xml", mice(centre, "M1", "M2", "M3"), 1)
		if err := os.WriteFile(filepath.Join(dir, "sources", source, "add", named(centre, 2)), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	w.once(func() {
		w.sees("versions of the first names", `SELECT a.file, count(*) FROM tracker.file a JOIN tracker.zip_version v ON v.za_id = a.id WHERE a.file LIKE '%-01.%' GROUP BY 1 ORDER BY 1`, named("H", 1)+" 2", named("J", 1)+" 2")
		w.sees("mice", "SELECT centre, count(*) FROM warehouse.claim WHERE is_current AND NOT tombstone GROUP BY 1 ORDER BY 1", "H 4", "J 4")
		if text, err := w.ask("tracker", "verify"); err != nil {
			t.Errorf("tracker verify: %v\n%s", err, text)
		}
	})
}

// sum is the hash of bytes, and how many there are.
func sum(b []byte) string {
	h := sha256.Sum256(b)
	return fmt.Sprint(hex.EncodeToString(h[:]), " ", len(b))
}
