package main

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"tributary/internal/blob"
	"tributary/internal/config"
)

// spaceOf watches the file system of a blob store.
func spaceOf(dir *blob.Dir, cfg config.Blobs, log *slog.Logger) *blob.Space {
	s := blob.NewSpace(dir.Usage, int64(cfg.MinFree), cfg.MinFreeShare, dir.Path(), log)
	s.ServerShare = cfg.ServerShare
	return s
}

// dormant says why nothing is fetched, or may not be, as far as this machine's
// disk is the reason; empty if it is not, or cannot be asked. It only looks: who
// asks need have no access to the store.
func dormant(cfg config.Config) string {
	dir := blobDir(cfg)
	usage := func() (blob.Usage, error) { return blob.UsageOf(dir) }
	return blob.NewSpace(usage, int64(cfg.Blobs.MinFree), cfg.Blobs.MinFreeShare, dir, slog.New(slog.DiscardHandler)).Doubt()
}

// dataDisk says that the disk of the embedded engines is low, where blobs have another
// directory: of theirs dormant tells. What is enough for blobs is enough for engines.
func dataDisk(cfg config.Config) string {
	elsewhere := len(cfg.Kafka.BootstrapServers) > 0 && cfg.Postgres.URL != "" && cfg.ClickHouse.URL != ""
	if cfg.Blobs.Dir == "" || elsewhere {
		return ""
	}
	usage := func() (blob.Usage, error) { return blob.UsageOf(cfg.DataDir) }
	state := blob.NewSpace(usage, int64(cfg.Blobs.MinFree), cfg.Blobs.MinFreeShare, cfg.DataDir, slog.New(slog.DiscardHandler)).State()
	if !state.Low {
		return ""
	}
	return fmt.Sprintf("The disk of data_dir is low: %d MiB of %d MiB are free on the file system of %s, where the embedded engines write and stop once it is full; free some, or move it", state.Free>>20, state.Total>>20, cfg.DataDir)
}

// watchSpace tells how much room there is, and, where roles acquire files,
// makes a process without it not ready.
func (a *app) watchSpace(roles []string) {
	if a.space == nil {
		return
	}
	free := func() float64 { return float64(a.space.State().Free) }
	floor := func() float64 { return float64(a.space.State().Floor) }
	dormant := func() float64 {
		if a.space.State().Low {
			return 1
		}
		return 0
	}
	a.registry.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "tributary_blobs_free_bytes", Help: "Free space on the file system of the blob store."}, free),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "tributary_blobs_min_free_bytes", Help: "Free space below which nothing is fetched; 0: there is no such bound."}, floor),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "tributary_acquisition_dormant", Help: "1 while nothing is fetched because the disk is low."}, dormant),
	)
	if slices.Contains(roles, "download") || slices.Contains(roles, "plan") {
		a.health.AddReady("disk", func(context.Context) error { return a.space.Low() })
	}
}
