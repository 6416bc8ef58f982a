package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/config"
	"tributary/internal/kafka"
	"tributary/internal/stage"
	"tributary/internal/stage/member"
	"tributary/schemas"
)

const (
	// brokerCommand makes this program a broker in memory.
	brokerCommand = "broker"
	prefix        = "bench"
	costPartition = 6
	costBatch     = 1000 // records that are fetched, and in hand, at a time
)

// serveBroker serves a broker in memory until its input ends.
func serveBroker() error {
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(costPartition,
		kafka.TopicName(prefix, schemas.FileDiscoveredTopic), kafka.TopicName(prefix, schemas.StatusChangedTopic)))
	if err != nil {
		return err
	}
	defer c.Close()
	fmt.Println(strings.Join(c.ListenAddrs(), ","))
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// startBroker starts a broker in another process, so that its work is not
// counted as ours.
func startBroker(ctx context.Context) (addrs []string, stop func() error, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	cmd := exec.CommandContext(ctx, self, brokerCommand)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, fmt.Errorf("start a broker: %w", err)
	}
	stop = func() error { return errors.Join(in.Close(), cmd.Wait()) }
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("the broker did not start: %w", err), stop())
	}
	return strings.Split(strings.TrimSpace(line), ","), stop, nil
}

// measureCost returns the CPU time, user and system, that one record costs on
// its way through the runtime, in µs: fetched, decoded, given to work that
// emits one event, encoded, produced, acknowledged and committed.
func measureCost(ctx context.Context, records int) (cost float64, err error) {
	addrs, stop, err := startBroker(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	codec, err := schemas.NewCodec()
	if err != nil {
		return 0, err
	}
	log := slog.New(slog.DiscardHandler)
	connect := kafka.NewFactory(config.Kafka{}, addrs, log)
	if err := fill(ctx, connect, codec, records); err != nil {
		return 0, err
	}

	done := make(chan struct{}, records)
	r := stage.NewRunner(stage.Config{Name: "work", Prefix: prefix, Topic: schemas.FileDiscoveredTopic, Window: costBatch}, connect, codec,
		echo{done}, log, member.NewMetrics(prometheus.NewRegistry()))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	before := cpuTime()
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	for range records {
		select {
		case <-done:
		case err := <-ended:
			return 0, errors.Join(err, errors.New("the runtime stopped before its end"))
		}
	}
	cancel()
	if err := <-ended; err != nil { // what is not acknowledged is, then
		return 0, err
	}
	return float64((cpuTime() - before).Microseconds()) / float64(records), nil
}

// fill produces records of a thousand keys, a thousand a batch.
func fill(ctx context.Context, connect kafka.Factory, codec *schemas.Codec, records int) error {
	client, err := connect(kgo.MaxBufferedRecords(2 * costBatch))
	if err != nil {
		return err
	}
	defer client.Close()
	at := time.Unix(1_700_000_000, 0).UTC()
	for from := 0; from < records; from += costBatch {
		batch := make([]*kgo.Record, 0, costBatch)
		for n := from; n < min(from+costBatch, records); n++ {
			key := fmt.Sprint("key", n%1000)
			rec, err := codec.Encode(schemas.Message{ID: fmt.Sprint("event-", n), Topic: schemas.FileDiscoveredTopic, Key: key, Stage: "bench", Time: at,
				Body: &schemas.FileDiscovered{Look: int32(n)}})
			if err != nil {
				return err
			}
			batch = append(batch, kafka.ToKgo(prefix, rec))
		}
		if err := client.ProduceSync(ctx, batch...).FirstErr(); err != nil {
			return fmt.Errorf("fill the topic: %w", err)
		}
	}
	return nil
}

// echo is work that costs nothing but the event that it emits.
type echo struct{ done chan<- struct{} }

// Work emits one event.
func (e echo) Work(ctx context.Context, in stage.Input) error {
	defer func() { e.done <- struct{}{} }()
	return in.Emit(ctx, schemas.Message{ID: in.Message.ID, Topic: schemas.StatusChangedTopic, Key: in.Message.Key, Body: &schemas.StatusChanged{}})
}

// Fail has nothing to end.
func (echo) Fail(schemas.Message, error) []schemas.Message { return nil }

// cpuTime is what this process has used so far, its children apart.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0 // there is nothing that it could complain of
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
