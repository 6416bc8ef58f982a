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

// ErrUnreachable is matched by the error that says that the account Postgres
// runs as can't enter a directory it needs.
var ErrUnreachable = errors.New("unreachable for the account that Postgres runs as")

// Account is whom Postgres runs as. It refuses to run as root. So root's runs
// in a user namespace: outside it is root, all its files and its socket are
// root's, and nobody else gets at them; inside, where Postgres looks, it has
// the number and the name of an account that is not root's. Where there can't
// be such a namespace, it runs as that account, and shares it with whatever
// else does.
type Account struct {
	uid, gid uint32 // the owner of its files, as seen from outside
	name     string
	inside   *osuser.User // in a namespace of its own: who it takes itself for
	shared   bool         // it runs as another account than we do
}

// Self is the account that this process runs as.
func Self() *Account {
	return &Account{uid: uint32(os.Geteuid()), gid: uint32(os.Getegid())}
}

// Shared says that Postgres runs as another account than Tributary, so that
// whatever else runs as that account can read its files.
func (a *Account) Shared() bool { return a.shared }

// ChooseAccount returns ourselves; for root, ourselves in a namespace; and where
// there can be none, the owner of the cluster in dataDir if that is not root,
// else the account postgres, else nobody.
func ChooseAccount(dataDir string) (*Account, error) {
	if os.Geteuid() != 0 {
		return Self(), nil
	}
	u, uid, gid, err := lookUp("postgres", "nobody")
	if err != nil {
		return nil, err
	}
	own := Self()
	if own.inside = u; own.works() == nil {
		return own, nil
	}
	if info, err := os.Stat(dataDir); err == nil {
		if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid != 0 {
			return &Account{uid: st.Uid, gid: st.Gid, name: nameOf(st.Uid), shared: true}, nil
		}
	}
	return &Account{uid: uid, gid: gid, name: u.Username, shared: true}, nil
}

// lookUp returns the first of the accounts that exists.
func lookUp(names ...string) (u *osuser.User, uid, gid uint32, err error) {
	for _, name := range names {
		if u, err = osuser.Lookup(name); err != nil {
			continue
		}
		id, err1 := strconv.ParseUint(u.Uid, 10, 32)
		group, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(err1, err2); err != nil {
			return nil, 0, 0, fmt.Errorf("account %s: %w", name, err)
		}
		return u, uint32(id), uint32(group), nil
	}
	return nil, 0, 0, errors.New("Postgres does not run as root, and there is neither an account postgres nor nobody: " +
		"start Tributary as an ordinary user, or create the account postgres")
}

// works tries whether a program can be run as this account.
func (a *Account) works() error {
	cmd := exec.Command("/bin/sh", "-c", ":")
	cmd.SysProcAttr = a.process()
	return cmd.Run()
}

func nameOf(uid uint32) string {
	id := strconv.FormatUint(uint64(uid), 10)
	if u, err := osuser.LookupId(id); err == nil {
		return u.Username
	}
	return "uid " + id
}

// process makes a process this account's.
func (a *Account) process() *syscall.SysProcAttr {
	switch {
	case a.shared:
		return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: a.uid, Gid: a.gid}}
	case a.inside != nil:
		// Both numbers were read when the account was looked up.
		uid, _ := strconv.Atoi(a.inside.Uid)
		gid, _ := strconv.Atoi(a.inside.Gid)
		return &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: int(a.uid), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: gid, HostID: int(a.gid), Size: 1}},
		}
	}
	return &syscall.SysProcAttr{}
}

// makeDir makes dir, whose parent exists and is ours, for this account alone.
func (a *Account) makeDir(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("embedded Postgres's directory: %w", err)
	}
	// Lstat: in a directory that others may write to, a link is an attack.
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("embedded Postgres's directory: %w", err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || st.Uid != a.uid && os.Geteuid() != 0 {
		return fmt.Errorf("%s is not a directory of ours: remove it", dir)
	}
	if st.Uid != a.uid {
		if err := os.Lchown(dir, int(a.uid), int(a.gid)); err != nil {
			return fmt.Errorf("give %s to its account: %w", dir, err)
		}
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return fmt.Errorf("close %s to others: %w", dir, err)
	}
	return nil
}

// takeOver gives a cluster of another account to this one: programs before this
// one ran root's as the account postgres. The top is given last, so that an
// interrupted one is done again. Nothing may work in the cluster meanwhile.
func (a *Account) takeOver(dir string) (done bool, err error) {
	info, err := os.Lstat(dir)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("whose cluster it is: %w", err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || st.Uid == a.uid || os.Geteuid() != 0 {
		return false, nil
	}
	if err := a.give(dir); err != nil {
		return false, fmt.Errorf("take the cluster over from %s: %w", nameOf(st.Uid), err)
	}
	return true, nil
}

// give gives a directory's content to the account, then the directory. Postgres
// itself makes links to directories only: its log's and tablespaces'.
func (a *Account) give(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if e.Type()&os.ModeSymlink != 0 {
			if target, err := filepath.EvalSymlinks(path); err == nil {
				if err := a.give(target); err != nil {
					return err
				}
			}
		}
		if e.IsDir() {
			err = a.give(path)
		} else {
			err = os.Lchown(path, int(a.uid), int(a.gid))
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return os.Lchown(dir, int(a.uid), int(a.gid))
}
