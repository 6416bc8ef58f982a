package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tributary/test/corpus"
	"tributary/test/rig"
	"tributary/test/servers"
)

// The whole way over real HTTP, from nginx's index pages to the warehouse: it is
// what the oracle says, also after a session that finds nothing new.
func TestSourcesOverHTTP(t *testing.T) {
	t.Parallel()
	s := setUp(t, corpus.Options{Seed: seed(t), Shape: corpus.Small}, rig.Options{Local: true})
	own := filepath.Join(s.dir, "servers", "http")
	if err := os.MkdirAll(own, 0o755); err != nil {
		t.Fatal(err)
	}
	nginx, err := servers.StartNginx(t.Context(), servers.HTTPDOptions{Dir: own, Root: s.sources(), Password: "reader"})
	servers.Need(t, err)
	t.Cleanup(nginx.Stop)
	secret := filepath.Join(own, "password")
	if err := os.WriteFile(secret, []byte("reader\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.served(func(path string) string {
		return strings.TrimSuffix(nginx.URL("/"), "/") + path + "\n    password: file:" + secret
	})

	for range 2 {
		s.once()
		s.expect(true)
	}
	log, err := os.ReadFile(nginx.AccessLog)
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`"GET \S+\.zip HTTP/1.1" 200`).Match(log) {
		t.Errorf("no archive was fetched from nginx:\n%s", log)
	}
}

// served has the sources whose files are local directories reached by what url makes
// of their paths.
func (s *system) served(url func(path string) string) {
	s.t.Helper()
	text, err := os.ReadFile(s.rig.Config)
	if err != nil {
		s.t.Fatal(err)
	}
	local := regexp.MustCompile(`url: file://` + regexp.QuoteMeta(s.sources()) + `(/\S+)\n`)
	if !local.Match(text) {
		s.t.Fatalf("no source of the configuration is a local directory:\n%s", text)
	}
	s.rewrite(local.ReplaceAllStringFunc(string(text), func(line string) string { return "url: " + url(local.FindStringSubmatch(line)[1]) + "\n" }))
}

// The whole way from a bucket of a real S3 server to the warehouse.
func TestSourcesInABucket(t *testing.T) {
	t.Parallel()
	s := setUp(t, corpus.Options{Seed: seed(t), Shape: corpus.Small}, rig.Options{Local: true})
	own := t.TempDir() // its notes may not lie in what it serves
	s3, err := servers.StartVersityGW(t.Context(), servers.VersityGWOptions{Dir: own, Root: filepath.Dir(s.sources())})
	servers.Need(t, err)
	t.Cleanup(s3.Stop)
	secret := filepath.Join(own, "secret")
	if err := os.WriteFile(secret, []byte(s3.Secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.served(func(path string) string {
		return s3.URL(filepath.Base(s.sources()), path) + "\n    password: file:" + secret + "\n    endpoint: " + s3.Endpoint() + "\n    region: " + s3.Region
	})
	for range 2 {
		s.once()
		s.expect(true)
	}
}
