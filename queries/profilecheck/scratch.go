package profilecheck

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"tributary/internal/engine"
	"tributary/internal/profile"
	"tributary/schemas"
)

// ScratchServer calls fn with the address of a Postgres that is started for it in a
// temporary directory.
func ScratchServer(ctx context.Context, enginesDir string, log *slog.Logger, fn func(dsn string) error) (err error) {
	dir, err := os.MkdirTemp("", "tributary-check-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	// As root, the user that Postgres runs as must be able to enter it.
	if err := os.Chmod(dir, 0o711); err != nil { //nolint:gosec // names in it are not secret
		return err
	}
	e, err := engine.Start(ctx, engine.Options{DataDir: filepath.Join(dir, "data"), EnginesDir: enginesDir, Postgres: true, NoSync: true, Logger: log})
	if err != nil {
		return fmt.Errorf("start a Postgres for it: %w: fetch one with tributary engines fetch, configure postgres.url, or say --without-sql", err)
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	return fn(e.Endpoints().Postgres)
}

// Versions say in lines what the phases would record with the documents that they
// judge by a profile.
func Versions(p *profile.Profile) (lines []string) {
	v := p.Versions()
	for _, phase := range profile.VersionedPhases() {
		line := "version of " + phase + ":"
		switch phase {
		case string(schemas.XSD), string(schemas.Upload):
			for _, k := range p.Kinds {
				line += " " + k.Name + " " + v.Of(phase, k.Name)
			}
		default:
			line += " " + v.Of(phase, "")
		}
		lines = append(lines, line)
	}
	return lines
}
