package access

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
)

// secretSize is how many random bytes a secret has: nobody guesses one, so that its
// SHA-256 needs no salt, and to look it up by that tells nobody anything by its time.
const secretSize = 32

// secretLength is how many characters they are.
var secretLength = base64.RawURLEncoding.EncodedLen(secretSize) //nolint:gochecknoglobals // a function can't be a constant

// newSecret is a new secret, in characters that cookies and addresses may hold.
func newSecret() string {
	raw := make([]byte, secretSize)
	_, _ = rand.Read(raw) // it never fails
	return base64.RawURLEncoding.EncodeToString(raw)
}

// digest is what is stored of a secret; nil for what can't be one, which is not
// looked for.
func digest(secret string) []byte {
	if len(secret) != secretLength {
		return nil
	}
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

// shortened is the SHA-256 of any text.
func shortened(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}
