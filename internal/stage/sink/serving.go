package sink

import (
	"errors"
	"fmt"
	"sync/atomic"
)

// trouble is what is tried again just now.
type trouble struct{ text atomic.Pointer[string] }

func (t *trouble) is(err error) {
	text := err.Error()
	t.text.Store(&text)
}

func (t *trouble) over() { t.text.Store(nil) }

// Serving is nil while this member has joined its group and its store takes what
// it is given; else it says what is missing. It may be called at any time, by
// anybody.
func (a *Applier) Serving() error {
	select {
	case <-a.started:
	default:
		return errors.New("starting")
	}
	if err := a.joined.Err(a.client); err != nil {
		return err
	}
	for _, t := range []*trouble{&a.beginning, &a.applying} {
		if text := t.text.Load(); text != nil {
			return fmt.Errorf("cannot store what it reads; trying again: %s", *text)
		}
	}
	return nil
}
