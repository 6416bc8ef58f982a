package ftp

import (
	"errors"
	"net/textproto"
	"strings"

	"github.com/jlaffaye/ftp"

	"tributary/internal/remote"
)

// classifyFTP maps reply codes. 550 means both "not there" and "not allowed";
// where it matters the FTP connector looks closer.
func classifyFTP(e *textproto.Error) remote.Class {
	text := strings.ToLower(e.Msg)
	switch e.Code {
	case 421:
		return remote.Connection
	case 530, 332, 532:
		return remote.Auth
	case 550, 553:
		if strings.Contains(text, "permission") || strings.Contains(text, "denied") || strings.Contains(text, "not allowed") {
			return remote.Permission
		}
		return remote.NotExist
	}
	return remote.Unclassified
}

// classified gives an error the class that only FTP knows.
func classified(err error) error {
	var own *remote.Error
	if err == nil || errors.As(err, &own) || remote.ClassOf(err) != remote.Unclassified {
		return err
	}
	class := remote.Unclassified
	var proto *textproto.Error
	switch {
	case errors.As(err, &proto):
		class = classifyFTP(proto)
	case errors.Is(err, ftp.ErrInvalidCommand):
		class = remote.Misconfigured
	}
	if class == remote.Unclassified {
		return err
	}
	return &remote.Error{Class: class, Err: err}
}

func classify(err error) remote.Class { return remote.ClassOf(classified(err)) }

// wrap says what was being done, unless that is said.
func wrap(op, p string, err error) error { return remote.Wrap(op, p, classified(err)) }
