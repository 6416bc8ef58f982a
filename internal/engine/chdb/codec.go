package chdb

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/ClickHouse/ch-go/compress"
)

// requestBody undoes the compression of a request's body: ClickHouse's own
// (decompress=1) or HTTP's.
func requestBody(r *http.Request) (io.Reader, error) {
	var body io.Reader = r.Body
	switch enc := r.Header.Get("Content-Encoding"); enc {
	case "", "identity":
	case "gzip":
		z, err := gzip.NewReader(body)
		if err != nil {
			return nil, newException(codeUnknown, "CANNOT_DECOMPRESS", "the body is not gzip: %v", err)
		}
		body = z
	default:
		return nil, newException(codeNotImplemented, "NOT_IMPLEMENTED", "content encoding %s is not supported by the embedded engine: use none, lz4, zstd or gzip", enc)
	}
	if r.URL.Query().Get("decompress") == "1" {
		body = unwrapEOF{compress.NewReader(body)}
	}
	return body, nil
}

// unwrapEOF makes ch-go's wrapped end of input plain again.
type unwrapEOF struct{ r io.Reader }

func (u unwrapEOF) Read(p []byte) (int, error) {
	n, err := u.r.Read(p)
	if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.EOF
	}
	return n, err
}

// writePatience is how long a client may take to read one block.
const writePatience = 10 * time.Minute

// reply writes a response in the compression that the client asked for. Until
// something is written, an exception can still be a proper HTTP error.
type reply struct {
	w       http.ResponseWriter
	frames  *compress.Writer // ClickHouse's own compression, if asked for
	zip     *gzip.Writer
	started bool
}

func newReply(w http.ResponseWriter, r *http.Request) *reply {
	out := &reply{w: w}
	q := r.URL.Query()
	switch {
	case q.Get("compress") == "1" && strings.EqualFold(q.Get("network_compression_method"), "zstd"):
		out.frames = compress.NewWriter(compress.LevelZero, compress.ZSTD)
	case q.Get("compress") == "1":
		out.frames = compress.NewWriter(compress.LevelZero, compress.LZ4)
	case strings.Contains(r.Header.Get("Accept-Encoding"), "gzip"):
		out.zip = gzip.NewWriter(w)
	}
	return out
}

// write sends one block at once.
func (o *reply) write(block []byte) error {
	if !o.started {
		o.started = true
		if o.zip != nil {
			o.w.Header().Set("Content-Encoding", "gzip")
		}
		o.w.Header().Set("Content-Type", "application/octet-stream")
		o.w.WriteHeader(http.StatusOK)
	}
	// A client that has stopped reading must not keep its connection for ever.
	// Where deadlines are not supported there is nothing to be done about it.
	_ = http.NewResponseController(o.w).SetWriteDeadline(time.Now().Add(writePatience))
	if err := o.send(block, o.frames); err != nil {
		return fmt.Errorf("send to the client: %w", err)
	}
	return nil
}

func (o *reply) send(block []byte, frames *compress.Writer) error {
	switch {
	case frames != nil:
		// A frame's size is bounded by the client's reader.
		const limit = 1 << 20
		for len(block) > 0 {
			n := min(limit, len(block))
			if err := frames.Compress(block[:n]); err != nil {
				return err
			}
			if _, err := o.w.Write(frames.Data); err != nil {
				return err
			}
			block = block[n:]
		}
	case o.zip != nil:
		if _, err := o.zip.Write(block); err != nil {
			return err
		}
		if err := o.zip.Flush(); err != nil {
			return err
		}
	default:
		if _, err := o.w.Write(block); err != nil {
			return err
		}
	}
	return http.NewResponseController(o.w).Flush()
}

// end finishes a response that went well.
func (o *reply) end() error {
	// The HTTP connection is used again.
	defer func() { _ = http.NewResponseController(o.w).SetWriteDeadline(time.Time{}) }()
	if !o.started {
		o.w.Header().Set("Content-Length", "0")
		o.w.WriteHeader(http.StatusOK)
		return nil
	}
	if o.zip != nil {
		return o.zip.Close()
	}
	return nil
}

// fail reports an exception: as an HTTP error if nothing was sent, else in the
// stream, framed as ClickHouse frames it.
func (o *reply) fail(err error) {
	e := asException(err)
	if !o.started {
		o.started = true
		o.w.Header().Set("Content-Type", "text/plain; charset=UTF-8")
		o.w.Header().Set("X-ClickHouse-Exception-Code", fmt.Sprint(e.code))
		o.w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(o.w, e.text+"\n")
		return
	}
	const tag = "tributarytribute" // any 16 bytes
	text := fmt.Sprintf("\r\n__exception__\r\n%s\r\n%s\n%d %s\r\n__exception__\r\n", tag, e.text, len(e.text), tag)
	// The client looks for the frame in the bytes as they arrive, so it must
	// be readable there even if the data before it is compressed.
	var frames *compress.Writer
	if o.frames != nil {
		frames = compress.NewWriter(compress.LevelZero, compress.None)
	}
	_ = o.send([]byte(text), frames)
	if o.zip != nil {
		_ = o.zip.Close()
	}
}
