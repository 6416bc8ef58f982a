package chdb

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// withoutFiles puts an ordinary database in the place of the one that the engine
// calls default, in which every file that this process may open is a table: who
// may only read the history could ask which files there are, and read them. One
// that holds tables stays as it is, and kept says so.
func withoutFiles(c *conn, dataDir string) (kept bool, err error) {
	ask := func(sql string) (string, error) {
		out, err := c.exec(sql, "TSVRaw", nil)
		if err != nil {
			return "", fmt.Errorf("take files out of the engine's reach (%s): %w", sql, err)
		}
		return strings.TrimSpace(string(out)), nil
	}
	kind, err := ask("SELECT engine FROM system.databases WHERE name = 'default'")
	if err != nil || kind != "Overlay" {
		return false, err
	}
	tables, err := ask("SELECT count() FROM system.tables WHERE database = 'default'")
	if err != nil || tables != "0" {
		return err == nil, err
	}
	if _, err := ask("DETACH DATABASE default"); err != nil {
		return false, err
	}
	// An earlier start has made one, which is as empty.
	if err := os.Remove(filepath.Join(dataDir, "metadata", "default.sql")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, fmt.Errorf("take files out of the engine's reach: %w", err)
	}
	_, err = ask("CREATE DATABASE default ENGINE = Atomic")
	return false, err
}
