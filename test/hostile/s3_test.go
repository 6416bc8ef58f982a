package hostile

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"strings"
)

// stepsS3 are those that every conversation of a poll and a transfer comes by.
var stepsS3 = []string{"login", "index", "file"}

const (
	s3Bucket = "/bucket/"
	// s3Elsewhere is where hostile servers send on to. Nothing may come there: a
	// signature says who asks, and is for one server.
	s3Elsewhere = "/elsewhere/"
)

// talkS3 is a conversation with an S3 server of one bucket, with one object.
func talkS3(s *server) func(net.Conn) { return s.talk(s.respondS3) }

// overhear notes a request that brings what it must not: the secret, or a request to
// whom the server has sent on.
func (s *server) overhear(r *http.Request) {
	var text bytes.Buffer
	_ = r.Header.Write(&text) // to memory
	if strings.HasPrefix(r.URL.Path, s3Elsewhere) || strings.Contains(text.String()+r.URL.String(), secret) {
		s.overheard.Add(1)
	}
}

// respondS3 is what a good server answers, and at which step that is.
func (s *server) respondS3(r *http.Request) (step string, well []byte) {
	s.overhear(r)
	q := r.URL.Query()
	switch key, inside := strings.CutPrefix(r.URL.Path, s3Bucket+"add/"); {
	case q.Get("max-keys") == "1":
		return "login", s3Page(s3Last)
	case q.Get("prefix") == "add/":
		return "index", s3Page(s3Last + s.s3Object())
	case q.Has("list-type"):
		return "refused", s3Page(s3Last)
	case inside && key == s.file:
		return "file", s.s3File()
	}
	return "refused", s3Refusal("404 Not Found", "NoSuchKey")
}

const (
	s3Begin = `<?xml version="1.0" encoding="UTF-8"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">`
	s3End   = "</ListBucketResult>"
	s3Last  = "<IsTruncated>false</IsTruncated>"
	s3Time  = "2024-01-01T00:00:00.000Z"
)

func s3Page(text string) []byte { return whole("200 OK", "application/xml", s3Begin+text+s3End) }

// s3More is a page after which there is another.
func s3More(token, text string) []byte {
	return s3Page("<IsTruncated>true</IsTruncated><NextContinuationToken>" + token + "</NextContinuationToken>" + text)
}

func s3Key(key, size, modified string) string {
	return "<Contents><Key>" + key + "</Key><LastModified>" + modified + "</LastModified><Size>" + size + "</Size></Contents>"
}

func (s *server) s3Object() string { return s3Key("add/"+s.file, fmt.Sprint(s.claimed()), s3Time) }

func (s *server) s3File() []byte {
	return bytes.Replace(whole("200 OK", "application/zip", string(s.zip)), []byte("\r\n"), []byte("\r\nETag: \"0123456789abcdef0123456789abcdef\"\r\n"), 1)
}

// s3Refusal is how a server refuses something; more are headers.
func s3Refusal(status, code string, more ...string) []byte {
	text := "<Error><Code>" + code + "</Code><Message>said " + code + "</Message><RequestId>1</RequestId></Error>"
	return bytes.Replace(whole(status, "application/xml", text), []byte("\r\n"), []byte("\r\n"+strings.Join(append(more, ""), "\r\n")), 1)
}
