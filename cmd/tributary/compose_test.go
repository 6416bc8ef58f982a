//go:build !race

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"tributary/internal/config"
)

const composeDir = "../../compose"

type service struct {
	Image       string            `yaml:"image"`
	Command     []string          `yaml:"command"`
	Environment map[string]string `yaml:"environment"`
	Volumes     []string          `yaml:"volumes"`
	Ports       []string          `yaml:"ports"`
	DependsOn   map[string]any    `yaml:"depends_on"`
	Deploy      struct {
		Replicas int `yaml:"replicas"`
	} `yaml:"deploy"`
}

func readCompose(t *testing.T) (services map[string]service, volumes map[string]any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(composeDir, "compose.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Services map[string]service `yaml:"services"`
		Volumes  map[string]any     `yaml:"volumes"`
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	return file.Services, file.Volumes
}

// Every command of the compose file is one that this program has, and what it
// refers to is there.
func TestCompose(t *testing.T) {
	services, volumes := readCompose(t)
	var roles []string
	for name, s := range services {
		for other := range s.DependsOn {
			if _, ok := services[other]; !ok {
				t.Errorf("service %s depends on %s, which is not there", name, other)
			}
		}
		for _, v := range s.Volumes {
			from, _, _ := strings.Cut(v, ":")
			if _, ok := volumes[from]; !ok && !strings.HasPrefix(from, "./") {
				t.Errorf("service %s mounts the volume %s, which is not declared", name, from)
			}
		}
		if s.Image != "tributary:local" {
			continue
		}
		cmd, rest, err := newRoot(newCLI(nil, nil, nil, nil)).Find(s.Command)
		if err != nil || cmd.HasSubCommands() || cmd.ValidateArgs(rest) != nil {
			t.Errorf("service %s: tributary %s is no command", name, strings.Join(s.Command, " "))
			continue
		}
		if cmd.Name() == "run" {
			if _, err := expand(rest); err != nil {
				t.Errorf("service %s: %v", name, err)
			}
			want := 2
			if len(s.Ports) > 0 {
				want = 1 // a port of the host is one's alone
			}
			if s.Deploy.Replicas != want {
				t.Errorf("service %s has %d replicas, want %d", name, s.Deploy.Replicas, want)
			}
			roles = append(roles, rest...)
		}
	}
	want := slices.Sorted(slices.Values(roleNames()))
	slices.Sort(roles)
	if diff := cmp.Diff(want, roles); diff != "" {
		t.Errorf("roles of the program (-) and of the compose file (+):\n%s", diff)
	}
}

// The configuration of the compose file loads, with the environment that the
// compose file gives.
func TestComposeConfiguration(t *testing.T) {
	services, _ := readCompose(t)
	var env []string
	for key, value := range services["download"].Environment {
		env = append(env, key+"="+value)
	}
	var out, errs bytes.Buffer
	c := newCLI(nil, &out, &errs, env)
	c.configFlag = filepath.Join(composeDir, "tributary.yaml")
	cfg, err := c.load()
	if err != nil {
		t.Fatal(err)
	}
	if cfg.HTTP.Listen == "" {
		t.Error("http.listen is not set, which the health checks ask")
	}
	if _, ok := services["kafka"]; !ok || !slices.Equal(cfg.Kafka.BootstrapServers, []string{"kafka:9092"}) {
		t.Error("kafka.bootstrap_servers is not the service kafka")
	}
	if cfg.Postgres.URL != config.Secret("env:POSTGRES_URL") {
		t.Errorf("postgres.url = %s", cfg.Postgres.URL)
	}
}
