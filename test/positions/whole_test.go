package positions

import (
	"errors"

	"tributary/internal/chain"
)

// whole judges the log from its first record on, by what is decided now, as verify,
// rebuild and restore do; up to the first record at which it stops.
func (w *world) whole() (entries []entry, log *chain.Log, stopped *stop) {
	log = &chain.Log{Decided: w.about}
	for _, r := range w.log {
		head := log.Head()
		stopped = &stop{at: r, next: head.Last.Position + 1}
		if _, decided := head.About(r.Link, w.about); !decided && !r.readable {
			return entries, log, stopped
		}
		outcome := log.Judge(r.Link)
		if err := log.Err(); err != nil {
			errors.As(err, &stopped.broken)
			return entries, log, stopped
		}
		switch outcome {
		case chain.LeavesOut:
			return entries, log, stopped
		case chain.Taken, chain.Hollow:
			entries = append(entries, entry{r.Link, log.Head().Begin, outcome == chain.Hollow})
		}
	}
	return entries, log, nil
}

// rebuild puts a warehouse that was made from the log in the place of the live one.
// It refuses a log that contradicts itself or the live warehouse; a gap only ends
// it.
func (w *world) rebuild() (refused *stop, err error) {
	entries, log, stopped := w.whole()
	if stopped != nil && (stopped.broken != nil || !stopped.at.readable) {
		return stopped, nil //nolint:nilerr // a log at which reading stops is an answer
	}
	begin := int64(0)
	if n := len(w.live.entries); n > 0 {
		begin = w.live.entries[n-1].begin
	}
	for _, e := range w.live.entries {
		log.Applied(e.link, begin)
	}
	if err := log.Err(); err != nil {
		return nil, err
	}
	w.live.die()
	w.live.entries = entries
	clear(w.late)
	return nil, nil
}

// restore makes control anew from the log, if that can be read to its end.
func (w *world) restore() (refused *stop) {
	_, log, refused := w.whole()
	if refused != nil {
		return refused
	}
	head := log.Head()
	next, previous := head.GoesOn()
	w.control = control{next: next, previous: previous}
	return nil
}
