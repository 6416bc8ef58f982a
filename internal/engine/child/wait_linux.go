package child

import "golang.org/x/sys/unix"

// waitidExited waits for the end of a child without reaping it.
func waitidExited(pid int) error {
	return unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
}
