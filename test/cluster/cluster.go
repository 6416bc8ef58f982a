// Package cluster runs Tributary scaled out as native processes: Apache Kafka,
// Postgres and ClickHouse, and one process per role with any number of members,
// as compose/ does with containers.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"tributary/internal/engine"
	"tributary/internal/engine/child"
	"tributary/test/kafka"
	"tributary/test/ports"
)

// startWithin bounds how long the engines, or all members, take to be ready on
// a loaded machine.
const startWithin = 3 * time.Minute

// stopWithin is how long a member has to stop in order: longer than any grace, also on a
// loaded machine.
const stopWithin = 3 * time.Minute

// Lively is configuration that lets a cluster do in seconds what it does in
// minutes: for looking on, and for tests.
const Lively = `schedule:
  interval: 2s
  jitter: 0
  tick: 200ms
poll:
  settle: 0s
plan:
  backoff: 200ms
sequence:
  late_limit: 1s
publish:
  lease_ttl: 2s
insert:
  lease_ttl: 2s
`

// Roles are the roles in the order in which they are started, and stopped: what
// asks for work before what does it, so that little is left under way.
func Roles() []string {
	return []string{"schedule", "poll", "plan", "download", "unzip", "validate", "sequence", "insert", "publish", "tracker", "history", "traces", "notify", "serve"}
}

// Options say what to run.
type Options struct {
	Binary string // the program
	Dir    string // holds what the cluster keeps: logs/, kafka/; other users must be able to enter it when this one is root
	// Config is the configuration without addresses of engines, which must say
	// where the sources are. Its data_dir is the engines'.
	Config  string
	DataDir string         // of Config
	Members map[string]int // by role; a role that is not named has one
	Brokers int            // of Apache Kafka: 1 or 3; 0 uses the embedded broker
	Say     io.Writer      // what is started and stopped, for people
}

// Cluster is running. Its methods belong to one goroutine.
type Cluster struct {
	o       Options
	kafka   *kafka.Cluster
	engines *Process
	members []*Process
	env     []string
}

// Process is one process of a cluster.
type Process struct {
	Name string // such as download-2
	Log  string // file of what it says
	HTTP string // where it serves /readyz and /metrics; empty for the engines
	*child.Process
}

// Start starts everything and returns when every member is ready. Without an
// Apache Kafka the error is kafka.ErrMissing by errors.Is.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	for role, n := range o.Members {
		if !slices.Contains(Roles(), role) || n < 0 {
			return nil, fmt.Errorf("cluster: %d members of %q: the roles are %s", n, role, strings.Join(Roles(), ", "))
		}
	}
	c := &Cluster{o: o}
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("cluster: %w", err), c.Stop())
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) error {
	if err := os.MkdirAll(filepath.Join(c.o.Dir, "logs"), 0o755); err != nil {
		return err
	}
	if err := c.stores(ctx); err != nil {
		return err
	}
	if out, err := c.Run(ctx, "topics", "apply"); err != nil {
		return fmt.Errorf("make the topics: %w\n%s", err, out)
	}
	for _, role := range Roles() {
		n, given := c.o.Members[role]
		if !given {
			n = 1
		}
		for i := range n {
			p, err := c.member(role, i+1)
			if err != nil {
				return fmt.Errorf("%s: %w", role, err)
			}
			c.members = append(c.members, p)
		}
		c.say("started %d of %s", n, role)
	}
	return c.ready(ctx)
}

