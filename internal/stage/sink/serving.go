package sink

import (
	"errors"
	"fmt"

	"tributary/internal/stage/member"
)

// Serving is nil while this member has joined its group and its store takes what
// it is given; else it says what is missing. It may be called at any time, by
// anybody.
func (a *Applier) Serving() error {
	select {
	case <-a.started:
	default:
		return errors.New("starting")
	}
	if text, ok := a.fetching.Text(); ok {
		return errors.New(text)
	}
	if err := a.joined.Err(a.client); err != nil {
		return err
	}
	for _, t := range []*member.Trouble{&a.beginning, &a.applying} {
		if text, ok := t.Text(); ok {
			return fmt.Errorf("cannot store what it reads; trying again: %s", text)
		}
	}
	return nil
}
