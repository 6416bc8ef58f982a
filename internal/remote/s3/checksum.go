package s3

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // one of the checksums that servers keep
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"hash/crc64"
	"io"
	"net/http"
	"strings"

	"tributary/internal/remote"
	remotehttp "tributary/internal/remote/http"
)

// s3Checksums are those that a server may keep of an object's bytes, the first that
// it shows counts. An ETag is none: it is an MD5 of some objects only.
func s3Checksums() []s3Checksum {
	// The polynomial of NVMe, its bits reversed.
	const nvme = 0x9a6c9329ac4bc9b5
	return []s3Checksum{
		{"Sha256", sha256.New},
		{"Crc64nvme", func() hash.Hash { return crc64.New(crc64.MakeTable(nvme)) }},
		{"Crc32c", func() hash.Hash { return crc32.New(crc32.MakeTable(crc32.Castagnoli)) }},
		{"Crc32", func() hash.Hash { return crc32.NewIEEE() }},
		{"Sha1", sha1.New},
	}
}

type s3Checksum struct {
	name string
	make func() hash.Hash
}

// verifiedReader is an object on its way whose bytes are held against a checksum.
type verifiedReader struct {
	*remotehttp.Reader
	name string
	sum  hash.Hash
	want []byte
}

// verifying returns a reader that fails at the end where the bytes are not those of
// which the server keeps the checksum. One of parts (COMPOSITE) is none of the bytes.
func verifying(r *remotehttp.Reader, header http.Header) io.ReadCloser {
	if header.Get("X-Amz-Checksum-Type") == "COMPOSITE" {
		return r
	}
	for _, kept := range s3Checksums() {
		shown := header.Get("X-Amz-Checksum-" + kept.name)
		if shown == "" {
			continue
		}
		sum := kept.make()
		if want, err := base64.StdEncoding.DecodeString(shown); err == nil && len(want) == sum.Size() {
			return &verifiedReader{r, strings.ToLower(kept.name), sum, want}
		}
	}
	return r
}

// Read ends with EOF only where all bytes have come, and are those.
func (r *verifiedReader) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	_, _ = r.sum.Write(b[:n]) // which never fails
	if errors.Is(err, io.EOF) && !bytes.Equal(r.sum.Sum(nil), r.want) {
		err = r.Fail(&remote.Error{Class: remote.Unclassified, Err: fmt.Errorf("what came is not what the server keeps: its %s is %x, and that of the bytes %x", r.name, r.want, r.sum.Sum(nil))})
	}
	return n, err
}

// WriteTo copies with the session's buffer.
func (r *verifiedReader) WriteTo(w io.Writer) (int64, error) { return r.Copy(w, r) }
