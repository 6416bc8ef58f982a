package sftp_test

import (
	"testing"

	"tributary/internal/remote"
	"tributary/test/servers"
)

func faulty(t *testing.T, dir string) *servers.FaultySFTP {
	t.Helper()
	s, err := servers.StartFaultySFTP(t.Context(), servers.FaultySFTPOptions{Dir: t.TempDir(), Root: dir, Password: "s3cret"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

func keyConfig(s *servers.FaultySFTP) remote.Config {
	return remote.Config{URL: s.URL("/"), IdentityFile: s.IdentityFile, KnownHosts: s.KnownHosts}
}
