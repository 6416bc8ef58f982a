package corpus

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// Upload is one upload of one file, for tests that bring files in an order of
// their own.
type Upload struct {
	Action, File, Centre string // Centre is empty for a bad name
	Times                int    // uploads of the same file before
	SHA256               string
	Refused              bool // it yields no documents
	Documents            []UploadDocument

	of *file
}

// UploadDocument is a document of an upload.
type UploadDocument struct {
	Name      string
	Group     int    // place of its kind and action in the order of insertion
	Phase     string // xml_name or xsd if it fails before it is ordered; else empty
	Exception string

	version version
}

// Compare orders documents of one batch as they are inserted.
func (d UploadDocument) Compare(o UploadDocument) int {
	return cmp.Or(cmp.Compare(d.Group, o.Group), d.version.compare(o.version))
}

// Uploads lists all uploads so far, each file's in their order.
func (c *Corpus) Uploads() []Upload {
	var out []Upload
	for _, f := range c.files {
		for n := range f.uploads + 1 {
			out = append(out, f.asUpload(n))
		}
	}
	return out
}

// asUpload describes the upload n of a file, from 0.
func (f *file) asUpload(n int) Upload {
	u := f.upload(n)
	_, refused := endOf(f.fault)
	up := Upload{Action: f.action, File: f.name, Centre: f.centre, Times: n, SHA256: u.sha256, Refused: refused, of: u}
	for _, d := range u.docs {
		x := UploadDocument{Name: d.name, Group: groupOf(f, d), version: versionOf(f, d)}
		if bad, is := endOfDocument(d.fault); is && bad.phase != "upload" {
			x.Phase, x.Exception = bad.phase, bad.exceptions[0]
		}
		up.Documents = append(up.Documents, x)
	}
	return up
}

// Bytes are those of the zip.
func (u Upload) Bytes() ([]byte, error) {
	var b bytes.Buffer
	if err := u.of.write(&b); err != nil {
		return nil, fmt.Errorf("corpus: %s/%s: %w", u.Action, u.File, err)
	}
	return b.Bytes(), nil
}

// WriteUploads puts these uploads below dir, as Write does with all files.
func (c *Corpus) WriteUploads(dir string, list []Upload) error {
	for _, s := range c.Sources {
		if err := os.MkdirAll(filepath.Join(dir, s.ID, add), 0o755); err != nil {
			return fmt.Errorf("corpus: %w", err)
		}
	}
	for _, u := range list {
		for _, host := range u.of.hosts {
			if err := u.of.place(dir, host); err != nil {
				return fmt.Errorf("corpus: write %s/%s for source %s: %w", u.Action, u.File, host, err)
			}
		}
	}
	return nil
}

// Parts splits uploads into n random parts. What is uploaded again comes in a
// later part than before.
func Parts(list []Upload, n int, intn func(int) int) [][]Upload {
	parts := make([][]Upload, n)
	uploads := map[string][]Upload{}
	var files []string
	for _, u := range list {
		id := u.Action + "/" + u.File
		if uploads[id] == nil {
			files = append(files, id)
		}
		uploads[id] = append(uploads[id], u)
	}
	for _, id := range files {
		places := make([]int, n)
		for i := range places {
			places[i] = i
		}
		for i := range places {
			j := i + intn(n-i)
			places[i], places[j] = places[j], places[i]
		}
		places = places[:len(uploads[id])]
		slices.Sort(places)
		for i, u := range uploads[id] {
			parts[places[i]] = append(parts[places[i]], u)
		}
	}
	return parts
}

// Text is a document of the upload in UTF-8, whatever its encoding in the zip.
func (u Upload) Text(name string) ([]byte, error) {
	for _, d := range u.of.docs {
		if d.name == name {
			copied := *d
			copied.encoding = ""
			var b bytes.Buffer
			err := copied.write(&b)
			return b.Bytes(), err
		}
	}
	return nil, fmt.Errorf("corpus: %s/%s has no document %s", u.Action, u.File, name)
}
