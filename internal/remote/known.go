package remote

import (
	"slices"
	"time"
)

const (
	// knownAtOnce is how many entries are asked about at a time.
	knownAtOnce = 2000
	// restless is how long after a file was written another version of it may
	// have the same minute, or look as if, so that its exact time is asked for.
	restless = 48 * time.Hour
)

// Inexact are entries of a listing that shows times inexactly, as they come. Those that
// look the same as what is known of them are passed on at once, however many they are.
// The others are kept, within a bound, until the listing has ended and can be asked for:
// a connection does one thing at a time.
type Inexact[T any] struct {
	Config Config
	Dir    string
	// Entry is one as the listing shows it.
	Entry func(T) Entry
	// Same compares one with what is known of it.
	Same func(shown T, known Entry) bool
	// Ask completes one. False: it is gone since.
	Ask func(shown T, e *Entry) (there bool, err error)
	// Yield gets the entries. Its errors are kept apart.
	Yield func(Entry) error
	// Room bounds what is kept.
	Room *Meter

	some     []T // not compared yet
	fresh    []T // of which nothing is known
	doubtful []T // that don't look the same, until more is known of the server's clock
}

// Add takes an entry. The error of yield and that of the server are kept apart.
func (x *Inexact[T]) Add(e T) (yieldErr, err error) {
	if x.some = append(x.some, e); len(x.some) < knownAtOnce {
		return nil, nil
	}
	return x.compare()
}

// compare passes on what looks the same, and keeps the rest.
func (x *Inexact[T]) compare() (yieldErr, err error) {
	known, yieldErr := x.known(x.some)
	if yieldErr != nil {
		return yieldErr, nil
	}
	for i, e := range x.some {
		if x.Same(e, known[i]) {
			if err := x.Yield(asKnown(x.Entry(e), known[i])); err != nil {
				return err, nil
			}
			continue
		}
		if err := x.Room.Hold(x.Entry(e)); err != nil {
			return nil, err
		}
		if known[i].Name == "" {
			x.fresh = append(x.fresh, e)
		} else {
			x.doubtful = append(x.doubtful, e)
		}
	}
	x.some = x.some[:0]
	return nil, nil
}

// Rest asks for what was kept, once the listing has ended. What the first answers show
// of the server's clock may make others look the same.
func (x *Inexact[T]) Rest() (yieldErr, err error) {
	if yieldErr, err := x.compare(); yieldErr != nil || err != nil {
		return yieldErr, err
	}
	for some := range slices.Chunk(x.doubtful, knownAtOnce) {
		known, err := x.known(some)
		if err != nil {
			return err, nil
		}
		for i, e := range some {
			if yieldErr, err := x.complete(e, known[i]); yieldErr != nil || err != nil {
				return yieldErr, err
			}
		}
	}
	for _, e := range x.fresh {
		if yieldErr, err := x.complete(e, Entry{}); yieldErr != nil || err != nil {
			return yieldErr, err
		}
	}
	return nil, nil
}

func (x *Inexact[T]) complete(shown T, known Entry) (yieldErr, err error) {
	e := x.Entry(shown)
	if x.Same(shown, known) {
		return x.Yield(asKnown(e, known)), nil
	}
	there, err := x.Ask(shown, &e)
	if err != nil || !there {
		return nil, err
	}
	return x.Yield(e), nil
}

func (x *Inexact[T]) known(some []T) ([]Entry, error) {
	if x.Config.Known == nil || len(some) == 0 {
		return make([]Entry, len(some)), nil
	}
	shown := make([]Entry, len(some))
	for i, e := range some {
		shown[i] = x.Entry(e)
	}
	return x.Config.Known(x.Dir, shown)
}

// asKnown is an entry with the exact size and time that are known of it.
func asKnown(e, known Entry) Entry {
	e.Size, e.ModTime, e.Precision, e.Yearless, e.Known = known.Size, known.ModTime, time.Second, false, true
	return e
}
