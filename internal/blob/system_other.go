//go:build !linux

package blob

import (
	"errors"
	"math"
	"os"
	"path/filepath"
)

// syncsWhole is known of Linux alone.
func syncsWhole(*os.File) bool { return false }

func syncWhole(*os.File) error { return errors.ErrUnsupported }

func dirty() int64 { return math.MaxInt64 }

// move renames a file from one open directory into another.
func move(from *fanDir, name string, to *fanDir, as string) error {
	return os.Rename(filepath.Join(from.Name(), name), filepath.Join(to.Name(), as))
}
