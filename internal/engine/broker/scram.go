package broker

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// Mechanism is the only way to log in.
const Mechanism = "SCRAM-SHA-256"

const scramIterations = 4096 // as Kafka's own default

// errLogin says no more than that a login failed: neither that a user exists
// nor that a password was close.
var errLogin = errors.New("unknown user or wrong password")

// credentials are what a server keeps of passwords, by user.
type credentials struct {
	salt []byte
	keys map[string]scramKeys
}

type scramKeys struct{ stored, server []byte }

func newCredentials(passwords map[string]string) (*credentials, error) {
	c := &credentials{salt: make([]byte, 16), keys: map[string]scramKeys{}}
	_, _ = rand.Read(c.salt) // it never fails
	for user, password := range passwords {
		salted, err := pbkdf2.Key(sha256.New, password, c.salt, scramIterations, sha256.Size)
		if err != nil {
			return nil, fmt.Errorf("password of %s: %w", user, err)
		}
		stored := sha256.Sum256(mac(salted, "Client Key"))
		c.keys[user] = scramKeys{stored: stored[:], server: mac(salted, "Server Key")}
	}
	return c, nil
}

// scram is one conversation of RFC 5802, as the server. An unknown user is
// answered as a known one is until the proof.
type scram struct {
	c                     *credentials
	user                  string
	gs2, clientFirst      string
	serverFirst, allNonce string
}

// first answers the client's first message.
func (s *scram) first(message []byte) ([]byte, error) {
	parts := strings.SplitN(string(message), ",", 3)
	if len(parts) != 3 || parts[0] != "n" && parts[0] != "y" {
		return nil, errors.New("not a first message of SCRAM without channel binding")
	}
	s.gs2, s.clientFirst = parts[0]+","+parts[1]+",", parts[2]
	fields := strings.Split(s.clientFirst, ",")
	if len(fields) < 2 || !strings.HasPrefix(fields[0], "n=") || !strings.HasPrefix(fields[1], "r=") || len(fields[1]) < len("r=")+8 {
		return nil, errors.New("not a first message of SCRAM")
	}
	s.user = strings.NewReplacer("=2C", ",", "=3D", "=").Replace(fields[0][2:])
	if other, ok := strings.CutPrefix(parts[1], "a="); parts[1] != "" && (!ok || other != fields[0][2:]) {
		return nil, errors.New("one user can't log in as another")
	}
	s.allNonce = fields[1][2:] + rand.Text()
	s.serverFirst = fmt.Sprintf("r=%s,s=%s,i=%d", s.allNonce, base64.StdEncoding.EncodeToString(s.c.salt), scramIterations)
	return []byte(s.serverFirst), nil
}

// final judges the client's proof, and answers with the server's own.
func (s *scram) final(message []byte) ([]byte, error) {
	without, proof64, ok := strings.Cut(string(message), ",p=")
	// The nonce ends with ours; librdkafka puts its own in front once more,
	// which Kafka takes too.
	begin := "c=" + base64.StdEncoding.EncodeToString([]byte(s.gs2)) + ",r="
	if !ok || !strings.HasPrefix(without, begin) || !strings.HasSuffix(without, s.allNonce) {
		return nil, errors.New("not the final message of this login")
	}
	proof, err := base64.StdEncoding.DecodeString(proof64)
	if err != nil || len(proof) != sha256.Size {
		return nil, errors.New("not a proof of SCRAM-SHA-256")
	}
	keys, known := s.c.keys[s.user]
	if !known {
		keys = scramKeys{stored: make([]byte, sha256.Size), server: make([]byte, sha256.Size)}
	}
	signed := s.clientFirst + "," + s.serverFirst + "," + without
	for i, b := range mac(keys.stored, signed) {
		proof[i] ^= b
	}
	stored := sha256.Sum256(proof)
	if !hmac.Equal(stored[:], keys.stored) || !known {
		return nil, errLogin
	}
	return []byte("v=" + base64.StdEncoding.EncodeToString(mac(keys.server, signed))), nil
}

func mac(key []byte, message string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(message))
	return h.Sum(nil)
}
