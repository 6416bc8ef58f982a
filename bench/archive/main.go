// Command archive times what the unzip stage does to a large zip, 680 MB of documents: its
// blob compared with its name, every entry inflated, its checksum compared, and hashed
// twice. Beside it unzip and bsdtar inflate the same zip into nothing, round by round, and
// the lines at the end give the medians of all rounds.
package main

import (
	"archive/zip"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"tributary/bench/document"
	"tributary/bench/program"
	"tributary/bench/rounds"
	"tributary/consumers/unzip"
	"tributary/internal/archive"
	"tributary/internal/blob"
	"tributary/internal/centres"
	"tributary/internal/config"
	"tributary/internal/profile"
	"tributary/internal/stage"
	"tributary/schemas"
)

func main() {
	var b bench
	flag.StringVar(&b.dir, "dir", "", "folder to work in (default a temporary one, removed afterwards)")
	flag.IntVar(&b.documents, "documents", 45, "documents of 15 MB in the zip")
	flag.IntVar(&b.rounds, "rounds", 5, "runs of each")
	program.Main("archive", b.run)
}

type bench struct {
	dir               string
	documents, rounds int
}

func (b *bench) run(ctx context.Context) (err error) {
	if b.dir == "" {
		if b.dir, err = os.MkdirTemp("", "tributary-bench-"); err != nil {
			return err
		}
		defer os.RemoveAll(b.dir)
	}
	store, err := blob.NewDir(filepath.Join(b.dir, "blobs"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	sha, path, bytes, err := b.write(ctx, store)
	if err != nil {
		return err
	}
	stage, err := unzipper(store)
	if err != nil {
		return err
	}
	peers := map[string]*rounds.Pairs{"unzip": {}, "bsdtar": {}}
	for i := range b.rounds {
		began := time.Now()
		if err := b.check(ctx, stage, sha); err != nil {
			return err
		}
		ours := time.Since(began).Seconds()
		text := fmt.Sprintf("round %d: %.0f MB: ours %.2f s", i+1, float64(bytes)/1e6, ours)
		for _, args := range [][]string{{"unzip", "-p", path}, {"bsdtar", "-xOf", path}} {
			began := time.Now()
			if err := exec.CommandContext(ctx, args[0], args[1:]...).Run(); err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			took := time.Since(began).Seconds()
			text += fmt.Sprintf(", %s %.2f s, ratio %.2f", args[0], took, peers[args[0]].Add(ours, took))
		}
		fmt.Println(text)
	}
	for _, name := range []string{"unzip", "bsdtar"} {
		fmt.Println(peers[name].Line("archive " + name))
	}
	return nil
}

// write stores the zip as a blob, and beside it as a file for the peers.
func (b *bench) write(ctx context.Context, store *blob.Dir) (sha, path string, bytes int64, err error) {
	w, err := store.Create(ctx)
	if err != nil {
		return "", "", 0, err
	}
	defer w.Abort()
	path = filepath.Join(b.dir, "peer.zip")
	f, err := os.Create(path)
	if err != nil {
		return "", "", 0, err
	}
	defer f.Close()
	z := zip.NewWriter(f)
	for i := range b.documents {
		e, err := z.Create(fmt.Sprintf("H.2026-01-02.%d.experiment.impc.xml", i+1))
		if err != nil {
			return "", "", 0, err
		}
		n, err := e.Write(document.Experiments(i, 4000))
		if bytes += int64(n); err != nil {
			return "", "", 0, err
		}
	}
	if err := errors.Join(z.Close(), f.Sync()); err != nil {
		return "", "", 0, err
	}
	if _, err := f.Seek(0, 0); err != nil {
		return "", "", 0, err
	}
	if _, err := f.WriteTo(w); err != nil {
		return "", "", 0, err
	}
	ref, err := w.Commit()
	return ref.SHA256, path, bytes, err
}

// unzipper is the stage as the program has it.
func unzipper(store *blob.Dir) (*unzip.Unzipper, error) {
	cfg := config.Default()
	impc, err := profile.Builtin(cfg.Profile)
	if err != nil {
		return nil, err
	}
	set, err := centres.Set(impc, cfg)
	if err != nil {
		return nil, err
	}
	return unzip.New(archive.DefaultLimits(), unzip.Deps{Blobs: store, Rules: unzip.Rules{Profile: impc, Centres: set}, Log: slog.New(slog.DiscardHandler), Now: time.Now}), nil
}

// check has the stage work off the zip.
func (b *bench) check(ctx context.Context, u *unzip.Unzipper, sha string) error {
	const name = "H.2026-01-02.1.impc.zip"
	extracted := 0
	emit := func(_ context.Context, told ...schemas.Message) error {
		for _, m := range told {
			if end, ok := m.Body.(*schemas.UnzipFinished); ok && end.Result != schemas.Unzipped {
				return fmt.Errorf("the zip is refused: %s", end.Message)
			}
			if _, ok := m.Body.(*schemas.DocumentExtracted); ok {
				extracted++
			}
		}
		return nil
	}
	err := u.Work(ctx, stage.Input{Progress: func() {}, Emit: emit, EmitAcknowledged: emit, Message: schemas.Message{ID: "fetched", Topic: schemas.DownloadFinishedTopic, Body: &schemas.DownloadFinished{
		Scope: schemas.Scope{Run: schemas.LiveRun, Session: "bench", Centre: "H", Source: "bench"}, FileRef: schemas.FileRef{File: schemas.FileID(schemas.Add, name), FileName: name, Action: schemas.Add},
		Attempt: 1, Look: 1, Result: schemas.Fetched, Outcome: sha, SHA256: sha}}})
	if err == nil && extracted != b.documents {
		err = fmt.Errorf("%d documents were found, not %d", extracted, b.documents)
	}
	return err
}
