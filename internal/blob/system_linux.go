package blob

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// syncsWhole tells whether syncing the whole file system of a directory makes durable
// what is in it, and says so where it can't: ext4's does on Linux 5.8 and later. Those
// over FUSE sync nothing, and of others nobody has measured that it is faster.
func syncsWhole(dir *os.File) bool {
	var system unix.Utsname
	var on unix.Statfs_t
	if unix.Uname(&system) != nil || unix.Fstatfs(int(dir.Fd()), &on) != nil {
		return false
	}
	var major, minor int
	if _, err := fmt.Sscanf(unix.ByteSliceToString(system.Release[:]), "%d.%d", &major, &minor); err != nil || major < 5 || major == 5 && minor < 8 {
		return false
	}
	return on.Type == unix.EXT4_SUPER_MAGIC
}

// syncWhole syncs the file system of an open file.
func syncWhole(f *os.File) error {
	return os.NewSyscallError("syncfs", unix.Syncfs(int(f.Fd())))
}

// dirty is how many bytes are on their way to the machine's disks. Where that isn't
// known, it is more than any bound.
func dirty() int64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return math.MaxInt64
	}
	var sum int64
	for _, name := range []string{"\nDirty:", "\nWriteback:"} {
		_, rest, found := strings.Cut(string(text), name)
		line, _, _ := strings.Cut(rest, " kB")
		kilobytes, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
		if !found || err != nil {
			return math.MaxInt64
		}
		sum += kilobytes << 10
	}
	return sum
}

// move renames a file from one open directory into another. A [os.Root] would open both
// once more.
func move(from *fanDir, name string, to *fanDir, as string) error {
	if err := unix.Renameat(int(from.handle.Fd()), name, int(to.handle.Fd()), as); err != nil {
		return &os.LinkError{Op: "rename", Old: tmpDir, New: as, Err: err}
	}
	return nil
}
