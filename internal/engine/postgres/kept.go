package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// fill makes a cluster in dir, which is empty and the account's: a copy of what initdb
// made before, of the same version and by the same arguments, where such are kept.
func (s *Server) fill(ctx context.Context, dir string) error {
	args := []string{"-U", Name, "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--lc-messages=C", "--data-checksums"}
	if s.o.NoSync {
		args = append(args, "--no-sync")
	}
	if s.o.Kept == "" {
		return s.initdb(ctx, dir, args)
	}
	kept, err := s.keptCluster(ctx, args)
	if err != nil {
		return err
	}
	if _, err := os.Stat(kept); err == nil {
		return copyCluster(ctx, kept, dir)
	}
	if err := s.initdb(ctx, dir, args); err != nil {
		return err
	}
	return keep(ctx, dir, kept)
}

func (s *Server) initdb(ctx context.Context, dir string, args []string) error {
	cmd := s.command("initdb", append([]string{"-D", dir}, args...)...)
	cmd.Dir = dir
	return s.run(ctx, cmd)
}

// keptCluster is where the cluster is kept that is made so.
func (s *Server) keptCluster(ctx context.Context, args []string) (string, error) {
	version, err := exec.CommandContext(ctx, filepath.Join(s.o.BinDir, "initdb"), "--version").Output()
	if err != nil {
		return "", fmt.Errorf("which version initdb has: %w", err)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %d:%d", version, strings.Join(args, " "), s.user.uid, s.user.gid))
	return filepath.Join(s.o.Kept, "cluster-"+hex.EncodeToString(sum[:6])), nil
}

// keep copies a cluster, in which nothing works, to where it is kept. Who comes second
// leaves the other's.
func keep(ctx context.Context, dir, kept string) error {
	if err := os.MkdirAll(filepath.Dir(kept), 0o700); err != nil {
		return fmt.Errorf("keep the new cluster: %w", err)
	}
	part, err := os.MkdirTemp(filepath.Dir(kept), filepath.Base(kept)+".part-")
	if err != nil {
		return fmt.Errorf("keep the new cluster: %w", err)
	}
	if err := copyCluster(ctx, dir, part); err != nil {
		return errors.Join(err, os.RemoveAll(part))
	}
	if err := os.Rename(part, kept); err != nil {
		if _, there := os.Stat(kept); there != nil {
			err = fmt.Errorf("keep the new cluster: %w", err)
			return errors.Join(err, os.RemoveAll(part))
		}
		return os.RemoveAll(part)
	}
	return nil
}

// copyCluster copies what is in a cluster's directory, with owners and modes.
func copyCluster(ctx context.Context, from, to string) error {
	if out, err := exec.CommandContext(ctx, "cp", "-a", from+"/.", to).CombinedOutput(); err != nil {
		return fmt.Errorf("copy the cluster in %s: %w\n%s", from, err, out)
	}
	return nil
}
