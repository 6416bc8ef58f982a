package remote

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
)

// Step is one step of a source check.
type Step struct {
	// Name is configuration, resolve, connect, host_key, login or list.
	Name string
	// OK says whether the step worked.
	OK bool
	// Detail says what was found, or what went wrong.
	Detail string
	// Remedy says what to do; empty when the step worked.
	Remedy string
}

// Check goes through all that a poll does, one step after the other, and stops
// at the first that fails. dirs are listed at the end, the base itself first; a
// directory of dirs that is missing is fine, it counts as empty.
func Check(ctx context.Context, c Config, dirs []string) []Step {
	var steps []Step
	current := ""
	s, err := dial(ctx, c, func(name, detail string) {
		if current = name; detail == "" {
			return
		}
		detail = Clean(detail)
		// A retried handshake goes through the same steps again.
		for i := range steps {
			if steps[i].Name == name {
				steps[i].Detail = detail
				return
			}
		}
		steps = append(steps, Step{Name: name, OK: true, Detail: detail})
	})
	if err != nil {
		if current == "" || ClassOf(err) == Misconfigured {
			current = "configuration"
		}
		return append(steps, Step{Name: current, Detail: Clean(err.Error()), Remedy: remedy(err, c)})
	}
	defer s.Close()
	for _, dir := range append([]string{""}, dirs...) {
		step := checkList(ctx, s, dir, c)
		steps = append(steps, step)
		if !step.OK {
			break
		}
	}
	return steps
}

func checkList(ctx context.Context, s Session, dir string, c Config) Step {
	shown := dir
	if shown == "" {
		shown = "base directory"
	}
	var files, dirs, others, invalid int
	example := ""
	err := s.List(ctx, dir, func(e Entry) error {
		if e.Invalid != "" {
			invalid++
			example = fmt.Sprintf("%.80q: %s", e.Name, e.Message)
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
		return Step{Name: "list", OK: true, Detail: Clean(found)}
	case errors.Is(err, fs.ErrNotExist) && dir != "":
		return Step{Name: "list", OK: true, Detail: shown + ": not there, counts as empty"}
	}
	return Step{Name: "list", Detail: Clean(fmt.Sprintf("%s: %v", shown, err)), Remedy: remedy(err, c)}
}

// remedy says what a person can do about an error.
func remedy(err error, c Config) string {
	switch Exception(err) {
	case "host_not_found":
		return "check the host name in url, and this machine's DNS"
	case "connection_failed":
		return "check host and port in url, and that the firewalls on the way let this machine through"
	case "host_key_unknown", "host_key_mismatch", "host_key_revoked", "host_key_not_offered":
		return "compare the fingerprint with what the server's owner tells you over another channel, then put the key into known_hosts or host_key of the source"
	case "login_failed":
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
	case "bad_source_configuration":
		return "correct the source's configuration"
	}
	return "see the message; the server's log may say more"
}
