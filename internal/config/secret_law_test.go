package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What goes wrong with a secret is said without it: errors end up in logs, in
// events and on other people's screens.
func TestResolveTellsNoSecret(t *testing.T) {
	large := filepath.Join(t.TempDir(), "large")
	if err := os.WriteFile(large, []byte(strings.Repeat("hunter2", maxSecret/7+1)), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]Secret{
		"written plainly":     "hunter2",
		"with a colon in it":  "hunter2:x",
		"after another kind":  "vault:hunter2",
		"in a file too large": Secret("file:" + large),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := s.Resolve()
			if err == nil || got != "" {
				t.Fatalf("Resolve = %q, %v; want an error", got, err)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error tells the secret: %v", err)
			}
		})
	}
}
