package watch

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/fsnotify/fsnotify"
)

// Room says why some of the given directories can't be watched, as far as that shows
// beforehand: [StateOf] the error is [Exhausted] where the system gives this account no
// more. One of them that is there is watched for a moment. A program that watches them
// already has its watches, so no more is tried. Nil: nothing speaks against it.
func Room(dirs []string) error {
	if runtime.GOOS != "linux" || len(dirs) == 0 {
		return nil
	}
	if len(dirs) > most {
		return fmt.Errorf("%w: %d of %d", errMost, most, len(dirs))
	}
	if n, ok := allowed(); ok && n < len(dirs) {
		return fmt.Errorf("%w: fs.inotify.max_user_watches is %d, and there are %d directories", errFew, n, len(dirs))
	}
	trial, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	defer trial.Close()
	for _, dir := range dirs {
		if err := trial.Add(dir); !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

var errFew = errors.New("the system lets an account watch fewer directories")

// allowed is how many watches an account may have.
func allowed() (int, bool) {
	text, err := os.ReadFile("/proc/sys/fs/inotify/max_user_watches")
	if err != nil {
		return 0, false
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	return n, err == nil
}
