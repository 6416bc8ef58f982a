package sftp

import (
	"errors"

	"golang.org/x/crypto/ssh"

	"tributary/internal/remote"
)

// classified gives an error the class that only SSH and SFTP know.
func classified(err error) error {
	var own *remote.Error
	if err == nil || errors.As(err, &own) || remote.ClassOf(err) != remote.Unclassified {
		return err
	}
	var refused *ssh.OpenChannelError
	switch {
	case lost(err):
		return &remote.Error{Class: remote.Connection, Err: err}
	case errors.As(err, &refused):
		return &remote.Error{Class: remote.Busy, Err: err}
	case errors.Is(err, errMalformed):
		return &remote.Error{Class: remote.Protocol, Err: err}
	}
	return err
}

func classify(err error) remote.Class { return remote.ClassOf(classified(err)) }

// wrap says what was being done, unless that is said.
func wrap(op, p string, err error) error { return remote.Wrap(op, p, classified(err)) }
