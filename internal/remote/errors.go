package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"syscall"
	"time"
)

// Class says what kind of trouble an error is, and so what may help.
type Class int

// The classes of errors. After Connection, Timeout and Protocol the session is
// of no further use; after NotExist, Permission and Unclassified it goes on.
const (
	// Unclassified is any failure of a transfer that has no class of its own.
	Unclassified Class = iota
	// NotExist: the path isn't there.
	NotExist
	// Permission: the server refuses this path.
	Permission
	// Auth: the server refuses the login.
	Auth
	// HostKey: the server's identity isn't the expected one, or not known.
	HostKey
	// Connection: no connection, or it was lost.
	Connection
	// Timeout: no progress for too long.
	Timeout
	// Busy: the server says that it has too many connections.
	Busy
	// Canceled: the caller gave up.
	Canceled
	// Misconfigured: the configuration can't work (bad URL, unreadable key).
	Misconfigured
	// Protocol: the server breaks the protocol, or exceeds a limit.
	Protocol
)

// Error is what every method of this package returns. Its text says what was
// done to which path and what happened; whatever the server contributed to it,
// it is one line of valid UTF-8 without control characters and at most 1,000
// bytes long.
type Error struct {
	// Op is what was being done: connect, login, list, stat, open, read. It is
	// empty where only the caller knows.
	Op string
	// Path is the path as the caller gave it, or the server.
	Path string
	// Err is the cause.
	Err error

	// Class says what may help.
	Class Class
	// Exception is the name under which the error is recorded; empty: that of its class.
	Exception string
	// After is how long the server asks to be left alone.
	After time.Duration
	// Heads are those of the answer that is the trouble.
	Heads Heads
}

// Error returns "op path: cause", cleaned and cut. A long path leaves room for
// the cause.
func (e *Error) Error() string {
	const most = MaxText / 8
	switch {
	case e.Op == "":
		return Clean(e.Err.Error())
	case e.Path == "":
		return Clean(e.Op + ": " + e.Err.Error())
	case len(e.Path) > most:
		return Clean(fmt.Sprintf("%s %q…: %s", e.Op, e.Path[:most], e.Err))
	}
	return Clean(fmt.Sprintf("%s %q: %s", e.Op, e.Path, e.Err))
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is makes errors.Is work with fs.ErrNotExist, fs.ErrPermission and
// os.ErrDeadlineExceeded whatever the protocol's own error was.
func (e *Error) Is(target error) bool {
	switch target {
	case fs.ErrNotExist:
		return e.Class == NotExist
	case fs.ErrPermission:
		return e.Class == Permission
	case os.ErrDeadlineExceeded:
		return e.Class == Timeout
	}
	return false
}

// ClassOf returns the class of any error of this package, also wrapped.
func ClassOf(err error) Class {
	var e *Error
	if errors.As(err, &e) {
		return e.Class
	}
	return classify(err)
}

// SessionLost reports whether the session is of no further use after err.
func SessionLost(err error) bool {
	switch ClassOf(err) {
	case Connection, Timeout, Busy, Canceled, Auth, HostKey, Protocol:
		return true
	}
	return false
}

// Exception returns the stable snake_case name under which an error is
// recorded; "" for nil.
func Exception(err error) string {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) && e.Exception != "" {
		return e.Exception
	}
	switch ClassOf(err) {
	case NotExist:
		return "file_gone"
	case Permission:
		return "permission_denied"
	case Auth:
		return "login_failed"
	case HostKey:
		return "host_key_mismatch"
	case Connection:
		return "connection_lost"
	case Timeout:
		return "timed_out"
	case Busy:
		return "server_busy"
	case Canceled:
		return "cancelled"
	case Misconfigured:
		return "bad_source_configuration"
	case Protocol:
		return "protocol_error"
	default:
		return "transfer_failed"
	}
}

// Wrap gives err its class, unless it already has one, and says what was being
// done, unless that is said.
func Wrap(op, path string, err error) error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		if e.Op == "" {
			said := *e
			said.Op, said.Path = op, path
			return &said
		}
		return err
	}
	e = &Error{Op: op, Path: path, Err: err, Class: classify(err)}
	if errors.Is(err, io.EOF) {
		// A connection's end must never look like a file's end to a reader
		// further up, so the cause is kept as text only.
		e.Err = fmt.Errorf("%s: %w", err.Error(), io.ErrUnexpectedEOF)
	}
	return e
}

// classify tells what any protocol's errors are. What only one of them knows, its
// connector gives the errors before.
func classify(err error) Class {
	switch {
	case err == nil:
		return Unclassified
	case errors.Is(err, context.Canceled):
		return Canceled
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return Timeout
	case errors.Is(err, fs.ErrNotExist):
		return NotExist
	case errors.Is(err, fs.ErrPermission):
		return Permission
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed),
		errors.Is(err, io.ErrClosedPipe),
		errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.EPIPE):
		return Connection
	}
	var ne net.Error
	if errors.As(err, &ne) {
		if ne.Timeout() {
			return Timeout
		}
		return Connection
	}
	return Unclassified
}

// RetryAfter is how long the server asks to be left alone, up to a day; 0: it doesn't.
func RetryAfter(err error) time.Duration {
	var e *Error
	if errors.As(err, &e) {
		return e.After
	}
	return 0
}

// OpLogin is what was being done while a session logs in.
const OpLogin = "log in to"
