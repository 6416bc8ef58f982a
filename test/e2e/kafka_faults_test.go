package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/engine"
	"tributary/test/corpus"
	"tributary/test/kafka"
	"tributary/test/rig"
	"tributary/test/wait"
)

// Three brokers, every topic on all of them, and what is acknowledged on two:
// while files keep coming, each broker in turn is killed and started again, and
// every partition gets another leader (with -short one broker, once). Everything comes to its end with
// nobody's help, and the warehouse is that of an undisturbed run on the
// embedded broker.
func TestKafkaBrokersFail(t *testing.T) {
	needKafka(t)
	s := setUp(t, corpus.Options{Seed: seed(t), Shape: corpus.Demo}, rig.Options{Local: true, Extra: lively})
	c := s.threeBrokers()
	rounds := 3
	if testing.Short() {
		rounds = 1
	}
	add := func(n int) {
		t.Helper()
		if err := s.corpus.Add(n); err != nil {
			t.Fatal(err)
		}
		if err := s.rig.Update(); err != nil {
			t.Fatal(err)
		}
	}
	s.engines(func(engine.Endpoints) {
		members := []*process{s.start("run", "all"), s.start("run", "all")}
		for _, p := range members {
			eventually(t, wait.Patience(), func() string { return says(p, `"msg":"running"`) })
		}
		for i := range rounds {
			add(4)
			members[0].within(time.Second) // some of it is under way
			if err := c.Kill(i); err != nil {
				t.Fatal(err)
			}
			add(4)
			members[0].within(2 * time.Second)
			if err := c.Restart(t.Context(), i); err != nil {
				t.Fatal(err)
			}
			s.inSync()
			add(2)
			s.moveLeaders()
		}
		s.settled(members...)
		for _, p := range members {
			p.stop()
		}
	})
	// What the stop left in the outboxes and projections is finished by a round.
	s.once()
	disturbed := s.expect(false)

	s.on, s.embedded = nil, true
	s.forget()
	s.once()
	s.engines(func(engine.Endpoints) {
		if hash := s.hash(); hash != disturbed.Hash {
			t.Errorf("warehouse hash %s with brokers killed and leaders moved, %s undisturbed on the embedded broker", disturbed.Hash, hash)
		}
	})
}

// threeBrokers gives the system an Apache Kafka of its own, which the test may
// break.
func (s *system) threeBrokers() *kafka.Cluster {
	s.t.Helper()
	dir := filepath.Join(s.dir, "kafka")
	c, err := kafka.Start(s.t.Context(), dir, 3)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			s.t.Error(err)
		}
		if s.t.Failed() && os.Getenv("TRIBUTARY_KEEP") != "" {
			s.t.Logf("the brokers' logs are in %s", dir)
		}
	})
	client, err := kgo.NewClient(kgo.SeedBrokers(c.Brokers()...), kgo.MetadataMinAge(100*time.Millisecond))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(client.Close)
	s.on = &apache{addrs: c.Brokers(), replicas: 3, admin: kadm.NewClient(client)}
	return c
}

// listed asks the brokers for all topics, those of their own included.
func (s *system) listed() kadm.TopicDetails {
	s.t.Helper()
	topics, err := s.on.admin.ListTopicsWithInternal(kadm.WithAuthorizedOps(s.t.Context()))
	if err != nil {
		s.t.Fatal(err)
	}
	return topics
}

// inSync waits until each partition is on all brokers again, so that another
// one may fail.
func (s *system) inSync() {
	s.t.Helper()
	eventually(s.t, wait.Patience(), func() string {
		for _, d := range s.listed().Sorted() {
			for _, p := range d.Partitions.Sorted() {
				if len(p.ISR) < s.on.replicas {
					return d.Topic + " is not in sync"
				}
			}
		}
		return ""
	})
}

// moveLeaders gives each partition the replica after its leader as the new one:
// by another assignment, whose first is preferred, and an election.
func (s *system) moveLeaders() {
	s.t.Helper()
	var to kadm.AlterPartitionAssignmentsReq
	which := kadm.TopicsSet{}
	leaders := map[string]map[int32]int32{}
	for _, d := range s.listed() {
		for _, p := range d.Partitions {
			replicas := slices.Clone(p.Replicas)
			n := slices.Index(replicas, p.Leader) + 1
			to.Assign(d.Topic, p.Partition, slices.Concat(replicas[n:], replicas[:n]))
			which.Add(d.Topic, p.Partition)
			if leaders[d.Topic] == nil {
				leaders[d.Topic] = map[int32]int32{}
			}
			leaders[d.Topic][p.Partition] = p.Leader
		}
	}
	assigned, err := s.on.admin.AlterPartitionAssignments(s.t.Context(), to)
	if err = errors.Join(err, assigned.Error()); err != nil {
		s.t.Fatal(err)
	}
	elected, err := s.on.admin.ElectLeaders(s.t.Context(), kadm.ElectPreferredReplica, which)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, partitions := range elected {
		for _, p := range partitions {
			if p.Err != nil && !errors.Is(p.Err, kerr.ElectionNotNeeded) {
				s.t.Fatalf("elect a leader of %s/%d: %v", p.Topic, p.Partition, p.Err)
			}
		}
	}
	eventually(s.t, wait.Patience(), func() string {
		topics := s.listed()
		for topic, partitions := range leaders {
			for id, before := range partitions {
				if topics[topic].Partitions[id].Leader == before {
					return topic + " has its old leader"
				}
			}
		}
		return ""
	})
}
