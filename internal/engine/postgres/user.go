package postgres

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	osuser "os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// ErrUnreachable is matched by the error that says that the user Postgres runs
// as can't enter a directory it needs.
var ErrUnreachable = errors.New("unreachable for the user that Postgres runs as")

// user is who Postgres runs as: ourselves, unless that is root.
type user struct {
	uid, gid uint32
	name     string
	switched bool
}

// chooseUser returns ourselves, or, for root, the owner of an existing cluster,
// else the user postgres, else nobody.
func chooseUser(dataDir string) (*user, error) {
	if os.Geteuid() != 0 {
		return &user{uid: uint32(os.Geteuid()), gid: uint32(os.Getegid())}, nil
	}
	if info, err := os.Stat(dataDir); err == nil {
		if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid != 0 {
			return &user{uid: st.Uid, gid: st.Gid, name: nameOf(st.Uid), switched: true}, nil
		}
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := osuser.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(err1, err2); err != nil {
			return nil, fmt.Errorf("user %s: %w", name, err)
		}
		return &user{uid: uint32(uid), gid: uint32(gid), name: name, switched: true}, nil
	}
	return nil, errors.New("Postgres does not run as root, and there is neither a user postgres nor nobody: " +
		"start Tributary as an ordinary user, or create the user postgres")
}

func nameOf(uid uint32) string {
	id := strconv.FormatUint(uint64(uid), 10)
	if u, err := osuser.LookupId(id); err == nil {
		return u.Username
	}
	return "uid " + id
}

func (u *user) credential() *syscall.Credential {
	if !u.switched {
		return nil
	}
	return &syscall.Credential{Uid: u.uid, Gid: u.gid}
}

// makeDir makes dir, whose parent exists, for this user alone.
func (u *user) makeDir(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("embedded Postgres's directory: %w", err)
	}
	// Lstat: in a directory that others may write to, a link is an attack.
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("embedded Postgres's directory: %w", err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || (st.Uid != u.uid && st.Uid != uint32(os.Geteuid())) {
		return fmt.Errorf("%s is not a directory of ours: remove it", dir)
	}
	if u.switched {
		if err := os.Lchown(dir, int(u.uid), int(u.gid)); err != nil {
			return fmt.Errorf("give %s to %s: %w", dir, u.name, err)
		}
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return fmt.Errorf("close %s to others: %w", dir, err)
	}
	return nil
}

// reach proves that the user can run a program from binDir inside dir. Trying
// is the only sure way: modes, access lists and mount options all count.
func (u *user) reach(binDir, dir string) error {
	if !u.switched {
		return nil
	}
	cmd := exec.Command(filepath.Join(binDir, "postgres"), "--version")
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: u.credential()}
	err := cmd.Run()
	if err == nil {
		return nil
	}
	for _, d := range []string{dir, binDir} {
		if at := u.blockedAt(d); at != "" {
			return fmt.Errorf("Postgres does not run as root but as %s, who can't enter %s (needed for %s): "+
				"set data_dir to a place below /var/lib, start Tributary as an ordinary user, or run: chmod o+x %s: %w",
				u.name, at, d, at, ErrUnreachable)
		}
	}
	return fmt.Errorf("Postgres does not run as root but as %s, who can't work in %s: %w: "+
		"set data_dir to a place below /var/lib, or start Tributary as an ordinary user: %w", u.name, dir, err, ErrUnreachable)
}

// blockedAt is the first directory on the way to path whose mode keeps the
// user out, or "".
func (u *user) blockedAt(path string) string {
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
		case st.Uid == u.uid:
			bit = 0o100
		case st.Gid == u.gid:
			bit = 0o010
		}
		if info.Mode().Perm()&bit == 0 {
			return chain[i]
		}
	}
	return ""
}
