package enginetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// KafkaEnv is the environment variable that makes tests use an Apache Kafka
// instead of a broker in memory: its addresses, separated by commas. It must be
// one that test/kafka has started, since all its topics are removed.
const KafkaEnv = "TRIBUTARY_TEST_KAFKA"

// KafkaID is the cluster id that test/kafka gives to its clusters, and which
// tells that nobody will miss what is on them.
const KafkaID = "VHJpYnV0YXJ5VGVzdHMxMQ"

// emptyWithin bounds how long the members of the test before are waited for.
const emptyWithin = 3 * time.Minute

// KafkaAddrs are the addresses of the Apache Kafka that tests are to use; none:
// a broker in memory.
func KafkaAddrs() []string {
	text := os.Getenv(KafkaEnv)
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

// kafkaUse is held by the test that uses the Apache Kafka, until it ends:
// another would see its topics. One test, or a subtest of it, may ask again,
// and gets it empty.
type kafkaUse struct {
	one  sync.Mutex
	mu   sync.Mutex
	test string // guarded by mu
}

// acquire waits until no other test uses the Apache Kafka.
func (u *kafkaUse) acquire(t testing.TB) {
	u.mu.Lock()
	mine := u.test != "" && strings.HasPrefix(t.Name()+"/", u.test+"/")
	u.mu.Unlock()
	if mine {
		return
	}
	u.one.Lock()
	u.set(t.Name())
	t.Cleanup(func() {
		u.set("")
		u.one.Unlock()
	})
}

func (u *kafkaUse) set(test string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.test = test
}

// emptyKafka removes all topics and groups of a cluster of test/kafka.
func emptyKafka(ctx context.Context, addrs []string) error {
	// By default a client remembers for 5 s what topics there were.
	client, err := kgo.NewClient(kgo.SeedBrokers(addrs...), kgo.MetadataMinAge(20*time.Millisecond))
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, emptyWithin)
	defer cancel()
	admin := kadm.NewClient(client)
	meta, err := admin.BrokerMetadata(ctx)
	if err != nil {
		return fmt.Errorf("%s=%s does not answer: %w", KafkaEnv, strings.Join(addrs, ","), err)
	}
	if meta.Cluster != KafkaID {
		return fmt.Errorf("%s names cluster %q, which is none of make kafka or make test-kafka: its topics would be removed", KafkaEnv, meta.Cluster)
	}
	// What a broker tells of topics is a little behind what was done. When it
	// shows this one, it shows all that was made before.
	const last = "last"
	if _, err := admin.CreateTopic(ctx, 1, 1, nil, last); err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
		return err
	}
	names, err := listed(ctx, admin, func(names []string) bool { return slices.Contains(names, last) })
	if err != nil {
		return err
	}
	deleted, err := admin.DeleteTopics(ctx, names...)
	if err = errors.Join(err, deleted.Error()); err != nil {
		return err
	}
	if _, err := listed(ctx, admin, func(names []string) bool { return len(names) == 0 }); err != nil {
		return err
	}
	return removeGroups(ctx, admin)
}

// listed asks for the names of topics until they are as they should be.
func listed(ctx context.Context, admin *kadm.Client, ok func([]string) bool) ([]string, error) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		topics, err := admin.ListTopics(ctx)
		if err != nil {
			return nil, err
		}
		if names := topics.Names(); ok(names) {
			return names, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("the topics are %v: %w", topics.Names(), ctx.Err())
		case <-tick.C:
		}
	}
}

// removeGroups removes all groups, as soon as their members have left or are
// given up.
func removeGroups(ctx context.Context, admin *kadm.Client) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		groups, err := admin.ListGroups(ctx)
		if err != nil || len(groups) == 0 {
			return err
		}
		deleted, err := admin.DeleteGroups(ctx, groups.Groups()...)
		if err != nil {
			return err
		}
		left := 0
		for _, d := range deleted {
			if d.Err == nil || errors.Is(d.Err, kerr.GroupIDNotFound) {
				continue
			}
			if left++; !errors.Is(d.Err, kerr.NonEmptyGroup) {
				return fmt.Errorf("group %s: %w", d.Group, d.Err)
			}
		}
		if left == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d groups still have members: %w", left, ctx.Err())
		case <-tick.C:
		}
	}
}
