package postgres

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// reach proves that the account can run a program from binDir inside dir. Trying
// is the only sure way: modes, access lists and mount options all count.
func (a *Account) reach(binDir, dir string) error {
	if !a.shared {
		return nil
	}
	cmd := exec.Command(filepath.Join(binDir, "postgres"), "--version")
	cmd.Dir = dir
	cmd.SysProcAttr = a.process()
	err := cmd.Run()
	if err == nil {
		return nil
	}
	for _, d := range []string{dir, binDir} {
		if at := a.blockedAt(d); at != "" {
			return fmt.Errorf("Postgres does not run as root but as %s, who can't enter %s (needed for %s): "+
				"set data_dir to a place below /var/lib, start Tributary as an ordinary user, or run: chmod o+x %s: %w",
				a.name, at, d, at, ErrUnreachable)
		}
	}
	return fmt.Errorf("Postgres does not run as root but as %s, who can't work in %s: %w: "+
		"set data_dir to a place below /var/lib, or start Tributary as an ordinary user: %w", a.name, dir, err, ErrUnreachable)
}

// blockedAt is the first directory on the way to path whose mode keeps the
// account out, or "".
func (a *Account) blockedAt(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return ""
	}
	var chain []string
	for d := abs; ; d = filepath.Dir(d) {
		chain = append(chain, d)
		if d == filepath.Dir(d) {
			break
		}
	}
	for i := len(chain) - 1; i >= 0; i-- {
		info, err := os.Stat(chain[i])
		if err != nil {
			return chain[i]
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		if !ok {
			return ""
		}
		bit := os.FileMode(0o001)
		switch {
		case st.Uid == a.uid:
			bit = 0o100
		case st.Gid == a.gid:
			bit = 0o010
		}
		if info.Mode().Perm()&bit == 0 {
			return chain[i]
		}
	}
	return ""
}
