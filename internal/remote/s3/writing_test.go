package s3_test

import (
	"path/filepath"
	"testing"

	"tributary/internal/remote/remotetest"
	"tributary/test/servers"
	"tributary/test/wait"
)

func TestS3IsWrittenOnVersityGW(t *testing.T) {
	remotetest.RunWriting(t, wait.Patience(), func(t *testing.T, dir string) remotetest.Fixture {
		s3, err := servers.StartVersityGW(t.Context(), servers.VersityGWOptions{Dir: t.TempDir(), Root: filepath.Dir(dir)})
		servers.Need(t, err)
		t.Cleanup(s3.Stop)
		return remotetest.Fixture{Config: bucket(s3, filepath.Base(dir)), KeysOnly: true}
	})
}
