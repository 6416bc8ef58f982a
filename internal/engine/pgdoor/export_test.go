package pgdoor

import "time"

// Limit gives a door other bounds of transactions.
func (o *Options) Limit(transaction, idle, blocking time.Duration) {
	o.limits = limits{transaction, idle, blocking}
}

// Unbounded is whether a text is refused before Postgres sees it.
func Unbounded(text string) bool { return unbounded([]byte(text)) }

// Bounds of connections.
const (
	Sessions  = sessions
	Strangers = strangers
	MaxData   = maxData
)
