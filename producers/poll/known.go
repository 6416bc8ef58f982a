package poll

import (
	"hash/fnv"
	"io"

	"tributary/internal/remote"
	"tributary/schemas"
	"tributary/sql/control"
)

// forgetting is how rarely a file's exact time is asked for where a server has to be
// asked for each and nothing has changed to be seen: in one of so many polls, by
// chance. A version that has its predecessor's size, and a time that its sender
// has set to the same minute, or the same day where that is long ago, is found so.
const forgetting = 24

// known is what control has of entries of a directory.
func (l *listed) known(action string, entries []remote.Entry) ([]remote.Entry, error) {
	files := make([]string, len(entries))
	for i, e := range entries {
		files[i] = schemas.FileID(action, KeptName(e.Name))
	}
	shown, err := control.ShownBefore(l.storing, l.conn, l.poll.Source, files)
	if err != nil {
		return nil, &storeError{err}
	}
	out := make([]remote.Entry, len(entries))
	for i, file := range files {
		if s, ok := shown[file]; ok && s.ModTime != nil && !l.forgets(file) {
			out[i] = remote.Entry{Name: entries[i].Name, Size: s.Size, ModTime: *s.ModTime}
		}
	}
	return out, nil
}

// forgets tells whether this poll asks for a file's time whatever is known. It
// does so again when it is repeated.
func (l *listed) forgets(file string) bool {
	h := fnv.New64a()
	_, _ = io.WriteString(h, l.poll.ID+file)
	return h.Sum64()%forgetting == 0
}
