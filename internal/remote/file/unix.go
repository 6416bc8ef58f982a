//go:build unix

package file

import (
	"syscall"
)

// openNonblock keeps an open of a pipe that took a file's place from waiting.
const openNonblock = syscall.O_NONBLOCK
