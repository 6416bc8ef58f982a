package stage

import "errors"

// Serving is nil once this member has joined its group; before that it says what
// is missing. It may be called at any time, by anybody.
func (r *Runner) Serving() error {
	select {
	case <-r.started:
		return r.joined.Err(r.client)
	default:
		return errors.New("starting")
	}
}
