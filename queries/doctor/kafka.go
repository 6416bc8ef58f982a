package doctor

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/config"
	"tributary/internal/kafka"
	"tributary/schemas"
	"tributary/topics"
)

func (s *stores) kafka(ctx context.Context, r *report) {
	const key = "kafka.bootstrap_servers"
	if len(s.bootstrap) == 0 {
		s.unreached(r, true, key)
		return
	}
	client, err := kafka.NewFactory(s.Config.Kafka, s.bootstrap, s.Log)(kgo.RetryTimeout(s.Timeout / 2))
	if err != nil {
		r.found(CheckFailed, "kafka", "correct kafka.tls and kafka.sasl", "%s", err)
		return
	}
	defer client.Close()
	if err := knock(ctx, s.Timeout/2, client.Ping); err != nil {
		s.refusedByKafka(ctx, r, fmt.Errorf("no broker answers at %v: %w", s.bootstrap, err))
		return
	}
	admin := kadm.NewClient(client)
	version, err := kafka.ServerVersion(ctx, admin, s.Config.Kafka.GroupProtocol)
	if err != nil {
		s.refusedByKafka(ctx, r, err)
		return
	}
	r.ok(key, "connected, version %s", version)
	s.topics(ctx, r, admin)
	s.partitions(ctx, r, admin)
	s.newest(ctx, r, admin)
}

// knock asks a server that may not answer at all.
func knock(ctx context.Context, timeout time.Duration, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return ask(ctx)
}

// refusedByKafka says why brokers let nobody in, or do not what is asked.
func (s *stores) refusedByKafka(ctx context.Context, r *report, err error) {
	const key = "kafka.bootstrap_servers"
	var early *kgo.ErrFirstReadEOF
	var plain tls.RecordHeaderError
	var untrusted *tls.CertificateVerificationError
	switch {
	case errors.Is(err, kerr.SaslAuthenticationFailed), errors.Is(err, kerr.UnsupportedSaslMechanism), errors.Is(err, kerr.IllegalSaslState),
		s.Config.Kafka.SASL.Mechanism != "" && errors.Is(err, io.EOF): // some only hang up
		r.found(LoginRefused, "kafka.sasl", "correct kafka.sasl.mechanism, kafka.sasl.username and kafka.sasl.password, or make this user on the brokers", "%s", err)
	case kafka.Denied(err):
		r.found(RightsMissing, "kafka", "grant what tributary topics acl prints", "%s", err)
	case errors.As(err, &plain):
		r.found(SecurityMismatch, "kafka.tls", "name the brokers' port for TLS in "+key+", or set kafka.tls.enabled: false", "%s", err)
	case errors.As(err, &untrusted):
		r.found(SecurityMismatch, "kafka.tls", "name the certificate of who vouches for the brokers in kafka.tls.ca_file, and correct kafka.tls.server_name", "%s", err)
	case errors.As(err, &early):
		r.found(SecurityMismatch, "kafka.tls", "set kafka.tls.enabled or kafka.sasl as the brokers expect it, or name another of their ports in "+key, "%s", err)
	case s.Config.Kafka.TLS.Enabled && errors.Is(err, context.DeadlineExceeded) && listens(ctx, s.bootstrap):
		r.found(SecurityMismatch, "kafka.tls", "name the brokers' port for TLS in "+key+", or set kafka.tls.enabled: false", "who listens there does not answer to TLS: %s", err)
	default:
		unanswered(r, key, err)
	}
}

// listens tells whether anybody listens at one of some addresses.
func listens(ctx context.Context, addrs []string) bool {
	for _, addr := range addrs {
		conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", addr)
		if err == nil {
			_ = conn.Close() // nothing was said
			return true
		}
	}
	return false
}

