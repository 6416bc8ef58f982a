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
	text, err := os.ReadFile(s.rig.Config)
	if err != nil {
		t.Fatal(err)
	}
	local := regexp.MustCompile(`url: file://` + regexp.QuoteMeta(s.sources()) + `(/\S+)\n`)
	if !local.Match(text) {
		t.Fatalf("no source of the configuration is a local directory:\n%s", text)
	}
	s.rewrite(local.ReplaceAllString(string(text), "url: "+strings.TrimSuffix(nginx.URL("/"), "/")+"$1\n    password: file:"+secret+"\n"))

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
