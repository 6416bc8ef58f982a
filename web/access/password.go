package access

import (
	"bytes"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
	"golang.org/x/text/unicode/norm"
)

// What a password must be, in characters and bytes. Longer ones are safe already,
// and cost time to read.
const (
	minPassword = 12
	maxPassword = 1024
)

// cost is what one computation takes: argon2id with OWASP's parameters.
type cost struct {
	memory, time uint32 // KiB; passes
	threads      uint8
}

const (
	saltSize = 16
	hashSize = 32
	// maxMemory and maxTime bound what a stored hash may demand.
	maxMemory = 256 << 10
	maxTime   = 16
)

// usual is the cost of new hashes.
func usual() cost { return cost{memory: 19 << 10, time: 2, threads: 1} }

// CheckPassword says what is wrong with a new password.
func CheckPassword(password string) error {
	switch {
	case !utf8.ValidString(password):
		return refuse("the password is no UTF-8")
	case utf8.RuneCountInString(password) < minPassword:
		return refuse("the password is too short: it must have at least %d characters", minPassword)
	case len(password) > maxPassword:
		return refuse("the password is too long: it may have at most %d bytes", maxPassword)
	}
	return nil
}

// stored is what is stored of a password, in PHC's string format.
func (c cost) stored(password string) string {
	salt := make([]byte, saltSize)
	_, _ = rand.Read(salt) // it never fails
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, c.memory, c.time, c.threads,
		base64.RawStdEncoding.EncodeToString(salt), base64.RawStdEncoding.EncodeToString(c.hash(password, salt)))
}

// hash normalises first, since keyboards write the same letter in different ways.
func (c cost) hash(password string, salt []byte) []byte {
	return argon2.IDKey(norm.NFC.Bytes([]byte(password)), salt, c.time, c.memory, c.threads, hashSize)
}

// isPassword tells whether a password is the one of a stored hash. It takes as long
// for what is no hash, which no password fits.
func isPassword(stored, password string) (bool, error) {
	c, salt, want, err := parseHash(stored)
	if err != nil {
		c, salt, want = usual(), make([]byte, saltSize), nil
	}
	return subtle.ConstantTimeCompare(c.hash(password, salt), want) == 1, err
}

func parseHash(stored string) (c cost, salt, want []byte, err error) {
	var version int
	parts := bytes.Split([]byte(stored), []byte("$"))
	bad := errors.New("the stored hash of a password can't be read: set the password anew, with tributary users password")
	if len(parts) != 6 || string(parts[1]) != "argon2id" {
		return c, nil, nil, bad
	}
	_, errVersion := fmt.Sscanf(string(parts[2]), "v=%d", &version)
	_, errCost := fmt.Sscanf(string(parts[3]), "m=%d,t=%d,p=%d", &c.memory, &c.time, &c.threads)
	salt, errSalt := base64.RawStdEncoding.DecodeString(string(parts[4]))
	want, errHash := base64.RawStdEncoding.DecodeString(string(parts[5]))
	if errors.Join(errVersion, errCost, errSalt, errHash) != nil || version != argon2.Version || len(salt) != saltSize || len(want) != hashSize ||
		c.memory > maxMemory || c.time == 0 || c.time > maxTime || c.threads == 0 {
		return c, nil, nil, bad
	}
	return c, salt, want, nil
}