// topics compares the brokers' topics with the catalogue.
func (s *stores) topics(ctx context.Context, r *report, admin *kadm.Client) {
	changes, err := SettledTopics(ctx, admin, s.Config.Kafka)
	if err != nil {
		s.refusedByKafka(ctx, r, err)
		return
	}
	for _, c := range changes {
		switch c.Kind {
		case topics.Create:
			r.found(TopicMissing, c.Topic, "tributary topics apply", "it is not there: %s", c)
		case topics.Brokers:
			r.found(BrokersFew, "kafka.replication_factor", c.Manual, "%s brokers, and each of %s replicas needs one of its own", c.Is, c.Want)
		case topics.Partitions:
			r.found(TopicPartitions, c.Topic, c.Manual, "it has %s partitions and should have %s", c.Is, c.Want)
		case topics.Replication:
			r.found(TopicReplication, c.Topic, c.Manual, "it has %s replicas and should have %s", c.Is, c.Want)
		default:
			r.found(settingProblem(c.Key), c.Topic, "tributary topics apply --settings", "%s is %s and should be %s", c.Key, c.Is, c.Want)
		}
	}
	if len(changes) == 0 {
		r.ok("topics", "all %d are as they should be", len(topics.All()))
	}
}

// settingProblem is the problem of a setting that differs.
func settingProblem(key string) Problem {
	switch key {
	case "retention.ms", "retention.bytes":
		return TopicRetention
	case "cleanup.policy":
		return TopicCompaction
	}
	return TopicSetting
}

// SettledTopics is the topics' plan. Where topics are missing it is asked for again
// for some seconds: a broker hears a little later than others of what was just made.
func SettledTopics(ctx context.Context, admin *kadm.Client, cfg config.Kafka) ([]topics.Change, error) {
	over := time.NewTimer(3 * time.Second)
	defer over.Stop()
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for {
		changes, err := topics.Plan(ctx, admin, cfg)
		missing := slices.ContainsFunc(changes, func(c topics.Change) bool { return c.Kind == topics.Create })
		if err != nil || !missing {
			return changes, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-over.C:
			return changes, nil
		case <-tick.C:
		}
	}
}

// partitions finds out whether each partition can be written to, and its replicas
// are in step.
func (s *stores) partitions(ctx context.Context, r *report, admin *kadm.Client) {
	var names []string
	for _, t := range topics.All() {
		names = append(names, t.FullName(s.Config.Kafka.TopicPrefix))
	}
	details, err := admin.ListTopics(ctx, names...)
	if err != nil {
		s.refusedByKafka(ctx, r, fmt.Errorf("ask for the partitions: %w", err))
		return
	}
	good := true
	for _, name := range names {
		for _, p := range details[name].Partitions.Sorted() {
			about := fmt.Sprintf("%s/%d", name, p.Partition)
			switch {
			case p.Leader < 0 || errors.Is(p.Err, kerr.LeaderNotAvailable):
				good = false
				r.found(PartitionOffline, about, "start the brokers that hold it", "it has no leader; its replicas are on the brokers %v", p.Replicas)
			case len(p.ISR) < len(p.Replicas):
				good = false
				r.found(ReplicasAway, about, "start the brokers that are away, and see how long the others take to tell them what they missed", "of the replicas on the brokers %v those on %v are in step", p.Replicas, p.ISR)
			}
		}
	}
	if good {
		r.ok("partitions", "all have a leader and their replicas")
	}
}

// newest looks at the time of the newest record of the event log. Kafka has no
// request for a broker's clock; what a clock that is ahead does harm to is that time,
// by which brokers delete and refuse.
func (s *stores) newest(ctx context.Context, r *report, admin *kadm.Client) {
	name := kafka.TopicName(s.Config.Kafka.TopicPrefix, schemas.StatusChangedTopic)
	offsets, err := admin.ListMaxTimestampOffsets(ctx, name)
	if err != nil {
		r.skip("clock", "the brokers don't say when the newest record was written: "+err.Error())
		return
	}
	now, ahead := s.Now(), time.Duration(0)
	offsets.Each(func(o kadm.ListedOffset) {
		if o.Err == nil && o.Timestamp > 0 {
			ahead = max(ahead, time.UnixMilli(o.Timestamp).Sub(now))
		}
	})
	if ahead > maxSkew {
		r.found(RecordsFromFuture, "clock", "set the clocks of all members and of this machine by NTP: chronyc tracking says how far one is off", "the newest record of %s is of %s from now", name, ahead.Round(time.Second))
		return
	}
	r.ok("clock", "no record of %s is of a time to come", name)
}
