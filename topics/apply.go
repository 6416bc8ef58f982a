package topics

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"tributary/internal/config"
	"tributary/internal/kafka"
)

// ApplyOptions say what Apply may do beside making what is missing.
type ApplyOptions struct {
	// Settings also changes settings that differ. Without it a setting that
	// somebody chose on the broker stays.
	Settings bool
}

// Apply makes the topics that are missing and, where allowed, changes settings
// that differ. It returns what it did. It never changes the number of
// partitions or replicas.
func Apply(ctx context.Context, admin *kadm.Client, cfg config.Kafka, changes []Change, o ApplyOptions) ([]Change, error) {
	var done []Change
	for _, c := range changes {
		var err error
		switch {
		case c.Kind == Create:
			err = create(ctx, admin, cfg, c)
		case c.Kind == Setting && o.Settings:
			err = set(ctx, admin, c)
		default:
			continue
		}
		if err != nil {
			return done, err
		}
		done = append(done, c)
	}
	return done, shown(ctx, admin, done)
}

// shown waits until the broker shows what was just made and set, for up to ten
// seconds: on Apache Kafka a broker hears of it a little later than the
// controller that did it, and who asks meanwhile would make it again.
func shown(ctx context.Context, admin *kadm.Client, done []Change) error {
	over := time.NewTimer(10 * time.Second)
	defer over.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for len(done) > 0 {
		ok, err := shows(ctx, admin, done)
		if err != nil || ok {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-over.C:
			return nil // it is done, whatever this broker says
		case <-tick.C:
		}
	}
	return nil
}

func shows(ctx context.Context, admin *kadm.Client, done []Change) (bool, error) {
	var names []string
	for _, c := range done {
		if !slices.Contains(names, c.Topic) {
			names = append(names, c.Topic)
		}
	}
	details, err := admin.ListTopics(fresh(ctx), names...)
	if err != nil {
		return false, fmt.Errorf("ask the broker for its topics: %w", err)
	}
	for _, name := range names {
		if details[name].Err != nil || len(details[name].Partitions) == 0 {
			return false, nil //nolint:nilerr // not shown yet
		}
	}
	settings, err := readSettings(ctx, admin, names)
	if err != nil {
		return false, err
	}
	for _, c := range done {
		if settings[c.Topic] == nil || c.Kind == Setting && settings[c.Topic][c.Key] != c.Want {
			return false, nil
		}
	}
	return true, nil
}

// Ensure plans and makes what is missing: what every process does at its
// start. It returns the differences that are left for people.
func Ensure(ctx context.Context, admin *kadm.Client, cfg config.Kafka) ([]Change, error) {
	changes, err := Plan(ctx, admin, cfg)
	if err != nil {
		return nil, err
	}
	if _, err := Apply(ctx, admin, cfg, changes, ApplyOptions{}); err != nil {
		return nil, err
	}
	var left []Change
	for _, c := range changes {
		if c.Kind != Create {
			left = append(left, c)
		}
	}
	return left, nil
}

func create(ctx context.Context, admin *kadm.Client, cfg config.Kafka, c Change) error {
	settings := map[string]*string{}
	for key, value := range c.topic.Settings(cfg) {
		settings[key] = kadm.StringPtr(value)
	}
	r, err := admin.CreateTopic(ctx, c.topic.Partitions(cfg), cfg.ReplicationFactor, settings, c.Topic)
	switch {
	case err == nil, errors.Is(err, kerr.TopicAlreadyExists): // another member was faster
		return nil
	case kafka.Denied(err):
		return kafka.Lacking(err, "Create", c.Topic, "")
	case errors.Is(err, kerr.InvalidReplicationFactor):
		return fmt.Errorf("create topic %s: the brokers are fewer than kafka.replication_factor %d: start more, or lower it: %w", c.Topic, cfg.ReplicationFactor, err)
	case r.ErrMessage != "":
		return fmt.Errorf("create topic %s: %s: %w", c.Topic, r.ErrMessage, err)
	}
	return fmt.Errorf("create topic %s: %w", c.Topic, err)
}

func set(ctx context.Context, admin *kadm.Client, c Change) error {
	rs, err := admin.AlterTopicConfigs(ctx, []kadm.AlterConfig{{Op: kadm.SetConfig, Name: c.Key, Value: kadm.StringPtr(c.Want)}}, c.Topic)
	if err != nil {
		return fmt.Errorf("set %s of topic %s: %w", c.Key, c.Topic, err)
	}
	for _, r := range rs {
		if r.Err != nil {
			return fmt.Errorf("set %s of topic %s: %w", c.Key, c.Topic, r.Err)
		}
	}
	return nil
}
