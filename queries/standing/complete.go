package standing

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"tributary/internal/config"
	"tributary/sql/control"
)

// completePolls is what is shown of a source that is polled minimally between complete
// polls.
type completePolls struct {
	Every        string     `json:"every"`
	Last         *time.Time `json:"last"`    // when the last complete one began; nil: the next is complete
	Minimal      int        `json:"minimal"` // minimal ones since
	AlwaysListed []string   `json:"always_listed"`
}

// completePollsOf is that of a source; nil: each of its polls is complete.
func completePollsOf(s control.Standing) *completePolls {
	src, err := config.ParseDefinition(s.Definition)
	if err != nil || src.CompleteEvery == 0 {
		return nil
	}
	c := &completePolls{Every: src.CompleteEvery.String(), Minimal: s.Directories.Minimal, AlwaysListed: []string{}}
	if last := s.Directories.Complete; !last.IsZero() {
		c.Last = &last
	}
	for _, action := range slices.Sorted(maps.Keys(s.Directories.By)) {
		if s.Directories.By[action].Mute {
			c.AlwaysListed = append(c.AlwaysListed, action)
		}
	}
	return c
}

// text says it to people.
func (c *completePolls) text() string {
	switch {
	case c == nil:
		return ""
	case c.Last == nil:
		return "polled completely every " + c.Every + ", and minimally between: the next poll is complete\n"
	}
	text := fmt.Sprintf("polled completely every %s, and minimally between: the last complete poll began %s; minimal polls since: %d\n", c.Every, c.Last.UTC().Format("2006-01-02 15:04:05Z"), c.Minimal)
	if len(c.AlwaysListed) > 0 {
		text += "listed by minimal polls too, since files come there and the directory's time stays: " + strings.Join(c.AlwaysListed, ", ") + "\n"
	}
	return text
}
