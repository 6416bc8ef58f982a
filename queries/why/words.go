package why

import (
	"fmt"
	"time"

	"tributary/sql/control"
)

// moment is a time as people read it.
func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }

// many is a count of things.
func many(n int64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// atLeast is a count that ends at control.CountedTo.
func atLeast(n int64, thing string) string {
	if n > control.CountedTo {
		return "more than " + many(control.CountedTo, thing)
	}
	return many(n, thing)
}

// waits says how many files wait.
func waits(n int64) string {
	if n == 1 {
		return "1 file waits"
	}
	return atLeast(n, "file") + " wait"
}

// were is the verb of so many things.
func were(n int64) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

// have is the verb of so many things.
func have(n int64) string {
	if n == 1 {
		return "has"
	}
	return "have"
}

// after is the later of two times.
func after(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// bytes is a size.
func bytes(n int64) string { return many(n, "byte") }

// inSession names a session, as the end of a parenthesis.
func inSession(n *int64) string {
	if n == nil {
		return ""
	}
	return fmt.Sprintf(", session %d", *n)
}

// value is a number that may not be known.
func value(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

// short is as much of a hash as people compare.
func short(sha string) string { return sha[:min(len(sha), 12)] }
