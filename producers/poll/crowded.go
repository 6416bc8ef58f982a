package poll

import "fmt"

// tooManyEntries is the exception of a poll whose source lists more than its owner
// here has allowed.
const tooManyEntries = "too_many_entries"

// crowdedError says that a source lists more entries than its max_entries. That is
// not what somebody has agreed to take, so nothing of it is recorded.
type crowdedError struct{ most int }

func (e *crowdedError) Error() string {
	return fmt.Sprintf("the source lists more than %d entries, which is its max_entries: nothing of it is taken, and it is suspended", e.most)
}
