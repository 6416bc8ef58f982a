package sftp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"time"

	"tributary/internal/remote"
)

// The packets and flags of SFTP version 3 that listings and files need.
const (
	fxpInit, fxpVersion               = 1, 2
	fxpOpen, fxpClose, fxpRead        = 3, 4, 5
	fxpFstat, fxpOpendir, fxpReaddir  = 8, 11, 12
	fxpStatus, fxpHandle, fxpData     = 101, 102, 103
	fxpName, fxpAttrs                 = 104, 105
	statusOK, statusEOF               = 0, 1
	statusNoSuchFile, statusForbidden = 2, 3
	statusBadMessage                  = 5
	attrSize, attrOwner, attrMode     = 1, 2, 4
	attrTimes, attrExtended           = 8, 1 << 31
	openToRead                        = 1
)

var errMalformed = errors.New("server sent a malformed packet")

// errStatus marks errors that the server reported in good order, after which
// the channel is as usable as before.
var errStatus = errors.New("server reports")

// eachName yields the entries of one NAME packet.
func eachName(body []byte, yield func(remote.Entry) error) (yieldErr, err error) {
	if len(body) < 4 {
		return nil, errMalformed
	}
	count := binary.BigEndian.Uint32(body)
	body = body[4:]
	for range count {
		var name, long string
		var ok bool
		if name, body, ok = cutString(body); !ok {
			return nil, errMalformed
		}
		if long, body, ok = cutString(body); !ok {
			return nil, errMalformed
		}
		e := remote.Entry{Name: name, Size: -1, Precision: time.Second, Kind: remote.Other}
		if body, ok = cutAttributes(body, long, &e); !ok {
			return nil, errMalformed
		}
		if name == "." || name == ".." {
			continue
		}
		if !remote.SafeName(name) || e.Kind == remote.File && e.Size < 0 && e.Invalid == "" {
			e.Kind = remote.Other
		}
		if err := yield(e); err != nil {
			return err, nil
		}
	}
	return nil, nil
}

// packed is a string as packets have it.
func packed(s string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(s))), s...) //nolint:gosec // a path
}

func cutString(b []byte) (string, []byte, bool) {
	rest, ok := passString(b)
	if !ok {
		return "", nil, false
	}
	return string(b[4 : len(b)-len(rest)]), rest, true
}

// passString returns what comes behind a string.
func passString(b []byte) (rest []byte, ok bool) {
	if len(b) < 4 {
		return nil, false
	}
	n := binary.BigEndian.Uint32(b)
	if uint64(n) > uint64(len(b)-4) {
		return nil, false
	}
	return b[4+n:], true
}

// cutAttributes reads a file's attributes. The kind of a file whose mode the
// server keeps to itself is read from the first letter of its line as ls would
// print it.
func cutAttributes(b []byte, long string, e *remote.Entry) ([]byte, bool) {
	if len(b) < 4 {
		return nil, false
	}
	flags := binary.BigEndian.Uint32(b)
	b = b[4:]
	fixed := 0
	for _, f := range []struct {
		flag uint32
		size int
	}{{attrSize, 8}, {attrOwner, 8}, {attrMode, 4}, {attrTimes, 8}} {
		if flags&f.flag != 0 {
			fixed += f.size
		}
	}
	if len(b) < fixed {
		return nil, false
	}
	if flags&attrSize != 0 {
		if size := binary.BigEndian.Uint64(b); size <= math.MaxInt64 {
			e.Size = int64(size)
		} else {
			e.WrongValue("the size, %d, is more than %d bytes", size, int64(math.MaxInt64))
		}
		b = b[8:]
	}
	if flags&attrOwner != 0 {
		b = b[8:]
	}
	if flags&attrMode != 0 {
		e.Kind = kindOfMode(binary.BigEndian.Uint32(b))
		b = b[4:]
	} else {
		e.Kind = kindOfLetter(long)
	}
	if flags&attrTimes != 0 {
		if t := binary.BigEndian.Uint32(b[4:]); t != 0 {
			e.ModTime = time.Unix(int64(t), 0).UTC()
		}
		b = b[8:]
	}
	if flags&attrExtended != 0 {
		return cutExtended(b)
	}
	return b, true
}

func cutExtended(b []byte) ([]byte, bool) {
	if len(b) < 4 {
		return nil, false
	}
	n := binary.BigEndian.Uint32(b)
	b = b[4:]
	for range uint64(n) * 2 {
		var ok bool
		if _, b, ok = cutString(b); !ok {
			return nil, false
		}
	}
	return b, true
}

func kindOfMode(mode uint32) remote.Kind {
	switch mode & 0o170000 {
	case 0o100000, 0:
		// Some servers send the permissions alone.
		return remote.File
	case 0o040000:
		return remote.Dir
	}
	return remote.Other
}

func kindOfLetter(long string) remote.Kind {
	if long == "" || long[0] == '-' {
		return remote.File
	}
	if long[0] == 'd' {
		return remote.Dir
	}
	return remote.Other
}

// statusError turns a STATUS packet into an error; EOF is io.EOF.
func statusError(kind byte, body []byte) error {
	if kind != fxpStatus || len(body) < 4 {
		return fmt.Errorf("%w: unexpected packet type %d", errMalformed, kind)
	}
	code := binary.BigEndian.Uint32(body)
	message, _, _ := cutString(body[4:])
	switch code {
	case statusEOF:
		return io.EOF
	case statusNoSuchFile:
		return fmt.Errorf("%w: %w", errStatus, os.ErrNotExist)
	case statusForbidden:
		return fmt.Errorf("%w: %w", errStatus, os.ErrPermission)
	case statusOK:
		return fmt.Errorf("%w: success instead of what was asked for", errMalformed)
	}
	return fmt.Errorf("%w: status %d %q", errStatus, code, message)
}
