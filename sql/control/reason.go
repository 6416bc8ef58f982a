package control

import (
	"fmt"
	"unicode/utf8"
)

// MaxReason is how long a reason may be that somebody gives for what they order, in
// characters, however they order it.
const MaxReason = 500

// CheckReason refuses a reason that is too long.
func CheckReason(reason string) error {
	if n := utf8.RuneCountInString(reason); n > MaxReason {
		return fmt.Errorf("the reason has %d characters: more than %d are not kept", n, MaxReason)
	}
	return nil
}
