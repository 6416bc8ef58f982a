package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tributary/bench/program"
)

const (
	// patience is how long one slice, or the start, may take.
	patience = time.Hour
	// look is how often it is asked whether a slice is done.
	look = 200 * time.Millisecond
)

// part is a slice of the corpus that lies where no source shows it.
type part struct {
	files []string // below the folder of all sources
	from  string
	to    string
}

// setAside takes the files of sources away into slices.
func setAside(sources, later string, slices int) ([]part, error) {
	parts := make([]part, slices)
	n := 0
	err := filepath.WalkDir(sources, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".zip") {
			return err
		}
		below, err := filepath.Rel(sources, path)
		if err != nil {
			return err
		}
		p := &parts[n%slices]
		p.files, p.from, p.to = append(p.files, below), later, sources
		n++
		if err := os.MkdirAll(filepath.Dir(filepath.Join(later, below)), 0o755); err != nil {
			return err
		}
		return os.Rename(path, filepath.Join(later, below))
	})
	return parts, err
}

// show lets the sources show a slice.
func (p part) show() error {
	for _, f := range p.files {
		if err := os.Rename(filepath.Join(p.from, f), filepath.Join(p.to, f)); err != nil {
			return err
		}
	}
	return nil
}

// system is a running up, and who may ask it.
type system struct {
	binary, config, address, token string
	sources                        []string
	up                             *program.Up
}

func startSystem(ctx context.Context, binary, config, address string, sources []string) (*system, error) {
	up, err := program.Start(ctx, binary, config, look, patience)
	if err != nil {
		return nil, err
	}
	s := &system{binary: binary, config: config, address: address, sources: sources, up: up}
	err = s.up.Eventually(ctx, func() (bool, error) {
		out, err := s.command(ctx, "tokens", "add", "bench", "--role", "reader", "--expires", "1d")
		if err != nil {
			return false, nil //nolint:nilerr // it isn't there yet
		}
		for word := range strings.FieldsSeq(out) {
			if strings.HasPrefix(word, "tributary_") {
				s.token = word
			}
		}
		if s.token == "" {
			return false, fmt.Errorf("tokens add prints no token: %s", out)
		}
		return true, nil
	})
	if err == nil {
		err = s.up.Eventually(ctx, func() (bool, error) {
			_, _, err := s.stands(ctx)
			return err == nil, nil // else it doesn't listen yet
		})
	}
	if err != nil {
		s.up.Stop()
	}
	return s, err
}

func (s *system) command(ctx context.Context, args ...string) (string, error) {
	var errs bytes.Buffer
	c := exec.CommandContext(ctx, s.binary, append(args, "--config", s.config)...)
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("tributary %s: %w: %s", strings.Join(args, " "), err, &errs)
	}
	return string(out), nil
}

// ingest shows a slice to the sources, has them polled, and returns how long it took
// until all files that were ever shown had come to their end.
func (s *system) ingest(ctx context.Context, p part, all int) (time.Duration, error) {
	if err := p.show(); err != nil {
		return 0, err
	}
	began := time.Now()
	if _, err := s.command(ctx, slices.Concat([]string{"sources", "poll", "--reason", "the next slice"}, s.sources)...); err != nil {
		return 0, err
	}
	err := s.up.Eventually(ctx, func() (bool, error) {
		files, pending, err := s.stands(ctx)
		return err == nil && files >= all && pending == 0, err
	})
	return time.Since(began), err
}

// stands is how many files are known, and how many have not come to their end.
func (s *system) stands(ctx context.Context) (files, pending int, err error) {
	body, err := ask(ctx, http.DefaultClient, s.address+"/api/v1/status?oldest=0", s.token)
	if err != nil {
		return 0, 0, err
	}
	var status struct {
		Files   []struct{ Count int }
		Pending int
	}
	if err := json.Unmarshal(body, &status); err != nil {
		return 0, 0, fmt.Errorf("status: %w", err)
	}
	for _, c := range status.Files {
		files += c.Count
	}
	return files, status.Pending, nil
}

// ask reads one answer whole.
func ask(ctx context.Context, client *http.Client, address, token string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %.200s", address, answer.Status, body)
	}
	return body, err
}
