// Command work does a small fixed piece of work of the hot path in this process, without
// engines, one part after the other and one document at a time: archives checked, documents
// judged by their schema, read into rows, and events written and read. It tells what each
// part took of the processor, and how much memory it allocated in how many pieces; command
// against compares that with another commit's.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"time"

	"tributary/consumers/unzip"
	"tributary/consumers/validate"
	"tributary/internal/archive"
	"tributary/internal/blob"
	"tributary/internal/centres"
	"tributary/internal/config"
	"tributary/internal/document"
	"tributary/internal/mapping"
	"tributary/internal/profile"
	"tributary/internal/stage"
	"tributary/schemas"
	"tributary/schemas/impc"
	"tributary/test/corpus"
)

func main() {
	zips := flag.Int("zips", 150, "zips of three documents")
	repeat := flag.Int("repeat", 8, "how often each part is done")
	flag.Parse()
	if err := run(context.Background(), *zips, *repeat); err != nil {
		fmt.Fprintln(os.Stderr, "bench work:", err)
		os.Exit(1)
	}
}

// Part is what one part of the work took.
type Part struct {
	Name    string
	Done    int     // of what it counts; equal work has equal numbers
	Seconds float64 // of the processor
	Bytes   uint64  // allocated
	Pieces  uint64  // of memory
}

// work is what the parts hand on.
type work struct {
	store     *blob.Dir
	codec     *schemas.Codec
	unzip     *unzip.Unzipper
	validate  *validate.Validator
	mapping   *mapping.Mapping
	fetched   []schemas.Message
	extracted []schemas.Message
	told      []schemas.Message // by unzip
	judged    []schemas.Message // by validate
}

func run(ctx context.Context, zips, repeat int) (err error) {
	dir, err := os.MkdirTemp("", "tributary-work-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	w, err := newWork(ctx, dir, zips)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.store.Close()) }()
	out := json.NewEncoder(os.Stdout)
	for _, part := range []struct {
		name string
		do   func(context.Context) (int, error)
	}{{"unzip", w.check}, {"validate", w.judge}, {"rows", w.read}, {"events", w.code}} {
		p := Part{Name: part.name}
		// Once before it counts: what is made once, and kept, is no matter of the work.
		if _, err := part.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := processor()
		for range repeat {
			if p.Done, err = part.do(ctx); err != nil {
				return fmt.Errorf("%s: %w", part.name, err)
			}
		}
		p.Seconds = processor() - began
		runtime.ReadMemStats(&after)
		p.Bytes, p.Pieces = after.TotalAlloc-before.TotalAlloc, after.Mallocs-before.Mallocs
		if err := out.Encode(p); err != nil {
			return err
		}
	}
	return nil
}

// processor is what this process has used, in seconds.
func processor() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // it takes no argument that could be wrong
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

// now is the same for all, so that what is told has the same bytes.
func now() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

// newWork stores a corpus as it lies after fetching.
func newWork(ctx context.Context, dir string, zips int) (w *work, err error) {
	w = &work{}
	c, err := corpus.Generate(corpus.Options{Seed: 1, Shape: corpus.Bench, Zips: zips})
	if err != nil {
		return nil, err
	}
	if w.store, err = blob.NewDir(filepath.Join(dir, "blobs")); err != nil {
		return nil, err
	}
	for _, u := range c.Uploads() {
		content, err := u.Bytes()
		if err != nil {
			return nil, err
		}
		sha, err := put(ctx, w.store, content)
		if err != nil {
			return nil, err
		}
		w.fetched = append(w.fetched, schemas.Message{ID: "fetched-" + u.File, Topic: schemas.DownloadFinishedTopic, Body: &schemas.DownloadFinished{
			Scope:   schemas.Scope{Run: schemas.LiveRun, Session: "session", Centre: u.Centre, Source: "source"},
			FileRef: schemas.FileRef{File: schemas.FileID(u.Action, u.File), FileName: u.File, Action: u.Action},
			Attempt: 1, Look: 1, Result: schemas.Fetched, Outcome: sha, SHA256: sha, Size: int64(len(content))}})
	}
	cfg, log := config.Default(), slog.New(slog.DiscardHandler)
	p, err := profile.Builtin(cfg.Profile)
	if err != nil {
		return nil, err
	}
	set, err := centres.Set(p, cfg)
	if err != nil {
		return nil, err
	}
	w.unzip = unzip.New(archive.DefaultLimits(), unzip.Deps{Blobs: w.store, Rules: unzip.Rules{Profile: p, Centres: set}, Log: log, Now: now})
	if w.validate, err = validate.New(cfg.Validate, validate.Deps{Profile: p, Blobs: w.store, Log: log, Now: now}); err != nil {
		return nil, err
	}
	if w.mapping, err = mapping.Load(impc.FS); err != nil {
		return nil, err
	}
	w.codec, err = schemas.NewCodec()
	return w, err
}

func put(ctx context.Context, store *blob.Dir, content []byte) (sha string, err error) {
	out, err := store.Create(ctx)
	if err != nil {
		return "", err
	}
	defer out.Abort()
	if _, err := out.Write(content); err != nil {
		return "", err
	}
	ref, err := out.Commit()
	return ref.SHA256, err
}

// through hands messages to a stage, and returns what it tells.
func through(ctx context.Context, s stage.Stage, in []schemas.Message) (told []schemas.Message, err error) {
	emit := func(_ context.Context, more ...schemas.Message) error { told = append(told, more...); return nil }
	for _, m := range in {
		if err := s.Work(ctx, stage.Input{Message: m, Progress: func() {}, Emit: emit, EmitAcknowledged: emit}); err != nil {
			return nil, err
		}
	}
	return told, nil
}

// check has the zips unzipped.
func (w *work) check(ctx context.Context) (int, error) {
	told, err := through(ctx, w.unzip, w.fetched)
	w.extracted, w.told = w.extracted[:0], told
	for _, m := range told {
		if _, ok := m.Body.(*schemas.DocumentExtracted); ok {
			w.extracted = append(w.extracted, m)
		}
	}
	return len(w.extracted), err
}

// judge has the documents validated.
func (w *work) judge(ctx context.Context) (int, error) {
	told, err := through(ctx, w.validate, w.extracted)
	valid := 0
	for _, m := range told {
		if v, ok := m.Body.(*schemas.DocumentValidated); ok && v.Result == schemas.Valid {
			valid++
		}
	}
	w.judged = told
	return valid, err
}

// read makes rows of the documents.
func (w *work) read(ctx context.Context) (int, error) {
	var n counter
	for i, m := range w.extracted {
		d := m.Body.(*schemas.DocumentExtracted)
		err := document.Read(ctx, w.store, d.DocumentRef, nil, func(r io.Reader) error {
			return w.mapping.Read(r, mapping.Document{Kind: d.Kind, Centre: d.DocCentre, Position: int64(i) + 1}, &n)
		})
		if err != nil {
			return 0, err
		}
	}
	return int(n), nil
}

// counter counts rows.
type counter int

func (c *counter) Row(*mapping.Row) error       { *c++; return nil }
func (c *counter) Record(*mapping.Record) error { return nil }

// code writes and reads what the stages told.
func (w *work) code(context.Context) (int, error) {
	bytes := 0
	for _, m := range slices.Concat(w.told, w.judged) {
		r, err := w.codec.Encode(m)
		if err != nil {
			return 0, err
		}
		if _, err := w.codec.Decode(r); err != nil {
			return 0, err
		}
		bytes += len(r.Value)
	}
	return bytes, nil
}
