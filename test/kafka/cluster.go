// Package kafka runs Apache Kafka for tests: one broker or several in KRaft
// mode on loopback, each a process of its own that can be killed and started
// again. It is fetched once, with Maven; see Fetch.
package kafka

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/engine/child"
	"tributary/internal/engine/enginetest"
	"tributary/test/ports"
)

// ClusterID is the id of every cluster that this package makes. Who is about to
// remove all topics of a cluster can tell by it that nobody will miss them.
const ClusterID = enginetest.KafkaID

// readyWithin bounds how long a cluster, or a broker of it, takes to start.
const readyWithin = 2 * time.Minute

// Cluster is a running Apache Kafka. Its methods must not be called by several
// goroutines at once, but for Brokers.
type Cluster struct {
	install string
	nodes   []*node
}

// node is one process, broker and controller in one.
type node struct {
	id                 int
	client, controller string // addresses
	dir                string // its log directory
	replicas           int    // of what is made without saying how many
	secure             *Secure
	process            *child.Process
	log                *os.File
}

// Start starts a cluster that keeps its data and its logs below dir, which is
// made, and returns when all brokers are registered. Ports are free ones. The
// brokers end with this process, however that ends. Without an installation
// the error is ErrMissing by errors.Is.
func Start(ctx context.Context, dir string, brokers int) (*Cluster, error) {
	return start(ctx, dir, brokers, nil)
}

func start(ctx context.Context, dir string, brokers int, secure []*Secure) (*Cluster, error) {
	installed, err := Locate()
	if err != nil {
		return nil, err
	}
	if brokers < 1 {
		return nil, fmt.Errorf("kafka: %d brokers: at least one is needed", brokers)
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("kafka: %w", err)
	}
	free, err := ports.Free(2 * brokers)
	if err != nil {
		return nil, fmt.Errorf("kafka: %w", err)
	}
	c := &Cluster{install: installed}
	for i := range brokers {
		c.nodes = append(c.nodes, &node{id: i + 1, client: free[2*i].String(), controller: free[2*i+1].String(), replicas: min(brokers, 3),
			dir: filepath.Join(dir, fmt.Sprintf("broker-%d", i+1))})
	}
	for i, s := range secure {
		c.nodes[i].secure = s
	}
	for _, n := range c.nodes {
		if err := errors.Join(n.prepare(c), n.start(c)); err != nil {
			return nil, errors.Join(fmt.Errorf("kafka: broker %d: %w", n.id, err), c.Stop())
		}
	}
	if err := c.Ready(ctx); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

// Brokers are the addresses to bootstrap a client with, broker 0 first.
func (c *Cluster) Brokers() []string {
	out := make([]string, len(c.nodes))
	for i, n := range c.nodes {
		out[i] = n.client
	}
	return out
}

// Kill ends a broker with SIGKILL and returns when it is gone. Brokers are
// counted from 0; their node ids from 1.
func (c *Cluster) Kill(i int) error { return c.nodes[i].kill() }

// Restart starts a broker that was killed, at its old address with its old
// data, and returns when it is registered again.
func (c *Cluster) Restart(ctx context.Context, i int) error {
	n := c.nodes[i]
	if n.process != nil {
		return fmt.Errorf("kafka: broker %d is running: kill it before it is restarted", n.id)
	}
	if err := n.start(c); err != nil {
		return fmt.Errorf("kafka: broker %d: %w", n.id, err)
	}
	return c.Ready(ctx)
}

// Ready waits until every broker that runs is registered and answers.
func (c *Cluster) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	var up []*node
	for _, n := range c.nodes {
		if n.process != nil {
			up = append(up, n)
		}
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for _, n := range up {
		for {
			err := n.registered(ctx, len(up))
			if err == nil {
				break
			}
			select {
			case <-n.process.Done():
				return fmt.Errorf("kafka: broker %d has ended: %w; see %s", n.id, n.process.Err(), n.log.Name())
			case <-ctx.Done():
				return fmt.Errorf("kafka: broker %d does not come up: %w; see %s", n.id, err, n.log.Name())
			case <-tick.C:
			}
		}
	}
	return nil
}

// Stop stops all brokers and waits for their ends. What they wrote stays.
func (c *Cluster) Stop() error {
	for _, n := range c.nodes {
		if n.process != nil {
			n.process.Signal(syscall.SIGTERM)
		}
	}
	// The last ones have no quorum to say goodbye to, and must be killed.
	deadline := time.NewTimer(5 * time.Second)
	defer deadline.Stop()
	var errs []error
	for _, n := range c.nodes {
		if n.process == nil {
			continue
		}
		select {
		case <-n.process.Done():
		case <-deadline.C:
			deadline.Reset(0)
		}
		errs = append(errs, n.kill())
	}
	return errors.Join(errs...)
}

// registered asks a broker for the others.
func (n *node) registered(ctx context.Context, brokers int) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(n.client), kgo.RequestRetries(0))
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	m, err := kadm.NewClient(client).BrokerMetadata(ctx)
	if err != nil {
		return err
	}
	if len(m.Brokers) < brokers {
		return fmt.Errorf("%d of %d brokers are registered", len(m.Brokers), brokers)
	}
	return nil
}

