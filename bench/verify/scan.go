package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/config"
	"tributary/internal/engine"
	"tributary/internal/kafka"
	"tributary/schemas"
)

// scans read what the stores hold.
type scans struct {
	data     string // folder of the program
	postgres *pgx.Conn
}

func (s *scans) tracker(ctx context.Context, at engine.Endpoints) error {
	return errors.Join(topic(ctx, at, schemas.StatusChangedTopic), s.tables(ctx, "tracker"))
}

func (s *scans) warehouse(ctx context.Context, at engine.Endpoints) error {
	return errors.Join(topic(ctx, at, schemas.DocumentOrderedTopic), s.blobs(), s.tables(ctx, "warehouse"))
}

func (s *scans) history(ctx context.Context, at engine.Endpoints) error {
	if err := topic(ctx, at, schemas.StatusChangedTopic); err != nil {
		return err
	}
	conn, err := engine.OpenClickHouse(at.ClickHouse, config.Default().ClickHouse.Database)
	if err != nil {
		return err
	}
	var n uint64
	// Every column of every row is read, and thrown away.
	err = conn.QueryRow(ctx, "SELECT count() FROM event WHERE NOT ignore(*)").Scan(&n)
	if err == nil && n == 0 {
		err = errors.New("the history is empty")
	}
	return errors.Join(err, conn.Close())
}

// topic reads a topic to its end.
func topic(ctx context.Context, at engine.Endpoints, name string) error {
	cfg := config.Default().Kafka
	full := kafka.TopicName(cfg.TopicPrefix, name)
	client, err := kafka.NewFactory(cfg, at.Kafka, slog.New(slog.DiscardHandler))(kgo.ConsumeTopics(full), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return err
	}
	defer client.Close()
	ends, err := kadm.NewClient(client).ListEndOffsets(ctx, full)
	if err != nil {
		return err
	}
	left := 0
	ends.Each(func(o kadm.ListedOffset) {
		if o.Offset > 0 {
			left++
		}
	})
	for left > 0 {
		fetches := client.PollFetches(ctx)
		if err := errors.Join(ctx.Err(), fetches.Err()); err != nil {
			return err
		}
		fetches.EachPartition(func(p kgo.FetchTopicPartition) {
			end, _ := ends.Lookup(p.Topic, p.Partition)
			if n := len(p.Records); n > 0 && p.Records[n-1].Offset >= end.Offset-1 {
				left--
			}
		})
	}
	return nil
}

// tables reads every table of a schema.
func (s *scans) tables(ctx context.Context, schema string) error {
	rows, err := s.postgres.Query(ctx, "SELECT format('COPY %I.%I TO STDOUT (FORMAT binary)', schemaname, tablename) FROM pg_tables WHERE schemaname = $1", schema)
	if err != nil {
		return err
	}
	copies, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	if len(copies) == 0 {
		return fmt.Errorf("the schema %s has no tables", schema)
	}
	for _, sql := range copies {
		if _, err := s.postgres.PgConn().CopyTo(ctx, io.Discard, sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	return nil
}

// blobs reads every blob.
func (s *scans) blobs() error {
	read := 0
	err := filepath.WalkDir(filepath.Join(s.data, "blobs"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		read++
		_, err = io.Copy(io.Discard, f)
		return err
	})
	if err == nil && read == 0 {
		err = errors.New("no blob was found")
	}
	return err
}
