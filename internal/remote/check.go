package remote

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// Check goes through all that a poll does, one step after the other, and stops
// at the first that fails. dirs are listed at the end, the base itself first; a
// directory of dirs that is missing is fine, it counts as empty.
func (r Registry) Check(ctx context.Context, c Config, dirs []string) []Step {
	return r.CheckEach(ctx, c, dirs, nil)
}

// CheckEach is Check, and tells each step as it ends.
func (r Registry) CheckEach(ctx context.Context, c Config, dirs []string, each func(Step)) []Step {
	t := &Trace{Each: each}
	c.Trace = t
	s, err := r.Dial(ctx, c)
	if err != nil {
		return t.Steps
	}
	defer s.Close()
	for _, dir := range append([]string{""}, dirs...) {
		if err := t.Do("list", func() (string, error) { return checkList(ctx, s, dir) }); err != nil {
			break
		}
	}
	return t.Steps
}

func checkList(ctx context.Context, s Session, dir string) (string, error) {
	shown := dir
	if shown == "" {
		shown = "base directory"
	}
	var files, dirs, others, invalid, unreadable int
	example, line := "", ""
	err := s.List(ctx, dir, func(e Entry) error {
		if e.Invalid != "" {
			invalid++
			example = fmt.Sprintf("%.80q: %s", e.Name, e.Message)
		}
		if e.Unreadable {
			unreadable++
			line = fmt.Sprintf("%.80q", e.Name)
		}
		switch e.Kind {
		case File:
			files++
		case Dir:
			dirs++
		default:
			others++
		}
		return nil
	})
	switch {
	case err == nil:
		found := fmt.Sprintf("%s: %d files, %d directories, %d others", shown, files, dirs, others)
		if invalid > 0 {
			found += fmt.Sprintf("; %d of them can't be taken, such as %s", invalid, example)
		}
		if unreadable > 0 {
			found += fmt.Sprintf("; %d of the others are lines that can't be read, such as %s", unreadable, line)
		}
		return found, nil
	case errors.Is(err, fs.ErrNotExist) && dir != "":
		return shown + ": not there, counts as empty", nil
	}
	return "", fmt.Errorf("%s: %w", shown, err)
}

// remedy says what a person can do about an error of any source.
func remedy(err error, c Config) string {
	if errors.Is(err, syscall.ENOTDIR) {
		return "url leads to a file: give the directory in which add, edit and delete are"
	}
	switch Exception(err) {
	case "host_not_found":
		return "check the host name in url, and this machine's DNS"
	case "connection_failed":
		return "check host and port in url, and that the firewalls on the way let this machine through"
	case "host_key_unknown", "host_key_mismatch", "host_key_revoked", "host_key_not_offered":
		return "compare the fingerprint with what the server's owner tells you over another channel, then put the key into known_hosts or host_key of the source"
	case "certificate_not_trusted":
		return "compare the certificate with what the server's owner tells you over another channel; where it is right, put it, or its authority's, into a file that ca_file of the source names"
	case "encryption_refused":
		return "ask the server's owner to allow TLS (AUTH TLS, PROT P), or where nobody may listen on the way, use ftp in url"
	case "robots_forbidden":
		return "ask the server's owner to allow the program tributary in robots.txt, or, with the owner's leave, set robots: ignore for the source"
	case "no_index_page":
		return "open url in a browser: it must show a plain list of links, as Apache, nginx, lighttpd or IIS make it, without logging in or running scripts"
	case "login_failed":
		if c.Token != "" {
			return "check the token of the source"
		}
		if c.IdentityFile != "" {
			return "check user and identity_file; the server's owner must have the public half of " + c.IdentityFile
		}
		return "check the user in url and the password of the source"
	case "server_busy":
		return "the server has no room for another session: try later, or lower the source's sessions"
	case "timed_out":
		return "the server is slow or something drops its packets: check the network, or raise connect_timeout or idle_timeout"
	case "permission_denied":
		return "ask the server's owner to let this user read the directory"
	case "file_gone":
		return "check the path in url: it does not exist on the server"
	case "connection_lost":
		return "try again; if it stays, the server refuses this machine or is out of connections: ask its owner"
	case "reply_too_long", "protocol_error":
		return "ask the server's owner what server it is, and why it answers so"
	case "listing_too_long":
		return "ask the server's owner to move old files away, or raise the limit that the message names"
	case "protocol_unknown":
		return "correct url, or upgrade this member if a newer program has defined the source"
	case "bad_source_configuration":
		return "correct the source's configuration"
	}
	return "see the message; the server's log may say more"
}
