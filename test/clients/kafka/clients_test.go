package kafka

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	own "tributary/internal/kafka"
)

// Every cell of the table is as the table says.
func TestClients(t *testing.T) {
	how := os.Getenv("TRIBUTARY_CLIENTS")
	if how != "short" && how != "all" {
		t.Skip("takes long: make test-clients runs it")
	}
	versions, at := toolVersions(), []func(*testing.T) *world{door, apache}
	if how == "short" {
		versions, at = versions[len(versions)-1:], at[:1]
	}
	for i, start := range at {
		t.Run(strings.ReplaceAll(brokers()[i], " ", "-"), func(t *testing.T) {
			w := start(t)
			for _, version := range versions {
				t.Run("Kafka-"+version, func(t *testing.T) { w.in(t).java(i, version) })
			}
			for _, r := range otherRows() {
				t.Run(r.tool+"/"+r.operation, func(t *testing.T) { w.in(t).other(r, i) })
			}
		})
	}
}

// in is the world for a subtest.
func (w *world) in(t *testing.T) *world {
	c := *w
	c.t, c.dir = t, t.TempDir()
	return &c
}

// java tries the tools of one version.
func (w *world) java(at int, version string) {
	w.commit()
	j := startJava(w.t, version)
	for _, r := range javaRows() {
		want := r.cell(at, version)
		if want.absent != "" {
			continue
		}
		if r.operation == "--delete" {
			w.commitTo("tributary.gone")
		}
		if r.fresh {
			j = startJava(w.t, version)
		}
		file := w.file(r.user(), r.more...)
		made := map[int]string{onDoor: announced, onKafka: "made"}[at]
		fill := strings.NewReplacer("FILE", file, "AT", w.addr, "MADE", made, "VERSION", version)
		args := slices.Clone(r.args)
		for i, a := range args {
			args[i] = fill.Replace(a)
		}
		out, err := j.run(r.class(version), r.input, args...)
		if !want.told(out, err) {
			w.t.Errorf("%s %s: %v, want %+v:\n%s", r.tool, r.operation, err, want, out)
		}
		if got := w.committed(fill.Replace(cmp.Or(r.group, group))); r.leaves != 0 && got != r.leaves {
			w.t.Errorf("%s %s: the group's offset is %d, want %d", r.tool, r.operation, got, r.leaves)
		}
	}
}

// other tries one operation of another client.
func (w *world) other(r row, at int) {
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	var out string
	var err error
	switch what := map[string]string{"list topics and groups": "list", "consumer, classic": "classic", "consumer, consumer": "consumer"}[r.operation]; r.tool {
	case kcat:
		out, err = w.kcat(ctx, r)
	case franz:
		out, err = w.franz(ctx, r, what)
	default:
		if what == "" {
			what = "produce"
		}
		to := map[bool]string{true: announced, false: topic}[what == "produce"]
		name, _, _ := strings.Cut(r.tool, " ")
		cmd := exec.CommandContext(ctx, "python3", "testdata/clients.py", name, what, w.file(r.user()), to, name+"-"+what)
		cmd.Env = append(os.Environ(), "PYTHONPATH="+python(w.t))
		var b []byte
		b, err = cmd.CombinedOutput()
		out = string(b)
	}
	if want := r.cells[at]; !want.told(out, err) {
		w.t.Errorf("%v, want %+v:\n%s", err, want, out)
	}
}

func (w *world) kcat(ctx context.Context, r row) (string, error) {
	args := map[string][]string{
		"-L":                              {"-L"},
		"-C":                              {"-C", "-e", "-q", "-o", "beginning", "-t", topic},
		"-G, classic":                     {"-q", "-c", "1", "-X", "auto.offset.reset=earliest", "-G", "kcat", topic},
		"-P file.discovered as announcer": {"-P", "-t", announced, "testdata/requirements.txt"},
	}[r.operation]
	for k, v := range w.settings(r.user()) {
		args = append([]string{"-X", k + "=" + v}, args...)
	}
	out, err := exec.CommandContext(ctx, "kcat", args...).CombinedOutput()
	return string(out), err
}

func (w *world) franz(ctx context.Context, r row, what string) (string, error) {
	opts := own.Bootstrap([]string{w.addr})
	if w.passwords != nil {
		opts = append(opts, kgo.SASL(scram.Auth{User: r.user(), Pass: w.passwords[r.user()]}.AsSha256Mechanism()))
	}
	opts = append(opts, kgo.ProducerBatchCompression(kgo.NoCompression()))
	if what == "classic" || what == "consumer" {
		opts = append(opts, kgo.ConsumerGroup("franz-"+what), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	}
	if what == "consumer" {
		opts = append(opts, kgo.ServerSideBalancer())
	}
	c, err := kgo.NewClient(opts...)
	if err != nil {
		return "", err
	}
	defer c.Close()
	switch what {
	case "":
		return "written", c.ProduceSync(ctx, &kgo.Record{Topic: announced, Value: []byte("written")}).FirstErr()
	case "list":
		topics, err := kadm.NewClient(c).ListTopics(ctx)
		if err != nil {
			return "", err
		}
		groups, err := kadm.NewClient(c).ListGroups(ctx)
		return strings.Join(append(topics.Names(), groups.Groups()...), " "), err
	}
	fetches := c.PollFetches(ctx)
	out := ""
	fetches.EachRecord(func(r *kgo.Record) { out += string(r.Value) + " " })
	if err := fetches.Err(); err != nil {
		return out, err
	}
	return out, c.CommitUncommittedOffsets(ctx)
}
