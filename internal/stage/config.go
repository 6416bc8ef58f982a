package stage

import (
	"time"

	"tributary/internal/backoff"
	"tributary/internal/stage/member"
)

// Config says how a Runner works. Zero values get the defaults named.
type Config struct {
	Name   string // of the stage, such as download
	Prefix string // of topics and groups
	Group  string // consumer group; default Prefix.Name
	Topic  string // input topic, by its logical name
	// Letters is under whose name records are set aside, where several Runners share a
	// topic of dead letters; default Name.
	Letters string

	Parallelism int           // records worked on at once; default 4
	Window      int           // records in hand per partition, finished but not committed included; default 256
	Detached    int           // records at once whose work goes on without their partition (Input.Detach); default none
	Stall       time.Duration // longest time without progress of one record; default 5m
	Grace       time.Duration // for running work to end when stopping; default 10s

	Backoff     time.Duration // before the second attempt, doubling; default 500ms
	BackoffMax  time.Duration // default 1m
	MaxFailures int           // failures in the same words, not transient, that make a record poison; default 10
	MaxStrikes  int           // panics and stalls that do; default 3
	MaxDeaths   int           // deaths of the process while the record ran alone that do; default 10

	// Isolation is shared by the Runners of a process; default one of its own.
	Isolation *Isolation

	CommitInterval time.Duration    // default 200ms
	Now            func() time.Time // default time.Now
}

func (c Config) withDefaults() Config {
	member.Default(&c.Parallelism, 4)
	member.Default(&c.Window, 256)
	member.Default(&c.Stall, 5*time.Minute)
	member.Default(&c.Grace, 10*time.Second)
	member.Default(&c.Backoff, 500*time.Millisecond)
	member.Default(&c.BackoffMax, time.Minute)
	member.Default(&c.MaxFailures, 10)
	member.Default(&c.MaxStrikes, 3)
	member.Default(&c.MaxDeaths, 10)
	member.Default(&c.CommitInterval, 200*time.Millisecond)
	if c.Letters == "" {
		c.Letters = c.Name
	}
	if c.Isolation == nil {
		c.Isolation = NewIsolation()
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// pauses are those between attempts at a record.
func (c Config) pauses() backoff.Exponential {
	return backoff.Exponential{Base: c.Backoff, Max: c.BackoffMax}
}
