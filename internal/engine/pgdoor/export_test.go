package pgdoor

import "time"

// Limit gives a door other bounds of a login, of transactions, of those that are
// idle, and of those that block others, and has it look more often.
func (o *Options) Limit(login, transaction, idle, blocking time.Duration) {
	o.limits = limits{login: login, transaction: transaction, idle: idle, blocking: blocking, look: 20 * time.Millisecond}
}

// LoginTime is for one who logs in.
const LoginTime = loginTime

// Unbounded is whether a text is refused before Postgres sees it.
func Unbounded(text string) bool { return unbounded([]byte(text)) }

// Bounds of connections.
const (
	Sessions  = sessions
	Strangers = strangers
	MaxData   = maxData
)
