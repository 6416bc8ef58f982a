package servers

import (
	"fmt"
	"os"
	"syscall"
)

// Share is a mounted file system whose server never answers, as that of a network share
// that is gone.
type Share struct {
	// Dir is where it is mounted.
	Dir    string
	server *os.File
}

// StartShare mounts a share on a directory, which takes root and FUSE. It must be stopped.
func StartShare(dir string) (*Share, error) {
	server, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("a share: %w: %w", ErrMissing, err)
	}
	how := fmt.Sprintf("fd=%d,rootmode=40000,user_id=%d,group_id=%d", server.Fd(), os.Getuid(), os.Getgid())
	if err := syscall.Mount("share", dir, "fuse", syscall.MS_NOSUID|syscall.MS_NODEV, how); err != nil {
		_ = server.Close()
		return nil, fmt.Errorf("a share: %w: only root may mount one: %w", ErrMissing, err)
	}
	return &Share{Dir: dir, server: server}, nil
}

// Break has all that waits for the share, and whoever asks from now on, be told that
// nobody answers.
func (s *Share) Break() { _ = s.server.Close() }

// Stop takes the share away. What waits for it is told so.
func (s *Share) Stop() {
	s.Break()
	_ = syscall.Unmount(s.Dir, syscall.MNT_DETACH)
}
