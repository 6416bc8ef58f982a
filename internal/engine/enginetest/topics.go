package enginetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// topicsWithin bounds how long new topics are waited for.
const topicsWithin = 2 * time.Minute

// Topics makes topics of so many partitions, one replica each, and returns when
// they can be used: on Apache Kafka what is made is known a little later to who
// asks, and a topic that was just made may have no leader yet.
func Topics(t testing.TB, client *kgo.Client, partitions int32, configs map[string]*string, names ...string) {
	t.Helper()
	admin := kadm.NewClient(client)
	made, err := admin.CreateTopics(t.Context(), partitions, 1, configs, names...)
	if err = errors.Join(err, made.Error()); err != nil {
		t.Fatalf("make topics %v: %v", names, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), topicsWithin)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := usable(ctx, admin, int(partitions), names)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("topics %v can't be used: %v", names, err)
		case <-tick.C:
		}
	}
}

// usable asks the leader of each partition for its end.
func usable(ctx context.Context, admin *kadm.Client, partitions int, names []string) error {
	ends, err := admin.ListEndOffsets(ctx, names...)
	if err = errors.Join(err, ends.Error()); err != nil {
		return err
	}
	for _, name := range names {
		if n := len(ends[name]); n < partitions {
			return fmt.Errorf("%s has %d of %d partitions", name, n, partitions)
		}
	}
	return nil
}
