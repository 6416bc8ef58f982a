package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"tributary/consumers/download"
	"tributary/internal/blob"
	"tributary/internal/config"
	"tributary/internal/remote/connectors"
	"tributary/internal/source"
	"tributary/internal/stage"
	"tributary/schemas"
)

// ours fetches all files with the download stage on default settings, as many jobs
// at once as a server has sessions.
func (r *row) ours(ctx context.Context, dir string) (err error) {
	cfg := config.Default()
	store, err := blob.NewDir(filepath.Join(dir, "blobs"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	space := blob.NewSpace(store.Usage, int64(cfg.Blobs.MinFree), cfg.Blobs.MinFreeShare, store.Path(), log)
	space.ServerShare = cfg.Blobs.ServerShare
	d := download.New(cfg.Download, download.Deps{
		Limits: cfg.Limits, Blobs: store, Partials: store.Partials(int64(cfg.Download.PartialBytes)), Dial: connectors.All().Dial, Log: log, Now: time.Now,
		Space:            space,
		Outstanding:      func(context.Context, string) (bool, error) { return true, nil },
		WithoutChecksums: func(context.Context, string, string, []string) (bool, error) { return true, nil },
	})
	jobs, err := r.jobs(cfg)
	if err != nil {
		return err
	}
	next := make(chan schemas.Message, len(jobs))
	for _, job := range jobs {
		next <- job
	}
	close(next)
	var tally tally
	errs := make([]error, cfg.Plan.MaxSessions)
	var sessions sync.WaitGroup
	for i := range errs {
		sessions.Go(func() {
			for job := range next {
				if errs[i] = d.Work(ctx, stage.Input{Message: job, Progress: func() {}, Emit: tally.emit, EmitAcknowledged: tally.emit}); errs[i] != nil {
					return
				}
			}
		})
	}
	sessions.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if tally.fetched != len(r.names) {
		return fmt.Errorf("%d of %d files were fetched; one ended so: %s", tally.fetched, len(r.names), tally.other)
	}
	return nil
}

// jobs are cut as plan cuts them.
func (r *row) jobs(cfg config.Config) (jobs []schemas.Message, err error) {
	definition := map[string]string{"id": "bench"}
	for k, v := range r.definition {
		definition[k] = v
	}
	text, err := json.Marshal(definition)
	if err != nil {
		return nil, err
	}
	src, err := config.ParseDefinition(string(text))
	if err != nil {
		return nil, err
	}
	to, err := source.Remote(src, cfg.Download.ConnectTimeout, cfg.Download.IdleTimeout, cfg.Limits)
	if err != nil {
		return nil, err
	}
	most := max(1, min(cfg.Plan.JobFiles, int(int64(cfg.Plan.JobBytes)/r.set.bytes)))
	for from := 0; from < len(r.names); from += most {
		id := fmt.Sprint("job-", from)
		job := &schemas.DownloadRequested{Scope: schemas.Scope{Run: schemas.LiveRun, Source: "bench"}, Job: id, Server: connectors.All().Server(to), Definition: string(text)}
		for i := from; i < min(from+most, len(r.names)); i++ {
			job.Files = append(job.Files, schemas.RequestFile{
				FileRef: schemas.FileRef{File: schemas.FileID("add", r.names[i]), FileName: r.names[i], Action: "add"}, Session: "session-1", Centre: "B",
				Attempt: 1, Look: 1, Path: "add/" + r.names[i], Size: r.set.bytes, ModTime: &r.at[i], RequestedAt: &r.at[i],
			})
		}
		jobs = append(jobs, schemas.Message{ID: id, Topic: schemas.DownloadRequestedTopic, Key: id, Body: job})
	}
	return jobs, nil
}

// tally counts what the stage tells.
type tally struct {
	mu      sync.Mutex
	fetched int
	other   string
}

func (t *tally) emit(_ context.Context, told ...schemas.Message) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, m := range told {
		switch d, ok := m.Body.(*schemas.DownloadFinished); {
		case !ok:
		case d.Result == schemas.Fetched:
			t.fetched++
		default:
			t.other = d.FileName + ": " + d.Result + " " + d.Exception + " " + d.Message
		}
	}
	return nil
}
