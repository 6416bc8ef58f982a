package kafka

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/config"
)

// Bounds of one client's memory. What is produced beyond them waits. What is fetched
// may unpack to twenty times as much where somebody else has chosen the texts, and a
// process reads some dozen partitions at once.
const (
	maxBufferedRecords = 10_000
	maxBufferedBytes   = 64 << 20
	fetchBytes         = 16 << 20  // of one fetch, over all partitions
	fetchPartition     = 128 << 10 // of one fetch, per partition; one batch at least
	decompressedBatch  = 64 << 20  // a batch that unpacks to more is refused
)

// embeddedRebalance is how long the embedded broker waits for members to join
// in a rebalance. It begins to wait anew whenever one joins, while a client
// gives up its join ten seconds after the time-out and joins as another member.
// With a time-out above those ten seconds, two members out of step could do so
// in turns for ever, each keeping a dead third one in the group.
const embeddedRebalance = 8 * time.Second

// Factory makes a client with further options. Its users add their topics,
// their group and their callbacks.
type Factory func(extra ...kgo.Opt) (*kgo.Client, error)

// NewFactory binds NewClient to a configuration.
func NewFactory(cfg config.Kafka, bootstrap []string, logger *slog.Logger) Factory {
	return func(extra ...kgo.Opt) (*kgo.Client, error) {
		return NewClient(cfg, bootstrap, logger, extra...)
	}
}

// NewClient makes a client that produces with all acknowledgements and
// without duplicates of its own, retries for as long as a record's context
// lives, and consumes from the earliest record where nothing else is said:
// kgo's own default would skip what is older than a minute after a reset. It
// connects when it is first used, and errors only on settings that cannot
// work: no address, an unreadable certificate or secret, an unknown name.
func NewClient(cfg config.Kafka, bootstrap []string, log *slog.Logger, extra ...kgo.Opt) (*kgo.Client, error) {
	if len(bootstrap) == 0 {
		return nil, errors.New("kafka: no broker address: set kafka.bootstrap_servers, or start the embedded broker")
	}
	opts := append(Bootstrap(bootstrap),
		kgo.ClientID("tributary"),
		kgo.WithLogger(logger{log, NewQuiet(time.Now)}),

		kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.ProducerBatchCompression(kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.NoCompression()),
		kgo.ProducerBatchMaxBytesFn(maxBatch),
		kgo.ProducerLinger(25*time.Millisecond),
		kgo.MaxBufferedRecords(maxBufferedRecords),
		kgo.MaxBufferedBytes(maxBufferedBytes),
		kgo.UnknownTopicRetries(-1), // a topic may be created after we started

		kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchMaxBytes(fetchBytes),
		kgo.FetchMaxPartitionBytes(fetchPartition),
		kgo.MaxDecompressBatchBytes(decompressedBatch),
		kgo.FetchMaxWait(time.Second),
		// A session spares a request the list of its partitions, of which there are dozens at
		// most. To close one races with a fetch, in kgo 1.22.3, when a client closes as it begins.
		kgo.DisableFetchSessions(),
		kgo.MetadataMinAge(250*time.Millisecond), // a topic just created is found at once
	)
	group, err := groupOpts(cfg)
	if err != nil {
		return nil, err
	}
	security, err := securityOpts(cfg)
	if err != nil {
		return nil, err
	}
	opts = append(opts, group...)
	opts = append(opts, security...)
	client, err := kgo.NewClient(append(opts, extra...)...)
	if err != nil {
		return nil, fmt.Errorf("kafka: %w", err)
	}
	return client, nil
}

// groupOpts are the settings of group members; without a group they do
// nothing.
func groupOpts(cfg config.Kafka) ([]kgo.Opt, error) {
	var opts []kgo.Opt
	switch cfg.GroupProtocol {
	case "", "classic":
		opts = append(opts, kgo.Balancers(kgo.CooperativeStickyBalancer()))
	case "consumer":
		opts = append(opts, kgo.Balancers(kgo.CooperativeStickyBalancer()), kgo.ServerSideBalancer())
	default:
		return nil, fmt.Errorf("kafka.group_protocol %q: use classic or consumer", cfg.GroupProtocol)
	}
	if timeout := cfg.SessionTimeout.D(); timeout > 0 {
		opts = append(opts, kgo.SessionTimeout(timeout), kgo.HeartbeatInterval(min(timeout/3, 3*time.Second)))
	}
	if cfg.InstanceID != "" {
		opts = append(opts, kgo.InstanceID(cfg.InstanceID))
	}
	if len(cfg.BootstrapServers) == 0 {
		opts = append(opts, kgo.RebalanceTimeout(embeddedRebalance))
	}
	return opts, nil
}
