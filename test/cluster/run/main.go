// Command run is make cluster: a generated corpus on real servers, ingested by
// Tributary scaled out as native processes, until Ctrl-C.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"tributary/test/cluster"
	"tributary/test/corpus"
	"tributary/test/kafka"
	"tributary/test/rig"
)

// marker is in every folder that this command made, so that it removes no other.
const marker = ".tributary-cluster"

func main() {
	dir := flag.String("dir", filepath.Join(os.TempDir(), "tributary-cluster"), "folder to leave everything in; it is made anew")
	binary := flag.String("binary", "bin/tributary", "the program")
	brokers := flag.Int("brokers", 1, "brokers of Apache Kafka: 1 or 3; 0 for the embedded broker")
	members := flag.String("members", "", "members by role, such as download=3,unzip=2; one of every other role")
	seed := flag.Uint64("seed", 1, "of the corpus")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *dir, *binary, *members, *brokers, *seed)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, dir, binary, members string, brokers int, seed uint64) (err error) {
	counts, err := parse(members)
	if err != nil {
		return err
	}
	if brokers > 0 {
		if err := kafka.Fetch(ctx, os.Stderr); err != nil {
			return err
		}
	}
	if binary, err = filepath.Abs(binary); err != nil {
		return err
	}
	if dir, err = clean(dir); err != nil {
		return err
	}
	made, err := corpus.Generate(corpus.Options{Seed: seed, Shape: corpus.Demo})
	if err != nil {
		return err
	}
	fmt.Printf("serving %d zips of %d sources over SFTP and FTP on loopback\n", len(made.Oracle.Files), len(made.Sources))
	r, err := rig.Start(ctx, dir, made, rig.Options{Extra: cluster.Lively})
	if err != nil {
		return err
	}
	defer r.Stop()
	c, err := cluster.Start(ctx, cluster.Options{
		Binary: binary, Dir: dir, Config: r.Config, DataDir: filepath.Join(dir, "data"), Members: counts, Brokers: brokers, Say: os.Stdout,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	fmt.Print(look(binary, dir, r.Config, c))
	return c.Watch(ctx)
}

// parse reads role=n,role=n; a role without a number keeps one member.
func parse(text string) (map[string]int, error) {
	counts := map[string]int{}
	for pair := range strings.SplitSeq(text, ",") {
		role, number, _ := strings.Cut(strings.TrimSpace(pair), "=")
		if number == "" {
			continue
		}
		n, err := strconv.Atoi(number)
		if err != nil || n < 0 || n > 100 {
			return nil, fmt.Errorf("%q is no number of members of %s: write 0 to 100", number, role)
		}
		counts[role] = n
	}
	return counts, nil
}

func clean(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(dir); err == nil {
		if _, err := os.Stat(filepath.Join(dir, marker)); err != nil {
			return "", fmt.Errorf("%s is there and is not the cluster's; name another folder with -dir", dir)
		}
		if err := os.RemoveAll(dir); err != nil {
			return "", err
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	return dir, os.WriteFile(filepath.Join(dir, marker), nil, 0o644)
}

// look says where everything is, and what to try.
func look(binary, dir, config string, c *cluster.Cluster) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\nEverything runs. Logs are in %s/logs; each member answers at\n\n", dir)
	for _, p := range c.Members() {
		fmt.Fprintf(&b, "  %-12s http://%s/readyz?verbose   /metrics   pid %d\n", p.Name, p.HTTP, p.Pid())
	}
	fmt.Fprintf(&b, "\nIn another terminal:\n\n  export TRIBUTARY_CONFIG=%s\n", config)
	if at := c.Brokers(); len(at) > 0 {
		fmt.Fprintf(&b, "  export TRIBUTARY_CFG_KAFKA_BOOTSTRAP_SERVERS=%s TRIBUTARY_CFG_KAFKA_REPLICATION_FACTOR=%d\n", strings.Join(at, ","), min(3, len(at)))
	}
	fmt.Fprintf(&b, `  %[1]s status
  %[1]s files
  %[1]s topics tail status.changed
  %[1]s sql --store history 'SELECT stage, phase, status, count() FROM once GROUP BY ALL ORDER BY 1, 2, 3'

Put more files below %[2]s/sources/SOURCE/add, or kill -9 a member: it is started again.
Ctrl-C stops everything in order; the data stays until the next start.
`, binary, dir)
	return b.String()
}
