package sftp

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"tributary/internal/infile"
	"tributary/internal/remote"
)

// hostKeys is what is known about a server's identity.
type hostKeys struct {
	check ssh.HostKeyCallback
	// algorithms to offer, derived from the known keys so that the server
	// shows a key that can be compared; empty means all.
	algorithms []string
	// fingerprintsOnly: the key's type isn't known, so a mismatch of one type
	// says nothing about the others.
	fingerprintsOnly bool
}

// keyType is a type of key and the signature algorithms that prove one, in
// order of preference.
type keyType struct {
	name       string
	algorithms []string
}

// keyTypes are the types that we accept, in order of preference. SHA-1
// signatures are not among them.
func keyTypes() []keyType {
	return []keyType{
		{ssh.KeyAlgoED25519, []string{ssh.KeyAlgoED25519}},
		{ssh.KeyAlgoECDSA256, []string{ssh.KeyAlgoECDSA256}},
		{ssh.KeyAlgoECDSA384, []string{ssh.KeyAlgoECDSA384}},
		{ssh.KeyAlgoECDSA521, []string{ssh.KeyAlgoECDSA521}},
		{ssh.KeyAlgoRSA, []string{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256}},
	}
}

func certAlgorithms() []string {
	return []string{
		ssh.CertAlgoED25519v01, ssh.CertAlgoECDSA256v01, ssh.CertAlgoECDSA384v01, ssh.CertAlgoECDSA521v01,
		ssh.CertAlgoRSASHA512v01, ssh.CertAlgoRSASHA256v01,
	}
}

func algorithmsFor(name string) []string {
	for _, k := range keyTypes() {
		if k.name == name {
			return k.algorithms
		}
	}
	return nil
}

func hostKeyError(exception, format string, args ...any) error {
	return &remote.Error{Op: "verify host key", Class: remote.HostKey, Exception: exception, Err: fmt.Errorf(format, args...)}
}

// loadHostKeys reads pins and known_hosts. Verification can't be turned off.
func loadHostKeys(c remote.Config, t remote.Target) (*hostKeys, error) {
	if len(c.HostKey) > 0 {
		return pinnedKeys(c.HostKey, t)
	}
	if c.KnownHosts == "" {
		return &hostKeys{check: func(_ string, _ net.Addr, key ssh.PublicKey) error {
			return unknownHost(t, key, "host_key or known_hosts of the source")
		}}, nil
	}
	_, err := infile.Read(c.KnownHosts) // what can't be read to its end isn't begun
	var check ssh.HostKeyCallback
	if err == nil {
		check, err = knownhosts.New(c.KnownHosts)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &remote.Error{Op: "read known_hosts", Path: c.KnownHosts, Class: remote.Misconfigured,
			Err: errors.New("there is no such file: make it with ssh-keyscan, compare the fingerprint with what the server's owner tells you, or set host_key")}
	}
	if err != nil {
		return nil, &remote.Error{Op: "read known_hosts", Path: c.KnownHosts, Class: remote.Misconfigured, Err: err}
	}
	hk := &hostKeys{check: func(host string, addr net.Addr, key ssh.PublicKey) error {
		return explainHostKey(check(host, addr, key), c, t, key)
	}}
	hk.algorithms = knownAlgorithms(check, t)
	return hk, nil
}

// knownAlgorithms asks the callback which keys it would accept, by showing it
// one that nobody has.
func knownAlgorithms(check ssh.HostKeyCallback, t remote.Target) []string {
	var keyErr *knownhosts.KeyError
	if err := check(t.Server(), &net.TCPAddr{IP: net.IPv4zero, Port: 22}, probeKey{}); !errors.As(err, &keyErr) {
		return nil
	}
	var algorithms []string
	for _, known := range keyErr.Want {
		if isAuthority(known) {
			algorithms = append(algorithms, certAlgorithms()...)
			continue
		}
		algorithms = append(algorithms, algorithmsFor(known.Key.Type())...)
	}
	return unique(algorithms)
}

