package engine

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"tributary/internal/engine/broker"
)

// secretsName is the file that keeps generated passwords; engines.json, which
// tells them to people, is there only while engines run.
const secretsName = "engines.secrets"

// secretPostgresReader is the name under which the password of [pgdoor.User] is
// kept, whose name a user of the broker has too.
const secretPostgresReader = "postgres-reader"

// keptSecrets returns the passwords of a data directory by user. Those that
// are missing are made: 130 random bits each.
func keptSecrets(dir string) (map[string]string, error) {
	path := filepath.Join(dir, secretsName)
	secrets := map[string]string{}
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("passwords of the engines: %w", err)
	}
	if err == nil {
		if err := json.Unmarshal(b, &secrets); err != nil {
			return nil, fmt.Errorf("passwords of the engines: %s: %w: remove it, and new ones are made", path, err)
		}
	}
	made := false
	for _, user := range append(broker.Users(), "postgres", secretPostgresReader) {
		if secrets[user] == "" {
			secrets[user], made = rand.Text(), true
		}
	}
	if !made {
		return secrets, nil
	}
	if b, err = json.MarshalIndent(secrets, "", "  "); err != nil {
		return nil, fmt.Errorf("passwords of the engines: %w", err)
	}
	if err := writeClosed(path, append(b, '\n')); err != nil {
		return nil, fmt.Errorf("passwords of the engines: %w", err)
	}
	return secrets, nil
}

// writeClosed replaces a file by one that only its owner can read.
func writeClosed(path string, b []byte) error {
	// A file that is there would keep its mode.
	if err := os.Remove(path + ".new"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.WriteFile(path+".new", b, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
