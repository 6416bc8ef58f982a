package corpus

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zip"
)

// measure sets size and hash. Rendering twice gives the same bytes, so nothing
// is kept.
func (f *file) measure() error {
	sum := sha256.New()
	n := &counter{w: sum}
	if err := f.write(n); err != nil {
		return err
	}
	f.size, f.sha256 = n.n, hex.EncodeToString(sum.Sum(nil))
	return nil
}

type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

// write renders the zip, and then spoils it if its fault is one of bytes.
func (f *file) write(w io.Writer) error {
	if f.fault == "" || f.stream {
		return f.pack(w)
	}
	var b bytes.Buffer
	if err := f.pack(&b); err != nil {
		return err
	}
	out, err := spoil(f.fault, b.Bytes())
	if err != nil {
		return err
	}
	if _, err := w.Write(out); err != nil {
		return fmt.Errorf("write zip: %w", err)
	}
	return nil
}

func (f *file) pack(w io.Writer) error {
	z := zip.NewWriter(w)
	if slices.ContainsFunc(f.docs, func(d *document) bool { return d.bulk != nil }) {
		// Its text is drawn letter by letter: it gets hardly smaller in twice the time.
		z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestSpeed) })
	}
	for _, d := range f.docs {
		e, err := z.CreateHeader(f.header(d.name))
		if err != nil {
			return fmt.Errorf("zip: %w", err)
		}
		if err := d.write(e); err != nil {
			return err
		}
	}
	for i := range f.others {
		e, err := z.CreateHeader(f.header(fmt.Sprintf("images/%05d.txt", i)))
		if err != nil {
			return fmt.Errorf("zip: %w", err)
		}
		if _, err := fmt.Fprintf(e, "image %d of %s\n", i, f.name); err != nil {
			return fmt.Errorf("zip: %w", err)
		}
	}
	for _, x := range extraEntries(f.fault) {
		h := f.header(x.name)
		if x.mode != 0 {
			h.SetMode(x.mode)
		}
		e, err := z.CreateHeader(h)
		if err != nil {
			return fmt.Errorf("zip: %w", err)
		}
		if _, err := e.Write(x.data); err != nil {
			return fmt.Errorf("zip: %w", err)
		}
	}
	if err := z.Close(); err != nil {
		return fmt.Errorf("zip: %w", err)
	}
	return nil
}

func (f *file) header(name string) *zip.FileHeader {
	return &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: f.modified()}
}

// modified is when the file was uploaded: at noon of its date, and a day later
// for every upload after the first.
func (f *file) modified() time.Time {
	return f.date.Add(12*time.Hour).AddDate(0, 0, f.uploads)
}

type extraEntry struct {
	name string
	data []byte
	mode os.FileMode
}

// extraEntries are what makes an archive bad by an entry of its own.
func extraEntries(fault string) []extraEntry {
	data := []byte("<hostile/>\n")
	switch fault {
	case zipSlip:
		return []extraEntry{{name: "../../escape.xml", data: data}}
	case zipAbsolute:
		return []extraEntry{{name: "/tmp/escape.xml", data: data}}
	case zipBackslash:
		return []extraEntry{{name: `..\escape.xml`, data: data}}
	case zipSymlink:
		return []extraEntry{{name: "link.xml", data: []byte("/etc/hostname"), mode: os.ModeSymlink | 0o777}}
	case zipDuplicate:
		return []extraEntry{{name: "twice.txt", data: data}, {name: "twice.txt", data: data}}
	case zipNested:
		return []extraEntry{{name: "inner.zip", data: data}}
	case zipBomb:
		return []extraEntry{{name: "bomb.txt", data: make([]byte, 8<<20)}}
	}
	return nil
}

// spoil damages the bytes of a good archive.
func spoil(fault string, b []byte) ([]byte, error) {
	le := binary.LittleEndian
	at := bytes.LastIndex(b, []byte("PK\x01\x02"))
	if at < 0 {
		return nil, errors.New("a zip without entries cannot be spoiled")
	}
	switch fault {
	case zipTruncated:
		return b[:len(b)*3/4], nil
	case zipCRC:
		// In the directory and in the record after the data, as a writer that
		// computed it wrongly would have it.
		crc := le.Uint32(b[at+16:])
		le.PutUint32(b[at+16:], crc^1)
		end := bytes.LastIndex(b[:at], []byte("PK\x07\x08"))
		le.PutUint32(b[end+4:], crc^1)
	case zipEncrypted:
		local := le.Uint32(b[at+42:])
		b[at+8] |= 1
		b[local+6] |= 1
	case zipHTML:
		return []byte("<html><body><h1>503 Service Unavailable</h1></body></html>\n"), nil
	}
	return b, nil
}

// Write puts the corpus below dir, in one folder per source. Files that are
// there already, of the same size and time, are left alone, so after Add and
// Reupload it writes only what changed. A file appears whole or not at all.
func (c *Corpus) Write(dir string) error {
	for _, s := range c.Sources {
		if err := os.MkdirAll(filepath.Join(dir, s.ID, add), 0o755); err != nil {
			return fmt.Errorf("corpus: %w", err)
		}
	}
	for _, f := range c.files {
		for _, host := range f.hosts {
			if err := f.place(dir, host); err != nil {
				return fmt.Errorf("corpus: write %s/%s for source %s: %w", f.action, f.name, host, err)
			}
		}
	}
	return nil
}

func (f *file) place(dir, host string) error {
	folder := filepath.Join(dir, host, f.action)
	path := filepath.Join(folder, f.name)
	if info, err := os.Stat(path); err == nil && info.Size() == f.size && info.ModTime().Equal(f.modified()) {
		return nil
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	// Beside the sources, where nobody lists.
	tmp, err := os.CreateTemp(dir, ".writing-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // gone already unless something failed
	if err := f.write(tmp); err != nil {
		tmp.Close()
		return err
	}
	if err := errors.Join(tmp.Chmod(0o644), tmp.Close()); err != nil {
		return err
	}
	if err := os.Chtimes(tmp.Name(), f.modified(), f.modified()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