// prepare formats a node's log directory, as Kafka's own tool would.
func (n *node) prepare(c *Cluster) error {
	if err := os.MkdirAll(n.dir, 0o700); err != nil {
		return err
	}
	bootstrap, err := os.ReadFile(filepath.Join(c.install, bootstrapFile))
	if err != nil {
		return err
	}
	id := make([]byte, 16)
	if _, err := rand.Read(id); err != nil {
		return err
	}
	id[0] &= 0x7f // an id must not begin with a dash
	meta := fmt.Sprintf("version=1\ncluster.id=%s\nnode.id=%d\ndirectory.id=%s\n", ClusterID, n.id, base64.RawURLEncoding.EncodeToString(id))
	voters := make([]string, len(c.nodes))
	for i, other := range c.nodes {
		voters[i] = fmt.Sprintf("%d@%s", other.id, other.controller)
	}
	return errors.Join(
		os.WriteFile(filepath.Join(n.dir, bootstrapFile), bootstrap, 0o600),
		os.WriteFile(filepath.Join(n.dir, "meta.properties"), []byte(meta), 0o600),
		os.WriteFile(n.dir+".properties", []byte(n.properties(voters)), 0o600),
	)
}

func (n *node) start(c *Cluster) error {
	log, err := os.OpenFile(n.dir+".log", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	cmd := exec.Command("java", javaArgs(c.install, "kafka.Kafka", n.dir+".properties")...)
	cmd.Dir = filepath.Dir(n.dir)
	cmd.Stdout, cmd.Stderr = log, log
	p, err := child.Start(cmd, syscall.SIGKILL)
	if err != nil {
		return errors.Join(err, log.Close())
	}
	n.process, n.log = p, log
	return nil
}

func (n *node) kill() error {
	if n.process == nil {
		return nil
	}
	n.process.Signal(syscall.SIGKILL)
	<-n.process.Done()
	n.process = nil
	return n.log.Close()
}

// properties are a node's settings. Defaults made for large clusters, and for
// people who wait, are made smaller and shorter; what is promised to clients
// is as production wants it: acknowledged means on two of three brokers.
func (n *node) properties(voters []string) string {
	insync := max(1, n.replicas-1)
	return strings.Join([]string{
		"process.roles=broker,controller",
		fmt.Sprintf("node.id=%d", n.id),
		"controller.quorum.voters=" + strings.Join(voters, ","),
		"controller.listener.names=CONTROLLER",
		"inter.broker.listener.name=PLAINTEXT",
		"listeners=PLAINTEXT://" + n.client + ",CONTROLLER://" + n.controller,
		"advertised.listeners=PLAINTEXT://" + n.client,
		"log.dirs=" + n.dir,
		"auto.create.topics.enable=false",
		fmt.Sprintf("default.replication.factor=%d", max(1, n.replicas)),
		fmt.Sprintf("min.insync.replicas=%d", insync),
		"offsets.topic.num.partitions=8",
		fmt.Sprintf("offsets.topic.replication.factor=%d", max(1, n.replicas)),
		"transaction.state.log.num.partitions=1",
		fmt.Sprintf("transaction.state.log.replication.factor=%d", max(1, n.replicas)),
		fmt.Sprintf("transaction.state.log.min.isr=%d", insync),
		"share.coordinator.state.topic.num.partitions=1",
		fmt.Sprintf("share.coordinator.state.topic.replication.factor=%d", max(1, n.replicas)),
		fmt.Sprintf("share.coordinator.state.topic.min.isr=%d", insync),
		// The death of a broker, and of a member, is noticed soon.
		"broker.session.timeout.ms=6000",
		"broker.heartbeat.interval.ms=1000",
		"replica.lag.time.max.ms=5000",
		"group.initial.rebalance.delay.ms=0",
		"group.min.session.timeout.ms=100",
		"group.consumer.min.session.timeout.ms=500",
		"group.consumer.session.timeout.ms=6000",
		"group.consumer.min.heartbeat.interval.ms=100",
		"group.consumer.heartbeat.interval.ms=500",
		// Threads and memory for a machine that does other things too.
		"num.network.threads=2", "num.io.threads=4", "background.threads=2",
		"log.cleaner.threads=1", "log.cleaner.dedupe.buffer.size=4194304",
		"log.index.size.max.bytes=1048576",
		n.secure.properties(n.client, n.controller),
		"",
	}, "\n")
}
