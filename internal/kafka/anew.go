package kafka

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Anew lets a client write to topics that were deleted and made anew, if that
// is the error of the last attempt: it would refuse for ever, as the new topic
// is another one to it. Nothing that matters is lost with the old topic's
// place: what was not acknowledged is written again by the caller.
func Anew(client *kgo.Client, err error, topics ...string) {
	if errors.Is(err, kerr.UnknownTopicID) && len(topics) > 0 {
		client.PurgeTopicsFromProducing(topics...)
	}
}
