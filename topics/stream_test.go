package topics

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/kafka"
	"tributary/schemas"
)

var errStop = errors.New("enough")

// A stream begins where it is told to, or at the end, and goes on after any of its
// events without a gap and without saying anything twice.
func TestStream(t *testing.T) {
	b := setup(t)
	b.apply(t, ApplyOptions{})
	topic := kafka.TopicName(b.cfg.TopicPrefix, schemas.StatusChangedTopic)
	put := func(partition int32, key string) {
		t.Helper()
		if err := b.client.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Partition: partition, Key: []byte(key)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	put(0, "a")
	put(1, "b")
	put(0, "c")
	// read gives the keys of n events from a place on, and the place behind them.
	read := func(from string, n int, began func()) (keys map[string]bool, at string) {
		t.Helper()
		place, err := ParsePlace(from)
		if err != nil {
			t.Fatal(err)
		}
		keys = map[string]bool{}
		err = Stream(t.Context(), b.newClient, b.codec, StreamOptions{Prefix: b.cfg.TopicPrefix, Topic: schemas.StatusChangedTopic, From: place}, func(e *Event, behind Place) error {
			if at = behind.String(); e == nil {
				began()
			} else {
				keys[e.Key] = true
			}
			if len(keys) == n {
				return errStop
			}
			return nil
		})
		if !errors.Is(err, errStop) {
			t.Fatal(err)
		}
		return keys, at
	}
	nothing := func() {}
	for _, c := range []struct {
		from string
		want map[string]bool
		at   string
	}{
		{"0:0", map[string]bool{"a": true, "b": true, "c": true}, "0:2,1:1,2:0"}, // the others from their beginning
		{"0:1,1:0", map[string]bool{"b": true, "c": true}, "0:2,1:1,2:0"},
		{"0:1,1:1,2:0", map[string]bool{"c": true}, "0:2,1:1,2:0"},
	} {
		keys, at := read(c.from, len(c.want), nothing)
		if d := cmp.Diff(c.want, keys); d != "" || at != c.at {
			t.Errorf("from %s: ends at %s, want %s\n%s", c.from, at, c.at, d)
		}
	}
	if _, at := read("", 0, nothing); at != "0:2,1:1,2:0" {
		t.Errorf("a stream without a place begins at %s", at)
	}
	if keys, at := read("", 1, func() { put(2, "d") }); !keys["d"] || at != "0:2,1:1,2:1" {
		t.Errorf("what came after the beginning is %v, at %s", keys, at)
	}
	for _, none := range []Place{{0: 3}, {7: 0}} {
		err := Stream(t.Context(), b.newClient, b.codec, StreamOptions{Prefix: b.cfg.TopicPrefix, Topic: schemas.StatusChangedTopic, From: none}, func(*Event, Place) error { return errStop })
		if !errors.Is(err, ErrPlace) {
			t.Errorf("from %s: %v", none, err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	if err := Stream(ctx, b.newClient, b.codec, StreamOptions{Prefix: b.cfg.TopicPrefix, Topic: schemas.StatusChangedTopic}, func(*Event, Place) error { stop(); return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("a stream that is stopped ends with %v", err)
	}
}
