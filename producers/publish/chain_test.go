package publish

import (
	"bytes"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/chain"
	"tributary/internal/kafka"
	"tributary/schemas"
)

// The positions behind a chained one name its digest: nothing takes its place
// where the broker refuses it, and it goes out as it is once that is mended.
func TestAChainedPositionIsNeverReplaced(t *testing.T) {
	b := newBench(t)
	b.withControl()
	first := positionOf(1, noise(20_000))
	first.Body.(*schemas.DocumentOrdered).Previous = chain.Start
	value, err := b.outbox.Codec.EncodeBody(schemas.DocumentOrderedTopic, first.Body)
	if err != nil {
		t.Fatal(err)
	}
	second := positionOf(2, "b.xml")
	second.Body.(*schemas.DocumentOrdered).Previous = chain.Of(value).String()
	b.topicLimit(schemas.DocumentOrderedTopic, 8000)
	b.old("control", first, statusOf("beside", "m"), second)
	b.old("control", statusOf("behind", "m"))
	b.start(b.controlPublisher())
	b.until("what goes to the other topic is out", func() bool { return b.count("SELECT sum(events) FROM control.outbox") == 2 })
	b.all(schemas.DocumentOrderedTopic, 0)
	if n := b.count("SELECT count(*) FROM control.outbox_letter"); n != 0 {
		t.Errorf("%d positions were set aside", n)
	}
	b.topicLimit(schemas.DocumentOrderedTopic, 1<<20)
	b.until("the outbox is empty", func() bool { return b.count("SELECT count(*) FROM control.outbox") == 0 })
	b.all(schemas.DocumentOrderedTopic, 2)
	c := b.connect(kgo.ConsumeTopics(kafka.TopicName("p", schemas.DocumentOrderedTopic)))
	defer c.Close()
	var log chain.Log
	for log.Head().Last.Position < 2 {
		c.PollFetches(t.Context()).EachRecord(func(r *kgo.Record) {
			_, body, err := b.outbox.Codec.DecodeBody(r.Value)
			if err != nil {
				t.Fatal(err)
			}
			o := body.(*schemas.DocumentOrdered)
			log.Take(chain.LinkOf(o, r.Value, r.Offset))
			if o.Position == 1 && !bytes.Equal(r.Value, value) {
				t.Error("position 1 is another one than was written")
			}
		})
	}
	if err := log.Err(); err != nil {
		t.Error(err)
	}
}