// stores starts Apache Kafka, Postgres and ClickHouse.
func (c *Cluster) stores(ctx context.Context) error {
	c.env = append(os.Environ(), "TRIBUTARY_CONFIG="+c.o.Config, "TRIBUTARY_CFG_LOG_FORMAT=json",
		// Many small members share one Postgres of 200 connections.
		"TRIBUTARY_CFG_POSTGRES_MAX_CONNECTIONS=4")
	if c.o.Brokers > 0 {
		k, err := kafka.Start(ctx, filepath.Join(c.o.Dir, "kafka"), c.o.Brokers)
		if err != nil {
			return err
		}
		c.kafka = k
		c.env = append(c.env, "TRIBUTARY_CFG_KAFKA_BOOTSTRAP_SERVERS="+strings.Join(k.Brokers(), ","),
			"TRIBUTARY_CFG_KAFKA_REPLICATION_FACTOR="+strconv.Itoa(min(3, c.o.Brokers)))
		c.say("Apache Kafka %s: %d brokers at %s", kafka.Version, c.o.Brokers, strings.Join(k.Brokers(), ", "))
	}
	p, err := c.process("engines", "", "engines")
	if err != nil {
		return fmt.Errorf("engines: %w", err)
	}
	c.engines = p
	return c.await(ctx, p, func() string {
		switch _, running, err := engine.Attach(c.o.DataDir); {
		case err != nil:
			return err.Error()
		case !running:
			return "the engines don't run yet"
		}
		return ""
	})
}

// Env is the environment of the cluster's processes: with it, queries attach.
func (c *Cluster) Env() []string { return slices.Clone(c.env) }

// Members are the roles' processes.
func (c *Cluster) Members() []*Process { return slices.Clone(c.members) }

// Brokers are the addresses of Apache Kafka; none for the embedded broker.
func (c *Cluster) Brokers() []string {
	if c.kafka == nil {
		return nil
	}
	return c.kafka.Brokers()
}

// Run runs a command of the program against the cluster and returns what it
// wrote to stdout; an error holds the end of what it wrote to stderr.
func (c *Cluster) Run(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, c.o.Binary, args...)
	cmd.Env, cmd.Dir = c.env, c.o.Dir
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("tributary %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(exit.Stderr)))
	}
	return string(out), err
}

// Failed tells of a process that has ended by itself.
func (c *Cluster) Failed() error {
	for _, p := range append(c.Members(), c.engines) {
		select {
		case <-p.Done():
			return fmt.Errorf("%s has ended by itself: %w; see %s", p.Name, p.Err(), p.Log)
		default:
		}
	}
	return nil
}

// Stop stops everything in order: the members, all of one role at once and each
// in order, then Postgres and ClickHouse, then Apache Kafka. A process that
// does not stop by itself is killed, which is an error.
func (c *Cluster) Stop() error {
	var errs []error
	for len(c.members) > 0 {
		role, _, _ := strings.Cut(c.members[0].Name, "-")
		n := slices.IndexFunc(c.members, func(p *Process) bool { return !strings.HasPrefix(p.Name, role+"-") })
		if n < 0 {
			n = len(c.members)
		}
		c.say("stopping %d of %s", n, role)
		for _, p := range c.members[:n] {
			p.Signal(syscall.SIGTERM)
		}
		for _, p := range c.members[:n] {
			errs = append(errs, p.end())
		}
		c.members = c.members[n:]
	}
	if c.engines != nil {
		c.say("stopping the engines")
		c.engines.Signal(syscall.SIGTERM)
		errs = append(errs, c.engines.end())
		c.engines = nil
	}
	if c.kafka != nil {
		c.say("stopping Apache Kafka")
		errs = append(errs, c.kafka.Stop())
		c.kafka = nil
	}
	return errors.Join(errs...)
}

func (c *Cluster) say(format string, args ...any) {
	if c.o.Say != nil {
		fmt.Fprintf(c.o.Say, format+"\n", args...)
	}
}

// member starts one member of a role.
func (c *Cluster) member(role string, n int) (*Process, error) {
	free, err := ports.Free(1)
	if err != nil {
		return nil, err
	}
	return c.process(fmt.Sprintf("%s-%d", role, n), free[0].String(), "run", role)
}

// ready waits until every member says that it is.
func (c *Cluster) ready(ctx context.Context) error {
	for _, p := range c.members {
		err := c.await(ctx, p, func() string { return p.unready(ctx) })
		if err != nil {
			return err
		}
	}
	return nil
}