func unique(in []string) []string {
	var out []string
	for _, s := range in {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// isAuthority reads the line again, because knownhosts doesn't tell.
func isAuthority(k knownhosts.KnownKey) bool {
	f, err := os.Open(k.Filename)
	if err != nil {
		return false
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	for n := 1; sc.Scan(); n++ {
		if n == k.Line {
			return strings.HasPrefix(strings.TrimSpace(sc.Text()), "@cert-authority")
		}
	}
	return false
}

func explainHostKey(err error, c remote.Config, t remote.Target, key ssh.PublicKey) error {
	if err == nil {
		return nil
	}
	var keyErr *knownhosts.KeyError
	var revoked *knownhosts.RevokedError
	switch {
	case errors.As(err, &revoked):
		return hostKeyError("host_key_revoked", "%s shows the key %s, which is marked @revoked in line %d of %s: don't connect before the server's owner has explained it",
			t.Server(), ssh.FingerprintSHA256(key), revoked.Revoked.Line, revoked.Revoked.Filename)
	case errors.As(err, &keyErr) && len(keyErr.Want) == 0:
		return unknownHost(t, key, c.KnownHosts)
	case errors.As(err, &keyErr):
		w := keyErr.Want[0]
		return hostKeyError("host_key_mismatch", "%s shows the key %s, but line %d of %s expects %s: the server has a new key or somebody is in between; ask its owner, then replace that line",
			t.Server(), ssh.FingerprintSHA256(key), w.Line, w.Filename, ssh.FingerprintSHA256(w.Key))
	default:
		return hostKeyError("host_key_mismatch", "%s: %w", t.Server(), err)
	}
}

func unknownHost(t remote.Target, key ssh.PublicKey, where string) error {
	line := "the line: " + knownhosts.Line([]string{knownhosts.Normalize(t.Server())}, key)
	if len(line) > remote.MaxText/2 {
		// Errors are cut, and half a key is none.
		line = fmt.Sprintf("the line that ssh-keyscan -p %s %s prints for %s", t.Port, t.Host, key.Type())
	}
	return hostKeyError("host_key_unknown", "%s is not known: it shows the key %s; compare it with what the server's owner tells you, then add to %s %s",
		t.Server(), ssh.FingerprintSHA256(key), where, line)
}

// pinnedKeys accepts exactly the configured keys.
func pinnedKeys(pins []string, t remote.Target) (*hostKeys, error) {
	hk := &hostKeys{fingerprintsOnly: true}
	var prints []string
	for _, pin := range pins {
		pin = strings.TrimSpace(pin)
		if strings.HasPrefix(pin, "SHA256:") {
			prints = append(prints, strings.TrimRight(pin, "="))
			continue
		}
		key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(pin))
		if err != nil {
			return nil, &remote.Error{Op: "read host_key", Class: remote.Misconfigured,
				Err: fmt.Errorf("%q is neither SHA256:… nor \"ssh-ed25519 AAAA…\"", pin)}
		}
		hk.fingerprintsOnly = false
		hk.algorithms = append(hk.algorithms, algorithmsFor(key.Type())...)
		prints = append(prints, ssh.FingerprintSHA256(key))
	}
	if len(hk.algorithms) < len(prints) && !hk.fingerprintsOnly {
		// Fingerprints beside whole keys: the type is open again.
		for _, pin := range pins {
			if strings.HasPrefix(strings.TrimSpace(pin), "SHA256:") {
				hk.algorithms, hk.fingerprintsOnly = nil, true
				break
			}
		}
	}
	hk.algorithms = unique(hk.algorithms)
	hk.check = func(_ string, _ net.Addr, key ssh.PublicKey) error {
		if cert, ok := key.(*ssh.Certificate); ok {
			key = cert.Key
		}
		if slices.Contains(prints, ssh.FingerprintSHA256(key)) {
			return nil
		}
		return hostKeyError("host_key_mismatch", "%s shows the key %s, but host_key expects %s: the server has a new key or somebody is in between; ask its owner, then add the new key to host_key",
			t.Server(), ssh.FingerprintSHA256(key), strings.Join(prints, " or "))
	}
	return hk, nil
}

// probeKey is a key that equals no other.
type probeKey struct{}

func (probeKey) Type() string                        { return "probe" }
func (probeKey) Marshal() []byte                     { return []byte("probe") }
func (probeKey) Verify([]byte, *ssh.Signature) error { return errors.New("probe") }
