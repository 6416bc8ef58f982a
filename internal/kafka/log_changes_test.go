package kafka_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/engine/enginetest"
	"tributary/internal/kafka"
	"tributary/test/wait"
)

// anew deletes the topic, makes another one of its name, and returns when the
// broker names the new one: Apache Kafka may name the old one for a little.
func (l *topicLog) anew() {
	l.t.Helper()
	old := l.id()
	deleted, err := kadm.NewClient(l.client).DeleteTopics(l.t.Context(), "t")
	if err = errors.Join(err, deleted.Error()); err != nil {
		l.t.Fatal(err)
	}
	l.connect() // to the client of before, the new topic is another one
	enginetest.Topics(l.t, l.client, 1, nil, "t")
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for l.id() == old {
		select {
		case <-l.t.Context().Done():
			l.t.Fatal("the broker names the old topic still")
		case <-tick.C:
		}
	}
}

// id is what tells the topic from another one of its name.
func (l *topicLog) id() kadm.TopicID {
	l.t.Helper()
	topics, err := kadm.NewClient(l.client).ListTopics(kadm.WithAuthorizedOps(l.t.Context()), "t")
	if err != nil {
		l.t.Fatal(err)
	}
	return topics["t"].ID
}

// What grows while it is read is read up to the end that was given, and no
// further, in however many chunks that is. On Apache Kafka, too.
func TestALogThatGrowsWhileItIsRead(t *testing.T) {
	l := newLog(t, enginetest.Broker(t), nil)
	var keys, want []string
	for i := range 2500 { // more than are given at once
		keys = append(keys, fmt.Sprint("k", i))
		want = append(want, fmt.Sprintf("%d k%d", i, i))
	}
	l.write(keys...)
	span := l.bounds()
	l.write("after the end was asked for")
	chunks := 0
	l.meanwhile = func() {
		chunks++
		l.write("while it was read")
	}
	got, deleted, err := l.read(span)
	if err != nil || deleted >= 0 || !cmp.Equal(got, want) {
		t.Errorf("deleted %d, %v; -want +got:\n%s", deleted, err, cmp.Diff(want, got))
	}
	if grown := l.bounds().To - span.To; chunks < 2 || grown != int64(chunks)+1 {
		t.Errorf("%d chunks came, and the log has grown by %d", chunks, grown)
	}
}

// Offsets of a topic that was made anew before it is read mean nothing: that is an
// error. No record of the new topic that stands before them is given, and what it
// will never have is not waited for for ever. On Apache Kafka, too.
func TestALogThatWasMadeAnewBefore(t *testing.T) {
	l := newLog(t, enginetest.Broker(t), nil)
	l.write("a", "b", "c", "d")
	l.anew()
	l.write("new", "new")
	for name, test := range map[string]struct {
		from int64
		skip bool
		want []string
		err  error
	}{
		"it begins behind what there is":                      {from: 3, err: kafka.ErrDeleted},
		"it begins behind that, and passes over what is gone": {from: 3, skip: true, err: kafka.ErrSilent},
		"it ends behind what there is":                        {from: 1, want: []string{"1 new"}, err: kafka.ErrSilent},
	} {
		l.reader.SkipDeleted = test.skip
		wait.Longer(t, 300*time.Millisecond, func(silence time.Duration) error {
			l.reader.Silence = silence
			got, _, err := l.read(kafka.Span{Topic: "t", From: test.from, To: 4})
			if !errors.Is(err, test.err) || !cmp.Equal(got, test.want) {
				return fmt.Errorf("%s: %v, %w; want %v, %w", name, got, err, test.want, test.err)
			}
			return nil
		})
	}
}

// A topic that is made anew while it is read ends the reading with an error, even
// where what is gone is passed over. No record of the new one is taken for the rest
// of the old one, though it has as many. On Apache Kafka, too.
func TestALogThatIsMadeAnewWhileItIsRead(t *testing.T) {
	l := newLog(t, enginetest.Broker(t), nil)
	connect := l.reader.Connect
	l.reader.Connect = func(extra ...kgo.Opt) (*kgo.Client, error) { // the client believes it at the sixth try
		return connect(append(extra, kgo.RetryBackoffFn(func(int) time.Duration { return 50 * time.Millisecond }))...)
	}
	l.reader.SkipDeleted = true
	const all = 8 // of which a fetch has two, while one more may be fetched ahead
	l.writeLarge("old", all)
	chunks := 0
	l.meanwhile = func() {
		if chunks++; chunks == 1 {
			l.anew()
			l.writeLarge("new", all)
		}
	}
	got, _, err := l.read(kafka.Span{Topic: "t", From: 0, To: all})
	if !errors.Is(err, kerr.UnknownTopicID) && !errors.Is(err, kerr.UnknownTopicOrPartition) {
		t.Errorf("%v, %v; want that the topic is another one", got, err)
	}
	if len(got) == 0 || strings.Contains(fmt.Sprint(got), "new") {
		t.Errorf("%v; want records of the old topic only", got)
	}
}

// writeLarge writes records that are so large that each is a batch of its own.
func (l *topicLog) writeLarge(key string, n int) {
	l.t.Helper()
	value := make([]byte, 900<<10)
	_, _ = rand.Read(value) // what can't be compressed
	for range n {
		if err := l.client.ProduceSync(l.t.Context(), &kgo.Record{Topic: "t", Key: []byte(key), Value: value}).FirstErr(); err != nil {
			l.t.Fatal(err)
		}
	}
}
