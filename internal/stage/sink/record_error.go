package sink

import (
	"errors"
	"fmt"
	"strconv"

	"tributary/internal/kafka"
	"tributary/internal/pg"
	"tributary/internal/stage/member"
	"tributary/schemas"
)

// RecordError says of which record an error is.
type RecordError struct {
	Topic     string // logical name
	Partition int32
	Offset    int64
	Err       error
}

func (e *RecordError) Error() string {
	return fmt.Sprintf("%s/%d at offset %d: %v", e.Topic, e.Partition, e.Offset, e.Err)
}

// Unwrap returns what is wrong with the record.
func (e *RecordError) Unwrap() error { return e.Err }

// newerRecord is the record that a newer version wrote, if that is the error.
func newerRecord(err error) *RecordError {
	var r *RecordError
	if errors.Is(err, schemas.ErrUnknownSchema) && errors.As(err, &r) {
		return r
	}
	return nil
}

// hold reports the record that holds up this member, and no longer the one
// before it; nil: none does.
func (a *Applier) hold(before, now *RecordError) {
	gauge := func(r *RecordError) []string {
		return []string{a.cfg.Name, kafka.TopicName(a.cfg.Prefix, r.Topic), strconv.Itoa(int(r.Partition)), "unknown_schema"}
	}
	if before != nil {
		a.metrics.Blocked.DeleteLabelValues(gauge(before)...)
	}
	if now == nil {
		return
	}
	a.metrics.Blocked.WithLabelValues(gauge(now)...).Set(1)
	const msg = "a newer version wrote this record: this member and all its partitions stand still until it is upgraded, or the record is passed over (tributary topics pass-over)"
	if missed, ok := a.quiet.Due(msg); ok {
		a.log.Error(msg, "topic", kafka.TopicName(a.cfg.Prefix, now.Topic), "partition", now.Partition, "offset", now.Offset,
			"error", now.Err, "not_logged", missed)
	}
}

// kindOf is the kind of an error of the store. Every one is tried again, so all
// others are transient.
func kindOf(err error) string {
	switch {
	case errors.Is(err, pg.ErrMoved):
		return member.KindMoved
	case errors.Is(err, schemas.ErrUnknownSchema):
		return member.KindUnknown
	}
	return member.KindTransient
}
