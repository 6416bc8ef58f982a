package stage

import (
	"errors"

	"tributary/internal/stage/member"
)

// Serving is nil once this member has joined its group, while it may read and write;
// else it says what is missing. It may be called at any time, by anybody.
func (r *Runner) Serving() error {
	select {
	case <-r.started:
		for _, t := range []*member.Trouble{&r.reading, &r.writing} {
			if text, ok := t.Text(); ok {
				return errors.New(text)
			}
		}
		return r.joined.Err(r.client)
	default:
		return errors.New("starting")
	}
}
