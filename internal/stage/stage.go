package stage

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/schemas"
)

// Stage is the work of a Kafka-to-Kafka consumer. Its methods are called
// concurrently, for different keys.
type Stage interface {
	// Work does what one record asks for. Nil means done, which includes an
	// outcome that was emitted as a rejection. An error means try again: for
	// ever if it is Transient, else until it has come often enough in the same
	// words (Config.MaxFailures). An output that is refused for good is poison at
	// once. A panic, or a stall (Config.Stall), is
	// forgiven twice. Work must return soon after ctx ends.
	Work(ctx context.Context, in Input) error

	// Fail returns the failed end that others wait for when a record is set
	// aside as a dead letter. It is called with the message and a *Poison. It
	// may be called again for the same record, also by another member.
	Fail(in schemas.Message, cause error) []schemas.Message
}

// Input is one record to work on.
type Input struct {
	Message schemas.Message
	Record  *kgo.Record // as it came from Kafka; not to be changed

	// Progress tells the watchdog that work goes on.
	Progress func()

	// Emit produces messages without waiting for acknowledgement; it waits
	// while the client's buffer is full, and then no stall is counted. All
	// messages must be acknowledged before the record is done, so an error of
	// an earlier one may be returned by a later call, or fail the attempt
	// after Work has returned; it is Transient if it ends by itself. Stage,
	// Time and Traceparent are filled in where they are empty.
	Emit func(ctx context.Context, msgs ...schemas.Message) error

	// EmitAcknowledged is Emit that returns once its own messages are
	// acknowledged. A stage whose outcome makes plan drop a repeat of the same
	// work must tell the event log first, and emit the outcome then: after a
	// crash between the two, the repeat would be dropped and the log never told.
	EmitAcknowledged func(ctx context.Context, msgs ...schemas.Message) error

	// Tell produces a message that nobody needs, such as how far work has come, and
	// never waits. What the client's buffer has no room for, or the broker refuses,
	// is dropped; the work and its offset don't depend on it. settled is called once
	// with what became of it, perhaps before Tell returns, or long after the work
	// has ended; who tells again before that fills the buffer.
	Tell func(m schemas.Message, settled func(error))

	// Detach lets the partition go on without this record, for work that takes
	// long: its offset is committed as that of a finished one, its place among
	// those worked on goes to another, and the work goes on also when the
	// partition is given up. If the process dies then, nothing repeats the record.
	// So it is for work that somebody requests again, under the same key, until it
	// is answered; such repeats are dropped while the work goes on. ok is false
	// while as many as are allowed are detached (Config.Detached), while records
	// must run alone, and when the partition is given up or the process stops: the
	// record stays in its partition, and may ask again. stopping is closed when
	// half of the grace period of a stop has passed: what has not ended by then is
	// to be given back.
	Detach func() (stopping <-chan struct{}, ok bool)
}

// Transient marks an error as one that ends by itself, such as an unreachable
// server or database: the work is tried again for ever. Nil stays nil.
func Transient(err error) error {
	if err == nil {
		return nil
	}
	return &transient{err}
}

type transient struct{ err error }

func (t *transient) Error() string { return t.err.Error() }
func (t *transient) Unwrap() error { return t.err }

func isTransient(err error) bool {
	var t *transient
	return errors.As(err, &t)
}

// Classes of poison.
const (
	ClassPanic       = "panic"       // the work panicked
	ClassStalled     = "stalled"     // the work made no progress for too long
	ClassCrashed     = "crashed"     // the process died while this record ran alone
	ClassFailed      = "failed"      // the work failed too often in the same words
	ClassUndecodable = "undecodable" // the record is no event
	ClassRefused     = "refused"     // an output of the work is refused for good: it is too large, or the broker won't have it
)

// Poison says why a record was set aside.
type Poison struct {
	Class    string // one of the classes
	Err      error  // the last failure
	Attempts int
	First    time.Time // when it first failed
	Last     time.Time // when it last failed
}

// Error says why in words for people.
func (p *Poison) Error() string { return p.Class + ": " + p.Err.Error() }

// Unwrap returns the last failure.
func (p *Poison) Unwrap() error { return p.Err }
