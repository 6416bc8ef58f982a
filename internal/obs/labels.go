package obs

import "sync"

const (
	// MaxLabels is how many values a label takes that others choose, such as the ids
	// of sources.
	MaxLabels = 100
	// OtherLabel stands for the values beyond these.
	OtherLabel = "other"
)

// Labels bounds the values of a label: the first MaxLabels stand for themselves, and
// OtherLabel for the rest. The zero value has seen none. It is safe for concurrent use.
type Labels struct {
	mu    sync.Mutex
	known map[string]bool
}

// Of is the label's value for a value.
func (l *Labels) Of(value string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.known[value] {
		if len(l.known) >= MaxLabels {
			return OtherLabel
		}
		if l.known == nil {
			l.known = map[string]bool{}
		}
		l.known[value] = true
	}
	return value
}
