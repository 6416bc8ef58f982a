package s3_test

import (
	"path/filepath"
	"testing"
	"time"

	"tributary/internal/remote"
	"tributary/internal/remote/remotetest"
	"tributary/test/servers"
)

// An S3 server over a directory, whose bucket is the served one.
func TestS3ConformsOnVersityGW(t *testing.T) {
	for name, secure := range map[string]bool{"http": false, "https": true} {
		t.Run(name, func(t *testing.T) {
			remotetest.Run(t, func(t *testing.T) remotetest.Fixture {
				dir := remotetest.Mkdir(t, remotetest.Served(t))
				s3, err := servers.StartVersityGW(t.Context(), servers.VersityGWOptions{Dir: t.TempDir(), Root: filepath.Dir(dir), TLS: secure})
				servers.Need(t, err)
				t.Cleanup(s3.Stop)
				return remotetest.Fixture{Root: dir, Precision: time.Second, Links: remotetest.LinksHidden, KeysOnly: true, Config: bucket(s3, filepath.Base(dir))}
			})
		})
	}
}

// bucket is how one of a server is reached.
func bucket(s *servers.VersityGW, name string) remote.Config {
	return remote.Config{URL: s.URL(name, ""), Password: s.Secret, Endpoint: s.Endpoint(), Region: s.Region, CAFile: s.CAFile}
}
