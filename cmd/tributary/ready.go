package main

import (
	"context"
	"fmt"

	"tributary/internal/obs"
)

// readiness adds a check for each store that is needed: its absence makes the
// process not ready, never dead.
func (s *stores) readiness(h *obs.Health, n need) error {
	if n.Kafka {
		client, err := s.Kafka()
		if err != nil {
			return err
		}
		s.closers = append(s.closers, func() error { client.Close(); return nil })
		h.AddReady("kafka", func(ctx context.Context) error {
			if err := client.Ping(ctx); err != nil {
				return fmt.Errorf("no broker answers at %v: %w", s.Bootstrap, err)
			}
			return nil
		})
	}
	if n.Postgres {
		h.AddReady("postgres", func(ctx context.Context) error { return s.Control.Ping(ctx) })
	}
	if n.ClickHouse {
		h.AddReady("clickhouse", func(ctx context.Context) error { return s.ClickHouse.Ping(ctx) })
	}
	return nil
}
