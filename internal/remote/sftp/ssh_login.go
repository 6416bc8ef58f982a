package sftp

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"tributary/internal/infile"
	"tributary/internal/remote"
)

// maxAgentKeys is how many keys of an agent are offered. It is fixed: servers hang up
// after six by default.
const maxAgentKeys = 6

// authMethods offers the certificate of the key, the key, those of the agent, then the
// password both ways. What end returns to must be called once nobody logs in any more.
func authMethods(c remote.Config) (auth []ssh.AuthMethod, end func(), err error) {
	end = func() {}
	var signers []ssh.Signer
	if c.IdentityFile != "" {
		if signers, err = readIdentity(c.IdentityFile, c.IdentityPassphrase); err != nil {
			return nil, end, &remote.Error{Op: "read identity_file", Path: c.IdentityFile, Class: remote.Misconfigured, Err: err}
		}
	}
	if c.IdentityAgent != "" {
		held, hangUp, err := agentKeys(c.IdentityAgent, c.ConnectTimeout)
		if err != nil {
			return nil, end, &remote.Error{Op: "ask identity_agent", Path: c.IdentityAgent, Class: remote.Misconfigured, Err: err}
		}
		signers, end = append(signers, held...), hangUp
	}
	// The library tries one method of a name only, so all keys are one.
	if len(signers) > 0 {
		auth = append(auth, ssh.PublicKeys(signers...))
	}
	if c.Password != "" {
		auth = append(auth, ssh.Password(c.Password), ssh.KeyboardInteractive(answer(c.Password)))
	}
	if len(auth) == 0 {
		return nil, end, &remote.Error{Op: "log in", Class: remote.Misconfigured, Err: errors.New("the source has neither identity_file, identity_agent nor password")}
	}
	return auth, end, nil
}

// answer gives a password where a server asks for one in a conversation.
func answer(password string) ssh.KeyboardInteractiveChallenge {
	return func(_, _ string, questions []string, echos []bool) ([]string, error) {
		answers := make([]string, len(questions))
		for i := range questions {
			// Only what isn't echoed is a password; the rest stays empty rather
			// than showing it.
			if i < len(echos) && !echos[i] {
				answers[i] = password
			}
		}
		return answers, nil
	}
}

// readIdentity reads a private key, and the certificate beside it where there is one:
// FILE-cert.pub, as OpenSSH names it, which is offered first.
func readIdentity(file, passphrase string) ([]ssh.Signer, error) {
	key, err := readKey(file, passphrase)
	if err != nil {
		return nil, err
	}
	name := file + "-cert.pub"
	text, err := infile.Read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return []ssh.Signer{key}, nil
	}
	if err != nil {
		return nil, err
	}
	signer, err := certified(key, text)
	if err != nil {
		return nil, fmt.Errorf("the certificate beside it, %s: %w", name, err)
	}
	return []ssh.Signer{signer, key}, nil
}

// certified is a key with its certificate, which must be of that key, and valid: a
// server says no more of another than that it refuses the user.
func certified(key ssh.Signer, text []byte) (ssh.Signer, error) {
	public, _, _, _, err := ssh.ParseAuthorizedKey(text) //nolint:dogsled // comment, options and what follows are not asked for
	if err != nil {
		return nil, err
	}
	cert, ok := public.(*ssh.Certificate)
	if !ok || cert.CertType != ssh.UserCert {
		return nil, errors.New("is no certificate of a user")
	}
	now := uint64(time.Now().Unix()) //nolint:gosec // it is after 1970
	if cert.ValidBefore != ssh.CertTimeInfinity && now >= cert.ValidBefore {
		return nil, fmt.Errorf("has expired at %s: ask who signed it for another", time.Unix(int64(cert.ValidBefore), 0).UTC().Format(time.RFC3339)) //nolint:gosec // a time that has passed
	}
	if now < cert.ValidAfter {
		return nil, errors.New("is not valid yet: compare this machine's clock")
	}
	return ssh.NewCertSigner(cert, key)
}

func readKey(file, passphrase string) (ssh.Signer, error) {
	pem, err := infile.Read(file)
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	if passphrase != "" {
		signer, err := ssh.ParsePrivateKeyWithPassphrase(pem, []byte(passphrase))
		if err == nil {
			return signer, nil
		}
		// A passphrase for a key that has none is harmless.
		if plain, plainErr := ssh.ParsePrivateKey(pem); plainErr == nil {
			return plain, nil
		}
		return nil, fmt.Errorf("identity_passphrase doesn't open it: %w", err)
	}
	signer, err := ssh.ParsePrivateKey(pem)
	var missing *ssh.PassphraseMissingError
	if errors.As(err, &missing) {
		return nil, errors.New("is encrypted: set identity_passphrase")
	}
	return signer, err
}

// agentKeys are the keys that an agent holds, which signs with them until end.
func agentKeys(socket string, within time.Duration) (signers []ssh.Signer, end func(), err error) {
	conn, err := net.DialTimeout("unix", socket, within)
	if err != nil {
		return nil, nil, err
	}
	end = func() { _ = conn.Close() }
	if err = conn.SetDeadline(time.Now().Add(2 * within)); err == nil {
		signers, err = agent.NewClient(conn).Signers()
	}
	if err == nil && len(signers) == 0 {
		err = errors.New("the agent holds no key: give it one with ssh-add")
	}
	if err != nil {
		end()
		return nil, nil, err
	}
	return signers[:min(len(signers), maxAgentKeys)], end, nil
}
