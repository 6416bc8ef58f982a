package chdb

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// damagedFor is how long a definition must have been damaged to be removed: the
// engine of an earlier run that is still ending may be writing one.
const damagedFor = 2 * time.Second

// removeDamagedDefinitions removes definitions of tables and views that are empty
// or cut, and have been since before, and returns their paths. A crash or a full
// disk while one is written leaves such a file, and with it the engine refuses
// its whole directory, for good. A table's rows are in files of their own, but
// without its definition nobody can read them: the history makes both anew.
func removeDamagedDefinitions(dataDir string, before time.Time) (removed []string, err error) {
	for _, below := range []string{"store/*/*/*.sql", "metadata/*.sql", "metadata/*/*.sql"} {
		paths, gerr := filepath.Glob(filepath.Join(dataDir, below))
		err = errors.Join(err, gerr)
		for _, path := range paths {
			damaged, derr := isDamaged(path, before)
			if derr == nil && damaged {
				if derr = os.Remove(path); derr == nil {
					removed = append(removed, path)
				}
			}
			err = errors.Join(err, derr)
		}
	}
	return removed, err
}

// isDamaged tells whether a file is a definition that is not whole, since before.
func isDamaged(path string, before time.Time) (bool, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil || !info.Mode().IsRegular() || !info.ModTime().Before(before) {
		return false, err
	}
	text, err := os.ReadFile(path)
	return err == nil && !isWhole(text), err
}

// isWhole tells whether a definition ends as the engine ends all: with a line's
// end, outside of quotes and brackets.
func isWhole(definition []byte) bool {
	var quote byte // 0: outside of quotes
	depth := 0
	for i := 0; i < len(definition); i++ {
		switch c := definition[i]; {
		case quote != 0 && c == '\\':
			i++
		case quote != 0:
			if c == quote { // a doubled one closes and opens again
				quote = 0
			}
		case c == '\'' || c == '`' || c == '"':
			quote = c
		case c == '(':
			depth++
		case c == ')':
			depth--
		}
	}
	return quote == 0 && depth == 0 && bytes.HasSuffix(definition, []byte("\n")) && !bytes.ContainsRune(definition, 0)
}
