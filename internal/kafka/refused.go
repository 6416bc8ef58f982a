package kafka

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Refused tells whether an error to produce is a refusal for good: of the record
// as it is, which no patience changes. It comes from a broker, or from the client
// before it. Whatever else goes wrong may end by itself, or by what somebody does
// to the cluster. A broker refuses batches, so the guilty one of several records
// is only known when each was sent alone.
func Refused(err error) bool {
	for _, refusal := range []error{
		kerr.MessageTooLarge,    // also kgo's own, for what is larger than its batches
		kerr.RecordListTooLarge, // larger than a segment
		kerr.InvalidRecord,
		kerr.InvalidTimestamp,
		kerr.UnsupportedForMessageFormat,
		kerr.CorruptMessage, // of a record that was sent alone, again
	} {
		if errors.Is(err, refusal) {
			return true
		}
	}
	return false
}
