package chdb

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// emptyFor is how long a definition must have been empty to be removed: the
// engine of an earlier run that is still ending may be writing one.
const emptyFor = 2 * time.Second

// removeEmptyDefinitions removes definitions of tables and views that are empty,
// and have been since before, and returns their paths. A crash or a full disk
// while a view is replaced leaves such a file, and with it the engine refuses
// its whole directory, for good. A table's rows are in files of their own, but
// without its definition nobody can read them: the history makes both anew.
func removeEmptyDefinitions(dataDir string, before time.Time) (removed []string, err error) {
	for _, below := range []string{"store/*/*/*.sql", "metadata/*.sql", "metadata/*/*.sql"} {
		paths, gerr := filepath.Glob(filepath.Join(dataDir, below))
		err = errors.Join(err, gerr)
		for _, path := range paths {
			info, serr := os.Lstat(path)
			switch {
			case errors.Is(serr, fs.ErrNotExist):
			case serr != nil:
				err = errors.Join(err, serr)
			case info.Mode().IsRegular() && info.Size() == 0 && info.ModTime().Before(before):
				if rerr := os.Remove(path); rerr != nil {
					err = errors.Join(err, rerr)
					continue
				}
				removed = append(removed, path)
			}
		}
	}
	return removed, err
}
