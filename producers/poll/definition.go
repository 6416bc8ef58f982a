package poll

import (
	"sync"

	"tributary/internal/config"
)

// definitions are the sources as this member has read them last, so that one that is polled
// again and again isn't read from the same text each time.
type definitions struct {
	mu sync.Mutex
	by map[string]defined
}

type defined struct {
	text   string
	source config.Source
}

// parse reads how a source is defined. Nobody may change what is in the result.
func (d *definitions) parse(id, text string) (config.Source, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if was, is := d.by[id]; is && was.text == text {
		return was.source, nil
	}
	src, err := config.ParseDefinition(text)
	if err != nil {
		return src, err
	}
	if d.by == nil {
		d.by = map[string]defined{}
	}
	d.by[id] = defined{text, src}
	return src, nil
}
