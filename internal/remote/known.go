package remote

import "time"

const (
	// knownAtOnce is how many entries are asked about at a time.
	knownAtOnce = 2000
	// restless is how long after a file was written another version of it may
	// have the same minute, or look as if, so that its exact time is asked for.
	restless = 48 * time.Hour
)

// held are entries of a listing that shows times inexactly: each is asked for,
// unless it looks the same as what is known of it.
type held struct {
	entries []Entry
	// same compares entry i with what is known of it.
	same func(i int, known Entry) bool
	// ask completes entry i. False: it is gone since.
	ask func(i int, e *Entry) (there bool, err error)
}

// exactly yields them. The error of yield and that of the server are kept apart.
func (c Config) exactly(dir string, h held, yield func(Entry) error) (yieldErr, err error) {
	for from := 0; from < len(h.entries); from += knownAtOnce {
		some := h.entries[from:min(from+knownAtOnce, len(h.entries))]
		known := make([]Entry, len(some))
		if c.Known != nil {
			if known, yieldErr = c.Known(dir, some); yieldErr != nil {
				return yieldErr, nil
			}
		}
		for i, e := range some {
			there := true
			if h.same(from+i, known[i]) {
				e.Size, e.ModTime, e.Precision, e.Yearless, e.Known = known[i].Size, known[i].ModTime, time.Second, false, true
			} else if there, err = h.ask(from+i, &e); err != nil {
				return nil, err
			}
			if !there {
				continue
			}
			if err := yield(e); err != nil {
				return err, nil
			}
		}
	}
	return nil, nil
}
