//go:build !wasip1

package infile

import "syscall"

// nonblock has nobody wait for whoever writes to a pipe.
const nonblock = syscall.O_NONBLOCK
