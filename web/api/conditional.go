package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
)

// conditional gives answers a tag of their bytes, unless they have one, and says that nothing has changed to
// who has them already.
func conditional(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			next.ServeHTTP(w, r)
			return
		}
		b := &buffered{header: w.Header(), status: http.StatusOK}
		next.ServeHTTP(b, r)
		if b.status == http.StatusOK {
			tag := w.Header().Get("ETag")
			if tag == "" {
				sum := sha256.Sum256(b.body.Bytes())
				tag = `"` + hex.EncodeToString(sum[:16]) + `"`
				w.Header().Set("ETag", tag)
			}
			if has(r.Header.Values("If-None-Match"), tag) {
				w.Header().Del("Content-Type")
				w.WriteHeader(http.StatusNotModified)
				return
			}
		}
		w.WriteHeader(b.status)
		_, _ = w.Write(b.body.Bytes()) // the client may be gone, which is its affair
	})
}

func has(fields []string, tag string) bool {
	for _, field := range fields {
		for one := range strings.SplitSeq(field, ",") {
			if one = strings.TrimSpace(one); one == "*" || strings.TrimPrefix(one, "W/") == tag {
				return true
			}
		}
	}
	return false
}

// buffered keeps an answer until it is whole. Handlers bound what they answer.
type buffered struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (b *buffered) Header() http.Header         { return b.header }
func (b *buffered) WriteHeader(status int)      { b.status = status }
func (b *buffered) Write(p []byte) (int, error) { return b.body.Write(p) }
