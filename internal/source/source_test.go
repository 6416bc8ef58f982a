package source

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/config"
	"tributary/internal/remote"
)

func TestDescribe(t *testing.T) {
	tests := []struct {
		name string
		s    config.Source
		want Parts
	}{
		{"sftp", config.Source{URL: "sftp://reader@Files.example.org/out", IdentityFile: "/keys/id"},
			Parts{Protocol: "sftp", Address: "files.example.org:22", Server: "files.example.org:22", Username: "reader", BasePath: "/out", URL: "sftp://reader@Files.example.org/out", AccessKey: "file:/keys/id"}},
		{"ftp with a port", config.Source{URL: "ftp://reader@ftp.example.org:2121/impc", Password: "env:FTP_PASSWORD"},
			Parts{Protocol: "ftp", Address: "ftp.example.org:2121", Server: "ftp.example.org:2121", Username: "reader", BasePath: "/impc", URL: "ftp://reader@ftp.example.org:2121/impc", AccessKey: "env:FTP_PASSWORD"}},
		{"directory", config.Source{URL: "file:///srv/files"}, Parts{Protocol: "file", Address: "file", Server: "file", BasePath: "/srv/files", URL: "file:///srv/files"}},
		{"https with a token", config.Source{URL: "https://files.example.org/out", Token: "env:TOKEN"},
			Parts{Protocol: "https", Address: "files.example.org:443", Server: "files.example.org:443", BasePath: "/out", URL: "https://files.example.org/out", AccessKey: "env:TOKEN"}},
		{"a bucket", config.Source{URL: "s3://AKIA@bucket/impc", Password: "env:SECRET", Endpoint: "https://s3.example.org"},
			Parts{Protocol: "s3", Address: "s3.example.org:443", Server: "s3.example.org:443", Username: "AKIA", BasePath: "/bucket/impc", URL: "s3://AKIA@bucket/impc", AccessKey: "env:SECRET"}},
		{"another name of a server", config.Source{URL: "ftp://reader@127.0.0.1/impc", Server: "FTP.example.org:21"},
			Parts{Protocol: "ftp", Address: "127.0.0.1:21", Server: "ftp.example.org:21", Username: "reader", BasePath: "/impc", URL: "ftp://reader@127.0.0.1/impc"}},
		{"a password that should not be there", config.Source{URL: "sftp://reader:hunter2@host/out"},
			Parts{Protocol: "sftp", Address: "host", Server: "host", Username: "reader", BasePath: "/out", URL: "sftp://reader@host/out"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, Describe(tt.s)); d != "" {
				t.Errorf("parts differ (- want, + got):\n%s", d)
			}
		})
	}
}

func TestRemote(t *testing.T) {
	t.Setenv("TEST_PASSWORD", "hunter2")
	file := filepath.Join(t.TempDir(), "phrase")
	if err := os.WriteFile(file, []byte("secret phrase\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := config.Source{ID: "a", URL: "sftp://reader@host/", Password: "env:TEST_PASSWORD", IdentityFile: "id", IdentityPassphrase: config.Secret("file:" + file), KnownHosts: "kh", HostKey: []string{"SHA256:x"}, Jump: []string{"u@hop"}, DisableEPSV: true,
		Token: "env:TEST_PASSWORD", CAFile: "ca.pem", IdentityAgent: "sock", CertificatePin: []string{"sha256//x"}, Robots: config.RobotsIgnore, Cookie: "env:TEST_PASSWORD", Headers: "env:TEST_PASSWORD", Proxy: "http://u@proxy:1", ProxyPassword: "env:TEST_PASSWORD", Feed: "news.xml", WebDAV: true, Endpoint: "https://e", Region: "r", VirtualHosted: true}
	c, err := Remote(s, config.Duration(time.Second), config.Duration(time.Minute), config.Limits{Reply: 1, Listing: 2})
	if err != nil {
		t.Fatal(err)
	}
	if c.URL != s.URL || c.Password != "hunter2" || c.IdentityFile != "id" || c.IdentityPassphrase != "secret phrase" || c.KnownHosts != "kh" || len(c.HostKey) != 1 || len(c.Jump) != 1 || !c.DisableEPSV || c.Token != "hunter2" || c.CAFile != "ca.pem" || c.IdentityAgent != "sock" || len(c.CertificatePin) != 1 || !c.IgnoreRobots || c.Cookie != "hunter2" || c.Headers != "hunter2" || c.Proxy != s.Proxy || c.ProxyPassword != "hunter2" || c.Feed != "news.xml" || !c.WebDAV || c.Endpoint != "https://e" || c.Region != "r" || !c.VirtualHosted ||
		c.ConnectTimeout != time.Second || c.IdleTimeout != time.Minute || c.Limits != (remote.Limits{Reply: 1, Listing: 2}) {
		t.Errorf("configuration is %+v", c)
	}
	// A source's own timeouts count where they are the shorter ones.
	for _, own := range []struct{ given, want time.Duration }{{0, time.Minute}, {time.Second, time.Second}, {time.Hour, time.Minute}} {
		d := config.Duration(own.given)
		c, err := Remote(config.Source{URL: s.URL, ConnectTimeout: d, IdleTimeout: d}, config.Duration(time.Minute), config.Duration(time.Minute), config.Limits{})
		if err != nil || c.ConnectTimeout != own.want || c.IdleTimeout != own.want {
			t.Errorf("with %s of its own: %s and %s, %v; want %s", own.given, c.ConnectTimeout, c.IdleTimeout, err, own.want)
		}
	}
	for _, bad := range []config.Source{{ID: "a", Password: "env:TRIBUTARY_TEST_NO_SUCH"}, {ID: "a", IdentityPassphrase: "file:/no/such/file"}, {ID: "a", Token: "file:/no/such/file"}, {ID: "a", Cookie: "file:/no/such/file"}, {ID: "a", Headers: "file:/no/such/file"}, {ID: "a", ProxyPassword: "file:/no/such/file"}} {
		if _, err := Remote(bad, 0, 0, config.Limits{}); err == nil || !strings.Contains(err.Error(), "source a: ") {
			t.Errorf("error is %v", err)
		}
	}
}
