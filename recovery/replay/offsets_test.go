//go:build !race

package replay

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"

	"tributary/internal/config"
	"tributary/internal/engine/enginetest"
	"tributary/internal/kafka"
	"tributary/schemas"
	"tributary/schemas/schemastest"
	"tributary/test/wait"
)

// A range of offsets may end in the marker of a transaction, and begin with one.
func TestOffsetsWithMarkers(t *testing.T) {
	addrs := enginetest.Broker(t)
	connect := kafka.NewFactory(config.Default().Kafka, addrs, slog.New(slog.DiscardHandler))
	codec := schemastest.Codec(t)
	client, err := connect()
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := kadm.NewClient(client).CreateTopic(t.Context(), 1, 1, nil, kafka.TopicName("t", schemas.StatusChangedTopic)); err != nil {
		t.Fatal(err)
	}
	var files []string
	for n := range 2 { // at 0 and 2, with their markers at 1 and 3
		files = append(files, schemas.ID("file", fmt.Sprint(n)))
		r, err := codec.Encode(schemas.Message{ID: schemas.ID(fmt.Sprint(n)), Topic: schemas.StatusChangedTopic, Key: "k", Stage: "test", Time: time.Now(),
			Body: &schemas.StatusChanged{Entity: schemas.EntityFile, FileRef: schemas.FileRef{File: files[n]}}})
		if err != nil {
			t.Fatal(err)
		}
		enginetest.Transact(t, addrs, kafka.ToKgo("t", r))
	}
	ctx, cancel := context.WithTimeout(t.Context(), wait.Patience())
	defer cancel()
	for text, want := range map[string][]string{"0-3": files, "0-1": files[:1], "1-2": files[1:], "3-3": nil} {
		o, err := ParseOffsets("status.changed/0:" + text)
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := readOffsets(ctx, connect, codec, "t", o)
		if err != nil || !cmp.Equal(got, want) {
			t.Errorf("%s: %v, %v; want %v", text, got, err, want)
		}
	}
}
