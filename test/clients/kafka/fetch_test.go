package kafka

import (
	"context"
	_ "embed" // what is fetched, and its sums
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"tributary/internal/engine/install"
	"tributary/test/kafka"
)

//go:embed testdata/pom.xml
var pom []byte

//go:embed testdata/requirements.txt
var requirements []byte

// kept returns a folder beside the engines, which fetch makes in a temporary
// one if it is not there.
func kept(t *testing.T, name string, fetch func(ctx context.Context, tmp, dir string) error) string {
	t.Helper()
	root, err := install.Dir("")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, name)
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		t.Fatal(err)
	}
	tmp, err := os.MkdirTemp(root, ".fetch-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(tmp)
	if err := fetch(t.Context(), tmp, dir); err != nil {
		t.Fatalf("fetch %s: %v", name, err)
	}
	return dir
}

// tools returns the folder with the jars of one version of Kafka's tools.
func tools(t *testing.T, version string) string {
	list, err := os.ReadFile(filepath.Join("testdata", "kafka-"+version+".sha256"))
	if err != nil {
		t.Fatal(err)
	}
	return kept(t, "kafka-tools-"+version, func(ctx context.Context, tmp, dir string) error {
		lib := filepath.Join(tmp, "lib")
		if err := kafka.Jars(ctx, tmp, lib, pom, string(list), "-Dkafka="+version); err != nil {
			return err
		}
		return os.Rename(lib, dir)
	})
}

// python returns the folder with the clients of requirements.txt.
func python(t *testing.T) string {
	return kept(t, "kafka-python", func(ctx context.Context, tmp, dir string) error {
		file := filepath.Join(tmp, "requirements.txt")
		if err := os.WriteFile(file, requirements, 0o600); err != nil {
			return err
		}
		lib := filepath.Join(tmp, "lib")
		cmd := exec.CommandContext(ctx, "python3", "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes", "--target", lib, "-r", file)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return os.Rename(lib, dir)
	})
}
