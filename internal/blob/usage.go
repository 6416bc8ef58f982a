//go:build !wasip1

package blob

import (
	"fmt"
	"math"
	"syscall"
)

// UsageOf asks the file system of a path. It needs no right to read it.
func UsageOf(path string) (Usage, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return Usage{}, fmt.Errorf("ask how full the disk of %s is: %w", path, err)
	}
	size := int64(s.Bsize) //nolint:unconvert // another type on other systems
	return Usage{Free: bytes(s.Bavail, size), Total: bytes(s.Blocks, size)}, nil
}

func bytes(blocks uint64, size int64) int64 {
	if size <= 0 || blocks > math.MaxInt64/uint64(size) {
		return math.MaxInt64
	}
	return int64(blocks) * size
}
