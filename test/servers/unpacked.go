package servers

import (
	"os"
	"path/filepath"
	"strings"
)

// unpacked is where make servers keeps ProFTPD and Pure-FTPd, which Debian doesn't install
// beside vsftpd, with their libraries, as they would lie below /; empty where there is no
// such place.
func unpacked() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(cache, "tributary", "ftp-servers")
}

// environ is the environment of a program: one that was unpacked finds its libraries
// beside it.
func environ(program string) []string {
	dir := unpacked()
	if dir == "" || !strings.HasPrefix(program, dir+"/") {
		return os.Environ()
	}
	libraries, err := filepath.Glob(dir + "/usr/lib/*-linux-gnu")
	if err != nil || len(libraries) == 0 {
		return os.Environ()
	}
	return append(os.Environ(), "LD_LIBRARY_PATH="+strings.Join(libraries, ":"))
}
