package chdb

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
)

// Codes of ClickHouse's own that the handler itself gives.
const (
	codeSyntax         = 62
	codeNotImplemented = 48
	codeTooLarge       = 307
	codeTooMany        = 202
	codeCancelled      = 394
	codeUnknown        = 1002
)

// exception is an error of the engine, with ClickHouse's code and text.
type exception struct {
	code int
	text string // "Code: 60. DB::Exception: ... (UNKNOWN_TABLE)"
}

func (e *exception) Error() string { return e.text }

func newException(code int, name, format string, args ...any) *exception {
	return &exception{code: code, text: fmt.Sprintf("Code: %d. DB::Exception: %s. (%s)", code, fmt.Sprintf(format, args...), name)}
}

var codePattern = regexp.MustCompile(`Code: (\d+)`)

// parseException makes an exception of what the engine said.
func parseException(msg string) *exception {
	if m := codePattern.FindStringSubmatch(msg); m != nil {
		if code, err := strconv.Atoi(m[1]); err == nil {
			return &exception{code: code, text: msg}
		}
	}
	return newException(codeUnknown, "UNKNOWN_EXCEPTION", "%s", msg)
}

// asException makes an exception of any error, so that a client always gets one.
func asException(err error) *exception {
	var e *exception
	if errors.As(err, &e) {
		return e
	}
	return newException(codeUnknown, "UNKNOWN_EXCEPTION", "%v", err)
}
