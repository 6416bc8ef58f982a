package sourcestate

import "tributary/sql/control"

// Cause is how a source or a centre came to be changed.
type Cause struct {
	Done             string // in words; empty: the change tells for itself
	Changed          string // which keys of its definition, from what to what; empty: none, or it is new
	control.Decision        // who did it, and why; without By nobody did
}

// Message is the cause for people.
func (c Cause) Message() string {
	if c.By == "" {
		return c.Done
	}
	return c.Said(c.Done)
}

// Tell adds to the attributes of an event what was changed, by whom and why.
func (c Cause) Tell(attributes map[string]string) {
	if c.By != "" {
		attributes["by"], attributes["reason"] = c.By, c.Reason
	}
	if c.Changed != "" {
		attributes["changed"] = c.Changed
	}
}
