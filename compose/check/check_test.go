package check

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

// load reads ../compose.yaml as docker compose does: interpolated, checked
// against the specification's schema, merged and normalized.
func load(t *testing.T, env ...string) (*types.Project, error) {
	t.Helper()
	o, err := cli.NewProjectOptions([]string{filepath.Join("..", "compose.yaml")}, cli.WithEnv(env), cli.WithProfiles([]string{"monitoring"}), cli.WithWorkingDirectory(".."))
	if err != nil {
		t.Fatal(err)
	}
	return o.LoadProject(context.Background())
}

func project(t *testing.T) *types.Project {
	t.Helper()
	p, err := load(t, "POSTGRES_PASSWORD=p1", "CLICKHOUSE_PASSWORD=p2")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The file is a valid Compose file, and no service can be started without a
// password: none is written in it.
func TestPasswordsAreAsked(t *testing.T) {
	project(t)
	for _, env := range [][]string{nil, {"POSTGRES_PASSWORD=x"}, {"CLICKHOUSE_PASSWORD=x"}, {"POSTGRES_PASSWORD=", "CLICKHOUSE_PASSWORD=x"}} {
		if _, err := load(t, env...); err == nil || !strings.Contains(err.Error(), "set it in compose/.env") {
			t.Errorf("with %q: error %v, want that the password is missing", env, err)
		}
	}
	text, err := os.ReadFile(filepath.Join("..", "env.example"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") && !strings.HasSuffix(line, "=") {
			t.Errorf("env.example gives a value: %s", line)
		}
	}
}

// Every image is pinned: those fetched by a full version.
func TestImagesArePinned(t *testing.T) {
	pinned := regexp.MustCompile(`^[a-z/.-]+:v?\d+\.\d+(\.\d+)*(@sha256:[0-9a-f]{64})?$`)
	built := 0
	for name, s := range project(t).Services {
		if s.Build != nil {
			built++
		}
		if s.Image != "tributary:local" && !pinned.MatchString(s.Image) {
			t.Errorf("service %s: image %q is not pinned to a version", name, s.Image)
		}
	}
	if built != 1 {
		t.Errorf("%d services build the image; side by side they would be in each other's way", built)
	}
	text, err := os.ReadFile(filepath.Join("..", "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^FROM (\S+)`).FindAllStringSubmatch(string(text), -1) {
		if !regexp.MustCompile(`:\d+\.\d+`).MatchString(m[1]) {
			t.Errorf("Dockerfile: %s is not pinned to a version", m[1])
		}
	}
}

// Every service has limits, time to stop, a restart policy and a health check;
// what ends by itself has none of the latter two.
func TestOperation(t *testing.T) {
	for name, s := range project(t).Services {
		if s.Deploy == nil || s.Deploy.Resources.Limits == nil || s.Deploy.Resources.Limits.MemoryBytes == 0 || s.Deploy.Resources.Limits.NanoCPUs.Value() == 0 {
			t.Errorf("service %s has no limits of memory and processors", name)
		}
		if s.StopGracePeriod == nil || time.Duration(*s.StopGracePeriod) < 30*time.Second {
			t.Errorf("service %s has less than 30 s to stop", name)
		}
		once := s.Restart == "no"
		if name == "topics" != once {
			t.Errorf("service %s: restart is %q", name, s.Restart)
		}
		if healthy := s.HealthCheck != nil && !s.HealthCheck.Disable; healthy == once {
			t.Errorf("service %s: has a health check: %t", name, healthy)
		}
		for _, port := range s.Ports {
			// The pages ask everybody who they are, and are on the host's loopback all the
			// same; dashboards can only be read.
			if name != "serve" && name != "grafana" || port.HostIP != "127.0.0.1" {
				t.Errorf("service %s publishes a port, without authentication or beyond loopback: %+v", name, port)
			}
		}
	}
}

// Every role asks its own health, waits for the topics, and may run any number
// of times; the topics wait until every store is healthy.
func TestRoles(t *testing.T) {
	p := project(t)
	for name, s := range p.Services {
		if len(s.Command) == 0 || s.Command[0] != "run" {
			continue
		}
		if strings.Join(s.HealthCheck.Test, " ") != "CMD tributary healthcheck" {
			t.Errorf("service %s: health check %v", name, s.HealthCheck.Test)
		}
		if d := s.DependsOn["topics"]; d.Condition != types.ServiceConditionCompletedSuccessfully {
			t.Errorf("service %s does not wait for the topics: %+v", name, s.DependsOn)
		}
		want := 2
		if len(s.Ports) > 0 {
			want = 1 // a port of the host is one's alone
		}
		if s.ContainerName != "" || s.GetScale() != want {
			t.Errorf("service %s runs %d times (container's name %q), want %d of any number", name, s.GetScale(), s.ContainerName, want)
		}
		if !s.ReadOnly || len(s.CapDrop) == 0 {
			t.Errorf("service %s may write to its image or has capabilities", name)
		}
	}
	for _, store := range []string{"kafka", "postgres", "clickhouse"} {
		if d := p.Services["topics"].DependsOn[store]; d.Condition != types.ServiceConditionHealthy {
			t.Errorf("the topics don't wait for %s: %+v", store, d)
		}
	}
}

// What watches is only there if it is asked for, and nobody can log in to it.
func TestMonitoringIsAProfile(t *testing.T) {
	p := project(t)
	for _, name := range []string{"prometheus", "grafana"} {
		s := p.Services[name]
		if len(s.Profiles) != 1 || s.Profiles[0] != "monitoring" || !s.ReadOnly || len(s.CapDrop) == 0 {
			t.Errorf("service %s: profiles %v, read-only: %t", name, s.Profiles, s.ReadOnly)
		}
	}
	of := p.Services["grafana"].Environment
	for key, want := range map[string]string{"GF_AUTH_ANONYMOUS_ORG_ROLE": "Viewer", "GF_AUTH_DISABLE_LOGIN_FORM": "true", "GF_SECURITY_DISABLE_INITIAL_ADMIN_CREATION": "true"} {
		if got := of[key]; got == nil || *got != want {
			t.Errorf("grafana: %s is not %s", key, want)
		}
	}
	asked, err := os.ReadFile(filepath.Join("..", "prometheus", "prometheus.yml"))
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`names: \[(.*)\]`).FindSubmatch(asked)
	if names == nil {
		t.Fatal("prometheus.yml names no services")
	}
	for name, s := range p.Services {
		if role := len(s.Command) > 0 && s.Command[0] == "run"; role != slices.Contains(strings.Split(string(names[1]), ", "), name) {
			t.Errorf("service %s: is a role: %t, which is not whether Prometheus asks it", name, role)
		}
	}
}
