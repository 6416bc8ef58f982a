package deadletter

import (
	"errors"
	"fmt"
)

// ErrNotFound says (by errors.Is) that there is no such dead letter, or no stage that
// gives up what was asked for.
var ErrNotFound = errors.New("there is no such dead letter")

// absent says in its own words what there isn't.
type absent string

func (a absent) Error() string        { return string(a) }
func (a absent) Is(target error) bool { return target == ErrNotFound }

func absentf(format string, args ...any) error { return absent(fmt.Sprintf(format, args...)) }

func noLetter(id string) error {
	return absentf("there is no dead letter %s: tributary dlq list shows those that there are", id)
}
