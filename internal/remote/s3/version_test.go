package s3_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"tributary/internal/remote"
	"tributary/internal/remote/remotetest"
	"tributary/test/servers"
)

// A bucket that keeps versions brings the rest of the one of which the beginning came,
// whatever has taken its place meanwhile; one that keeps none brings no rest of another.
func TestS3GoesOnWithAVersionThatWasReplaced(t *testing.T) {
	for _, keeps := range []bool{true, false} {
		dir := remotetest.Mkdir(t, remotetest.Served(t))
		s3, err := servers.StartVersityGW(t.Context(), servers.VersityGWOptions{Dir: t.TempDir(), Root: filepath.Dir(dir), Versions: keeps})
		servers.Need(t, err)
		t.Cleanup(s3.Stop)
		name := filepath.Base(dir)
		if keeps {
			s3Put(t, s3, name+"?versioning=", []byte(`<VersioningConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Status>Enabled</Status></VersioningConfiguration>`))
		}
		was := bytes.Repeat([]byte("0123456789"), 20_000)
		upload(t, s3, name+"/add/x.zip", was)
		session := remotetest.Dial(t, bucket(s3, name))
		r, err := session.Open(t.Context(), "add/x.zip", -1)
		if err != nil {
			t.Fatal(err)
		}
		version, whole := remote.Version(r), remote.Whose(r)
		if head := remote.HeadsOf(r).Response; keeps != strings.Contains(head, "X-Amz-Version-Id: ") || keeps != strings.Contains(version, "versionId=") {
			t.Errorf("versions kept: %v, and the answer is %s, its version %s", keeps, head, version)
		}
		_ = r.Close()
		upload(t, s3, name+"/add/x.zip", bytes.Repeat([]byte("abcdefghij"), 20_000))
		rest, err := session.(remote.Resumer).OpenAt(t.Context(), "add/x.zip", 100_000, version)
		if !keeps {
			if !errors.Is(err, remote.ErrNotResumed) {
				t.Errorf("another object goes on as the one before: %v", err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(rest)
		if err != nil || !bytes.Equal(got, was[100_000:]) || remote.Version(rest) != version {
			t.Errorf("the rest: %d bytes, %v, of version %s", len(got), err, remote.Version(rest))
		}
		// This server shows as its time when it was replaced, where others keep it.
		if is := remote.Whose(rest); is == nil || is.Size != whole.Size || is.Attributes["version_id"] != whole.Attributes["version_id"] || is.Attributes["etag"] != whole.Attributes["etag"] {
			t.Errorf("whose rest it is: %+v, want %+v", is, whole)
		}
		_ = rest.Close()
	}
}

// A version that can't be asked for is no obstacle where the object is the same still.
func TestS3GoesOnWithoutTheRightToVersions(t *testing.T) {
	const text, version = "0123456789", `"abc" versionId=v1`
	for about, tt := range map[string]struct {
		refused int
		etag    string
		want    error
	}{
		"allowed": {0, `"abc"`, nil}, "not allowed": {403, `"abc"`, nil}, "deleted": {404, `"abc"`, nil}, "not allowed, and replaced": {403, `"def"`, remote.ErrNotResumed},
	} {
		var asked []string
		_, c := store(t, nil, func(w http.ResponseWriter, r *http.Request) {
			id := r.URL.Query().Get("versionId")
			asked = append(asked, id)
			if id != "" && tt.refused != 0 {
				w.WriteHeader(tt.refused)
				return
			}
			w.Header().Set("ETag", tt.etag)
			w.Header().Set("Content-Range", "bytes 4-9/10")
			w.WriteHeader(http.StatusPartialContent)
			_, _ = io.WriteString(w, text[4:])
		})
		r, err := remotetest.Dial(t, c).(remote.Resumer).OpenAt(t.Context(), "add/x.zip", 4, version)
		if !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", about, err, tt.want)
		}
		if err == nil {
			if got, err := io.ReadAll(r); err != nil || string(got) != text[4:] {
				t.Errorf("%s: %q, %v", about, got, err)
			}
			_ = r.Close()
		}
		if asked[0] != "v1" || (len(asked) > 1) != (tt.refused != 0) {
			t.Errorf("%s: asked was for the versions %q", about, asked)
		}
	}
}

// upload puts an object, with its SHA-256.
func upload(t *testing.T, s *servers.VersityGW, key string, data []byte) {
	t.Helper()
	s3Put(t, s, key, data)
}

// s3Put puts something to what is below the server's address, with its SHA-256.
func s3Put(t *testing.T, s *servers.VersityGW, to string, data []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, s.Endpoint()+"/"+to, bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	hash := hex.EncodeToString(sum[:])
	req.Header.Set("X-Amz-Content-Sha256", hash)
	req.Header.Set("X-Amz-Checksum-Sha256", base64.StdEncoding.EncodeToString(sum[:]))
	if err := v4.NewSigner().SignHTTP(context.Background(), aws.Credentials{AccessKeyID: s.KeyID, SecretAccessKey: s.Secret}, req, hash, "s3", s.Region, time.Now()); err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	said, _ := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("upload: %s: %s", resp.Status, said)
	}
}
